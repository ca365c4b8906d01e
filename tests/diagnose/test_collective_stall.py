"""Verdicts on collectives that timed out, by the numbers that the watchdogs printed."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.model import Attribution, Verdict
from gpualert_common.spec import EndFacts, Ending

OLD = (
    "[Rank {rank}] Exception (either an error or timeout) detected by watchdog at work: {work},"
    " last enqueued NCCL work: {last}, last completed NCCL work: {done}."
)
NEW = (
    "[PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence"
    " id: {work} PG status: last enqueued work: {last}, last completed work: {done}"
)
NEWEST = NEW.replace("last completed", "last started work: -1, last completed")
SIGNAL = (
    "[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective timeout"
    " from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work:"
    " {last}, last completed NCCL work: {done}.This is most likely caused by incorrect usages"
)


def line(form: str, rank: int, last: int, done: int) -> str:
    """Return a line of a rank's watchdog."""
    text = form.format(rank=rank, work=done + 1, last=last, done=done)
    return f"[rank{rank}]:[E1120 10:00:00.100 ProcessGroupNCCL.cpp:1785] {text}\n"


def conclude(*lines: str) -> Verdict:
    """Return the verdict on a log, of a run that exited with 1."""
    classifier = RunClassifier()
    classifier.feed("output.log", "".join(lines).encode(), 0)
    ending = Ending(1.0, 700.0)
    ending.code = 1
    return classifier.conclude(ending, EndFacts())


def details(verdict: Verdict) -> dict[str, Any]:
    """Return the details that describe the stall."""
    return {name: verdict.details.get(name) for name in ("stall", "culprits", "waiting")}


@pytest.mark.parametrize("form", [OLD, NEW, NEWEST])
def test_rank_behind(form: str) -> None:
    """The rank that enqueued less than the others is named; its stack decides whose fault it is."""
    lines = [line(form, rank, 12 + rank % 2, 11) for rank in (0, 1, 2)]
    verdict = conclude(*lines, line(SIGNAL, 3, 11, 11))
    assert (verdict.cause, verdict.family) == ("collective", "C2")
    assert details(verdict) == {"stall": "missing", "culprits": "rank 3", "waiting": "ranks 0-2"}
    assert verdict.attribution is Attribution.UNKNOWN
    assert "rank 3, which never entered" in verdict.headline


def test_rank_that_printed_nothing() -> None:
    """If further ranks may not have printed, nothing is said about those that did."""
    verdict = conclude(*(line(NEW, rank, 12, 11) for rank in (0, 1, 2)))
    assert verdict.cause == "collective"
    assert details(verdict) == {"stall": None, "culprits": None, "waiting": None}


def test_gap_between_the_ranks() -> None:
    """A single rank between those that printed exists, and printed nothing."""
    verdict = conclude(*(line(NEW, rank, 12, 11) for rank in (0, 1, 3)))
    assert details(verdict) == {
        "stall": "absent",
        "culprits": "rank 2",
        "waiting": "ranks 0-1, 3",
    }
    assert verdict.attribution is Attribution.UNKNOWN


def test_numbers_of_transfers() -> None:
    """A last completed number above the last enqueued one counts transfers, and says nothing."""
    verdict = conclude(line(NEW, 0, 524, 792), line(NEW, 1, 12, 11))
    assert details(verdict)["culprits"] is None


def test_small_group() -> None:
    """In a group other than the first, the rank of the job is that of the line's prefix."""
    lines = [line(NEW, rank, 7, 6) for rank in (4, 5)] + [line(NEW, 6, 6, 6)]
    group = "[PG ID 3 PG GUID 22(TENSOR_MODEL_PARALLEL_GROUP) Rank 0]"
    verdict = conclude(
        *(text.replace(f"[PG ID 0 PG GUID 0(default_pg) Rank {text[5]}]", group) for text in lines)
    )
    assert details(verdict) == {"stall": "missing", "culprits": "rank 6", "waiting": "ranks 4-5"}
    assert "number 7 of group TENSOR_MODEL_PARALLEL_GROUP" in verdict.headline
