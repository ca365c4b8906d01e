"""The verdict on a run that crashed while a trace of it was being taken."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.kineto.traced_end import TRACE_BEGUN, TRACE_COMPLETE
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Verdict
from gpualert_common.record import SPEC, Record
from gpualert_common.spec import EndFacts, Ending

ENDED_AT = 1000.0


def conclude(tmp_path: Path, events: dict[str, float], *, is_traced: bool = True) -> Verdict:
    """Return the verdict on a segmentation fault, with these events and their times."""
    record = Record.create(str(tmp_path / "run"), sync=False)
    record.write_json(SPEC, {"schema": 1, "run_id": "run", "logs": ["output.log"]})
    for name, at in events.items():
        record.append_event(name, at, pids=[1])
    classifier = RunClassifier(LaunchRecord(run_id="run", tracing=is_traced), record)
    classifier.feed("output.log", b"step 1 loss 2.0\n", 0)
    ending = Ending(900.0, ENDED_AT)
    ending.code = -signal.SIGSEGV
    return classifier.conclude(ending, EndFacts())


@pytest.mark.parametrize(
    "events",
    [
        {TRACE_BEGUN: 995.0},
        {TRACE_BEGUN: 995.0, TRACE_COMPLETE: 1003.0},
        {TRACE_BEGUN: 995.0, TRACE_COMPLETE: 999.0},
    ],
    ids=["in progress", "completed after it", "just complete"],
)
def test_crash_in_a_trace(events: dict[str, float], tmp_path: Path) -> None:
    """The cause stays, nobody is blamed, and the verdict says what it cannot decide."""
    verdict = conclude(tmp_path, events)
    assert (verdict.cause, verdict.attribution, verdict.confidence) == ("segfault", "unknown", 0.5)
    assert any("while its trace is written" in one for one in verdict.cannot_decide)
    assert [one.kind for one in verdict.warnings] == ["crash_in_trace"]


@pytest.mark.parametrize(
    "events",
    [{}, {TRACE_BEGUN: 910.0, TRACE_COMPLETE: 920.0}, {TRACE_COMPLETE: 999.0}],
    ids=["no trace", "long before", "no begin"],
)
def test_crash_without_a_trace(events: dict[str, float], tmp_path: Path) -> None:
    """A crash long after a trace is the program's, and the verdict says nothing of traces."""
    verdict = conclude(tmp_path, events)
    assert (verdict.cause, verdict.attribution) == ("segfault", "job")
    assert not verdict.warnings
