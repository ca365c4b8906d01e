"""Traces at the end of a run: PyTorch may crash in a process that exits while it writes one."""

from __future__ import annotations

from gpualert_common.errors import RecordError
from gpualert_common.record import Record

TRACE_BEGUN = "trace_begun"
"""Event: processes, by their ``pids``, were asked for a trace."""
TRACE_COMPLETE = "trace_complete"
"""Event: their traces are in the record, or the processes have ended."""
_SLACK_S = 2.0
"""Kineto still works for a moment after its file is complete."""


def was_being_traced(record: Record, at: float) -> bool:
    """Return whether a trace of the run was being taken at a time; False if that is not known."""
    try:
        events = [one for one in record.events() if one.name in (TRACE_BEGUN, TRACE_COMPLETE)]
    except (OSError, RecordError):
        return False
    begun = [one.at for one in events if one.name == TRACE_BEGUN and one.at <= at]
    if not begun:
        return False
    ends = [one.at for one in events if one.name == TRACE_COMPLETE and one.at >= begun[-1]]
    return not ends or ends[0] >= at - _SLACK_S
