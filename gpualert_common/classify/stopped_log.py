"""Failure that a run had before it was stopped, by its logs as they were at that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.causes import ANNOUNCED_CAUSES
from gpualert_common.classify.candidates import Candidate, Tier, find_candidates
from gpualert_common.classify.exit_status import ExitStatus
from gpualert_common.classify.filters import SelectionContext
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.selection import Selection, select
from gpualert_common.model import Disposition
from gpualert_common.structs import replace


def select_before_stop(
    readings: Sequence[LogReading],
    bytes_at_stop: Mapping[str, int],
    status: ExitStatus,
    rules: RuleSet,
) -> tuple[list[Candidate], Selection] | None:
    """Return the failure in which the logs ended when the run was stopped, among its candidates.

    None for a run that is not known to have failed by then.  As after the exit status 0, only a
    failure counts that nothing followed: a rank that failed while the others waited, for example.
    ``bytes_at_stop`` has the sizes of the logs at that time.
    """
    before = _cut_at_stop(readings, bytes_at_stop)
    candidates = [one for reading in before for one in find_candidates(reading, rules)]
    as_if_completed = ExitStatus(Disposition.COMPLETED, None, status.claim)
    selection = select(candidates, SelectionContext(before, as_if_completed))
    has_failed = selection.chosen is not None and selection.chosen.tier < Tier.STATUS
    return (candidates, selection) if has_failed else None


def _cut_at_stop(
    readings: Sequence[LogReading], bytes_at_stop: Mapping[str, int]
) -> list[LogReading]:
    """Return the readings up to the stop, or to the first line about it.

    Empty if the kept end of a log begins behind the stop, or the size of a log is not known.
    """
    ends = [_find_end(one, bytes_at_stop.get(one.file, -1)) for one in readings]
    if any(end < one.tail_offset for one, end in zip(readings, ends, strict=True)):
        return []
    return [_cut(one, end) for one, end in zip(readings, ends, strict=True)]


def _find_end(reading: LogReading, size: int) -> int:
    """Return where the log ended, or first reported the stop.

    That may be before the size was noted: a terminal sends its signal to the training, too.
    """
    reports = [one.place.offset for one in reading.observations if one.cause in ANNOUNCED_CAUSES]
    interrupts = [one.start.offset for one in reading.tracebacks if one.name == "KeyboardInterrupt"]
    return min([size, *reports, *interrupts])


def _cut(reading: LogReading, end: int) -> LogReading:
    kept = end - reading.tail_offset
    return replace(
        reading,
        size=min(reading.size, end),
        lines=reading.lines - reading.tail.count(b"\n", kept),
        observations=tuple(one for one in reading.observations if one.place.offset < end),
        tracebacks=tuple(one for one in reading.tracebacks if one.end.offset < end),
        tail=reading.tail[:kept],
    )
