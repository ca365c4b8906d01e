"""Traces at the end of a run: PyTorch may crash in a process that exits while it writes one."""

from __future__ import annotations

from gpualert_common.errors import RecordError
from gpualert_common.kineto.requests import MOST_DURATION_S, WRITING_S
from gpualert_common.record import Record
from gpualert_common.record.events import Event

TRACE_BEGUN = "trace_begun"
"""Event: processes, by their ``pids``, were asked for a trace of ``duration_s``."""
TRACE_COMPLETE = "trace_complete"
"""Event: the traces of ``pids`` are in the record, and those of ``ended`` never will be, since
these processes have ended."""
_SLACK_S = 2.0
"""Kineto still works for a moment after its file is complete."""
_PREPARATION_S = 30.0
"""More than the time until all processes begin, on a busy machine."""
_OUTLIVED_S = 1800.0
"""A run lasts for so long without one of its ranks: the timeout of gloo, and three of NCCL's."""


def was_being_traced(record: Record, at: float) -> bool:
    """Return whether a trace of the run was being taken at a time; False if that is not known.

    It was, too, if a process ended in the last trace, and the others have waited for it since.
    """
    try:
        events = [one for one in record.events() if one.name in (TRACE_BEGUN, TRACE_COMPLETE)]
    except (OSError, RecordError):
        return False
    begun = [one for one in events if one.name == TRACE_BEGUN and one.at <= at]
    if not begun:
        return False
    ends = [one for one in events if one.name == TRACE_COMPLETE and one.at >= begun[-1].at]
    if not ends:
        return at <= begun[-1].at + _PREPARATION_S + _read_duration(begun[-1]) + WRITING_S
    return at <= ends[0].at + (_OUTLIVED_S if ends[0].fields.get("ended") else _SLACK_S)


def _read_duration(begun: Event) -> float:
    """Return the duration of a trace; the longest where the record does not say it."""
    duration_s = begun.fields.get("duration_s")
    if isinstance(duration_s, int | float):
        return min(duration_s, MOST_DURATION_S)
    return MOST_DURATION_S
