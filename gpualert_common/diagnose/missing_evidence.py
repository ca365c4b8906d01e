"""Evidence that a run lacks: its output, and the exit status of a process that others started."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.errors import RecordError
from gpualert_common.model import Disposition, SourceStatus, Verdict
from gpualert_common.record import NO_LONGER_WATCHED, Record
from gpualert_common.structs import replace

_MOST_OF_EXCEPTION = 0.9
"""Most confidence without the output where an exception is known: it may follow from an earlier
failure, which only the output shows."""
_MOST_OF_SIGNAL = 0.8
"""The same of a signal: the output may name its reason, such as a memory limit."""
_MOST_OF_STATUS = 0.3
"""The same of an exit status, which is the confidence of a status whose log is empty."""


def mark_output_unread(verdict: Verdict, name: str, why: str, *, has_exception: bool) -> Verdict:
    """Return a verdict that names the output that could not be read, and is less sure."""
    match verdict.disposition:
        case Disposition.FAILED:
            most = _MOST_OF_EXCEPTION if has_exception else _MOST_OF_STATUS
        case Disposition.KILLED:
            most = _MOST_OF_SIGNAL
        case _:
            most = verdict.confidence
    unread = SourceStatus(name, available=False, why=why)
    others = (source for source in verdict.sources if has_exception or source.name != "log")
    unknown = f"what the program printed, since its log was not read ({why})"
    return replace(
        verdict,
        confidence=min(verdict.confidence, most),
        cannot_decide=(*verdict.cannot_decide, unknown),
        sources=(unread, *others),
    )


def explain_missing_status(record: Record) -> str:
    """Return why the exit status of a process that gpualert did not start is not known."""
    with suppress(OSError, RecordError):
        if record.event(NO_LONGER_WATCHED) is not None:
            return "No longer watched: the process went on, and its end is not known"
    return "Exit status unknown: this process was not started by gpualert"
