"""Merging of digests: in any order, doubled, outdated, damaged, hostile."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.jobs.digests.digest import (
    ClockBasis,
    ClockOffset,
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    ProgressDigest,
    RankDigest,
    StackGroupDigest,
    StoredDigest,
    TelemetryDigest,
)
from gpualert_common.jobs.job_page import format_job, format_markdown
from gpualert_common.jobs.job_report import JobReport, JobState
from gpualert_common.jobs.job_view import view_job
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.model import Attribution, Disposition, Retry
from gpualert_common.report.terminal import TerminalLayout
from gpualert_common.report.text_sanitizer import NoMasks
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, KEY, compose, end, lose, merge, shift, store
from tests.jobs.test_job_verdicts import ENDS, LOSSES, NODE_FAULTS, ROOTS, SHARED, Case, oom, others

CASES = [*ROOTS, *SHARED, *NODE_FAULTS, *LOSSES, *ENDS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_order_and_doubles(case: Case) -> None:
    """The order of digests, doubled ones and older ones of the same runs change nothing."""
    digests = list(case.make())
    report = merge(*digests, now=case.now)
    chance = random.Random(case.name)
    for _ in range(3):
        older = [
            replace(one, sequence=one.sequence - 1, state=DigestState.RUNNING, verdict=None)
            for one in chance.sample(digests, len(digests) // 2)
        ]
        mixed = [*digests, *older, *chance.sample(digests, len(digests) // 2)]
        chance.shuffle(mixed)
        assert merge(*mixed, now=case.now) == report


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wrong_clocks(case: Case) -> None:
    """Clocks that are wrong by minutes, as their nodes know, change no time of the report."""
    chance = random.Random(case.name)
    digests = list(case.make())
    report = merge(*digests, now=case.now)
    moved = [
        one
        if one.clock.basis is ClockBasis.NONE
        else shift(one, float(chance.choice((-512, -64, 0, 64, 512))))
        for one in digests
    ]
    found = merge(*moved, now=case.now)
    clocks = [one.clock_offset_s for one in report.nodes]
    nodes = [replace(one, clock_offset_s=0.0) for one in found.nodes]
    assert nodes == [replace(one, clock_offset_s=0.0) for one in report.nodes], clocks
    assert replace(found.verdict, warnings=()) == replace(report.verdict, warnings=())


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=8, max_size=8),
    st.floats(0.01, 20.0),
    st.sampled_from(("assertion", "disk_full", "killed_unknown", "segfault")),
    st.floats(0.0, 10.0),
)
def test_times_within_the_errors(
    parts: Sequence[float], error_s: float, other: str, later_s: float
) -> None:
    """Times within the errors of the clocks never make another node the certain culprit."""
    digests = [oom(3), end(compose(5), other, END + later_s), *others(3, 5, at=END + later_s)]
    moved = [
        replace(
            shift(one, part * error_s),
            clock=ClockOffset(0.0, error_s, ClockBasis.STORE),
        )
        for one, part in zip(digests, parts, strict=True)
    ]
    verdict = merge(*moved, now=END + 120).verdict
    assert verdict.host == "gpu3" or verdict.confidence <= 0.75


def test_other_jobs() -> None:
    """A digest of another job in the folder, and one without a run, count for nothing."""
    strange = [replace(compose(1), job="other"), replace(compose(1), run_id="")]
    assert len([one for one in merge(oom(0), *strange).nodes if one.run_id]) == 1


def test_end_is_final() -> None:
    """A run that has ended does not run again by a digest that was written later."""
    again = replace(compose(3), sequence=9999)
    assert merge(again, oom(3), *others(3)) == merge(oom(3), *others(3))


def test_no_digest() -> None:
    """Without a digest there is no report."""
    assert JobMerger(KEY).conclude(END) is None


# -- hostile content -------------------------------------------------------------------------

_numbers = st.sampled_from((math.nan, math.inf, -math.inf, -1.0, 0.0, 1e308, 1e15, END))
_times = st.one_of(st.none(), _numbers)
_counts = st.one_of(st.none(), st.sampled_from((0, -1, 7, 1 << 20, 1 << 62)))
_readings = st.lists(st.sampled_from((0, -1, 7, 1 << 62)), max_size=6).map(tuple)
_texts = st.sampled_from(("", "x", "\x1b[2J\n", "\u202e" * 9, "gpu[1-9]", "0" * 5000, "collective"))
_verdicts = st.builds(
    DigestVerdict,
    cause=st.sampled_from(("cuda_oom", "collective", "none", "", "no such", "idle_hang")),
    disposition=st.sampled_from(Disposition),
    attribution=st.sampled_from(Attribution),
    retry=st.sampled_from(Retry),
    confidence=_numbers,
    headline=_texts,
    details=st.dictionaries(
        st.sampled_from(
            ("failed_rank", "rank_end", "message", "root_at", "nodes", "rank", "reporting_ranks")
        ),
        st.one_of(_texts, _numbers, _counts),
        max_size=4,
    ),
)
_digests = st.builds(
    Digest,
    job=st.just(KEY),
    run_id=st.sampled_from(("a", "b", "c", "d", "e")),
    host=_texts,
    at=_numbers,
    state=st.sampled_from(DigestState),
    name=st.one_of(st.none(), _texts),
    attempt=_counts,
    node=_counts,
    nodes=_counts,
    world_size=_counts,
    sequence=st.integers(-5, 5),
    interval_s=_numbers,
    started_at=_numbers,
    ended_at=_times,
    verdict=st.one_of(st.none(), _verdicts),
    observations=st.lists(
        st.builds(DigestObservation, cause=_texts, text=_texts, at=_times, rank=_counts),
        max_size=2,
    ).map(tuple),
    ranks=st.lists(
        st.builds(
            RankDigest,
            rank=st.sampled_from((0, 1, 2, -1, 1 << 40)),
            code=st.sampled_from((None, 0, 1, -9, -15, 1 << 40)),
            ended_at=_times,
            sequence=_counts,
            completed=_counts,
            pending=_texts,
            gpu_percent=_times,
            waits=_readings,
        ),
        max_size=4,
    ).map(tuple),
    progress=st.one_of(
        st.none(), st.builds(ProgressDigest, position=_times, loss=_times, pace_s=_times)
    ),
    telemetry=st.one_of(
        st.none(),
        st.builds(TelemetryDigest, gpu_percent=_times, clock_ratio=_times, stack_samples=_readings),
    ),
    stacks=st.lists(
        st.builds(
            StackGroupDigest,
            ranks=st.just((0, 1, 2, 3)),
            key=_texts,
            activity=st.sampled_from(("collective", "none", "no such")),
            place=_texts,
        ),
        max_size=2,
    ).map(tuple),
    clock=st.builds(
        ClockOffset, offset_s=_numbers, error_s=_numbers, basis=st.sampled_from(ClockBasis)
    ),
)


@given(st.lists(st.builds(StoredDigest, _digests, _numbers), max_size=6))
def test_hostile_digests(stored: list[StoredDigest]) -> None:
    """Any content of digests gives a report that can be shown, with bounded figures."""
    merger = JobMerger(KEY)
    for one in stored:
        merger.add(one)
    report = merger.conclude(END)
    if report is None:
        assert not stored
        return
    assert 0.0 <= report.verdict.confidence <= 1.0
    assert len(report.nodes) <= 20_000
    show(report)


def show(report: JobReport) -> None:
    """Render a report in all forms, which hold no control characters and no wide lines."""
    view = view_job(report, NoMasks())
    for line in format_job(view, TerminalLayout(columns=80), 80):
        assert line.isprintable()
    assert format_markdown(view).count("\n") < 500


def test_huge_job() -> None:
    """A number of nodes that no cluster has counts as unknown."""
    report = merge(replace(oom(0), nodes=1 << 40))
    assert report.expected_nodes is None
    assert report.state is JobState.ENDED


# -- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ((), ""),
        (("gpu7",), "gpu7"),
        (("gpu0", "gpu1", "gpu10"), "gpu[0-1,10]"),
        ([f"gpu{one:03d}" for one in range(1, 749)], "gpu[001-748]"),
        (("a1.cluster.org", "a2.cluster.org"), "a[1-2].cluster.org"),
        (("login", "gpu1", "login"), "login, gpu1"),
        (("ip-10-0-0-7", "ip-10-0-0-8"), "ip-10-0-0-[7-8]"),
        (("gpu09", "gpu10", "gpu100"), "gpu[09-10], gpu100"),
        (("x12345678901",), "x12345678901"),
        (
            [f"gpu{one:03d}" for one in (*range(1, 30, 2), *range(40, 60))],
            "gpu[001,003,005,007,009,011,013,015] and 27 more",
        ),
        ([f"{one}x" for one in "abcdefghij"], "ax, bx, cx, dx, ex, fx, gx, hx and 2 more"),
    ],
)
def test_folded_names(names: Sequence[str], folded: str) -> None:
    """Names of nodes are written as ranges, with the leading zeros that they have."""
    assert fold_names(names) == folded


def test_clock_that_was_set() -> None:
    """A clock that was set after it was compared makes no other node silent."""
    ahead = StoredDigest(compose(0, at=END + 7200.0), END)
    merger = JobMerger(KEY)
    merger.add(ahead)
    assert merger.heard_at == END


def test_digests_by_any_time() -> None:
    """A node that answers again after silence is no culprit any more."""
    merger = JobMerger(KEY)
    for one in (compose(3, at=END - 4), *others(3)):
        merger.add(store(one))
    silent = merger.conclude(END + 120)
    assert silent is not None
    assert silent.verdict.cause == "node_failure"
    merger.add(store(replace(lose(3, END + 2), at=END + 119)))
    again = merger.conclude(END + 121)
    assert again is not None
    assert again.verdict.cause == "collective"
