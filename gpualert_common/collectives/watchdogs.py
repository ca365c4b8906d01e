"""The stall that the reports of watchdogs in a log show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gpualert_common.classify.watchdog_reports import WatchdogReport
from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.stall import Stall
from gpualert_common.collectives.trace import (
    DEFAULT_GROUP,
    GroupProgress,
    ProcessGroup,
    RankTrace,
    RecordedCall,
)

_FIRST_GROUP = "0"
_LEAST_REPORTS = 3


def find_reported_stall(
    reports: Iterable[WatchdogReport],
    world_size: int | None = None,
    expected: Collection[int] | None = None,
) -> Stall | None:
    """Return the stall that reports show; None where no rank waits for another.

    ``expected`` are the ranks whose reports would be in the log, as :func:`.find_stall` has them.

    A number that is less than that of the last completed one counts transfers, and says nothing.
    """
    by_rank: dict[int, list[WatchdogReport]] = {}
    for one in reports:
        if one.enqueued >= one.completed:
            by_rank.setdefault(one.rank, []).append(one)
    if not by_rank:
        return None
    members = _find_members(by_rank)
    traces = [_make_trace(rank, found, members) for rank, found in by_rank.items()]
    return find_stall(traces, world_size, expected)


def _find_members(by_rank: Mapping[int, Iterable[WatchdogReport]]) -> tuple[int, ...]:
    """Return the ranks of the first group if one between those that report does not: it exists."""
    ranks = {
        rank for rank, found in by_rank.items() if any(one.group == _FIRST_GROUP for one in found)
    }
    between = range(min(ranks, default=0), max(ranks, default=0) + 1)
    has_one_gap = len(between) == len(ranks) + 1
    return tuple(between) if has_one_gap and len(ranks) >= _LEAST_REPORTS else ()


def _make_trace(
    rank: int, reports: Iterable[WatchdogReport], members: tuple[int, ...]
) -> RankTrace:
    groups, progress, calls = [], [], []
    for one in reports:
        description = one.group_name or (DEFAULT_GROUP if one.group == _FIRST_GROUP else "")
        known = members if one.group == _FIRST_GROUP else ()
        groups.append(ProcessGroup(one.group, one.group, description, known))
        completed = max(one.completed, 0)  # -1 is none
        progress.append(GroupProgress(one.group, max(one.enqueued, 0), completed))
        if one.operation and one.sequence <= one.enqueued:
            calls.append(RecordedCall(one.group, one.sequence, one.operation))
    return RankTrace(rank, tuple(groups), tuple(progress), tuple(calls))
