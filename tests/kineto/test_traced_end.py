"""Traces at the end of a run, by the events of its record."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.kineto.traced_end import TRACE_BEGUN, TRACE_COMPLETE, was_being_traced
from gpualert_common.record import Record

BEGUN_AT = 1000.0
COMPLETE_AT = 1010.0


@pytest.mark.parametrize(
    ("events", "until"),
    [
        ((TRACE_BEGUN,), BEGUN_AT + 630 + 2),
        ((TRACE_BEGUN, TRACE_COMPLETE), COMPLETE_AT + 2),
        ((TRACE_BEGUN, TRACE_COMPLETE, "ended"), COMPLETE_AT + 1800),
    ],
    ids=["no end", "complete", "a process ended in it"],
)
def test_time_of_a_trace(events: tuple[str, ...], until: float, tmp_path: Path) -> None:
    """A trace lasts until its end; without one, and without one of its processes, for a while."""
    record = Record.create(str(tmp_path / "record"), sync=False)
    record.append_event(TRACE_BEGUN, BEGUN_AT, pids=[1, 2], duration_s=2.0)
    if TRACE_COMPLETE in events:
        ended = [2] if "ended" in events else []
        record.append_event(TRACE_COMPLETE, COMPLETE_AT, pids=[1], ended=ended)
    assert not was_being_traced(record, BEGUN_AT - 1)
    assert was_being_traced(record, BEGUN_AT + 1)
    assert was_being_traced(record, until)
    assert not was_being_traced(record, until + 1)
    record.close()


@pytest.mark.parametrize("duration_s", [None, "long", 1e300, [], float("nan")])
def test_damaged_duration(duration_s: object, tmp_path: Path) -> None:
    """A trace without an end has a limit whatever its record says."""
    record = Record.create(str(tmp_path / "record"), sync=False)
    record.append_event(TRACE_BEGUN, BEGUN_AT, duration_s=duration_s)
    assert not was_being_traced(record, BEGUN_AT + 700)
    record.close()
