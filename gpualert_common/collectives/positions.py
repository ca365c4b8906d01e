"""Positions of the ranks in each group: members, progress, and the calls at each place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpualert_common.collectives.calls import is_one_sided
from gpualert_common.collectives.trace import (
    DEFAULT_GROUP,
    MOST_RANKS,
    GroupProgress,
    ProcessGroup,
    RankTrace,
    RecordedCall,
)


class GroupPositions:
    """Positions in one group.

    ``members`` are its ranks as far as they are known, and ``strangers`` the ranks without a trace
    that may be members; None where the number of ranks is not known.  ``progress`` holds the ranks
    whose position is known, and ``calls`` their collectives by place and rank.
    """

    def __init__(
        self, group: ProcessGroup, members: frozenset[int], strangers: frozenset[int] | None
    ) -> None:
        self.group = group
        self.members = members
        self.strangers = strangers
        self.progress: dict[int, GroupProgress] = {}
        self.calls: dict[int, dict[int, list[RecordedCall]]] = defaultdict(dict)

    def find_pending(self, rank: int) -> int | None:
        """Return the number of the first collective that a rank has entered and not completed.

        Where a failed collective counts as completed, one that others never entered is pending.
        """
        progress = self.progress.get(rank)
        if progress is None:
            return None
        if progress.completed < progress.entered:
            return progress.completed + 1
        if progress.is_exact:
            return None
        first = min(one.entered for one in self.progress.values()) + 1
        if first > progress.entered:
            return None
        calls = self.calls.get(first, {}).get(rank, ())
        return None if any(is_one_sided(call.operation) for call in calls) else first

    def is_known(self, sequence: int) -> bool:
        """Return whether all ranks are known that should enter a collective.

        A member that never entered one is not known where the recorder does not list members.
        """
        is_listed = bool(self.group.ranks) or self.group.description == DEFAULT_GROUP
        return self.strangers == frozenset() and (is_listed or sequence > 1)

    def list_behind(self, sequence: int) -> list[int]:
        """Return the ranks that have not entered a collective, of those whose position is known."""
        return [rank for rank, one in self.progress.items() if one.entered < sequence]


def find_positions(
    traces: Sequence[RankTrace], world_size: int | None
) -> dict[str, GroupPositions]:
    """Return the positions in all groups, by their keys."""
    groups: dict[str, ProcessGroup] = {}
    seen: dict[str, set[int]] = defaultdict(set)
    for trace in traces:
        for group in trace.groups:
            groups.setdefault(group.key, group)
            seen[group.key].add(trace.rank)
    is_known = world_size is not None and world_size <= MOST_RANKS
    world = frozenset(range(world_size or 0)) if is_known else None
    traced = frozenset(trace.rank for trace in traces)
    found = {}
    for key, group in groups.items():
        members = frozenset(group.ranks) or frozenset(seen[key])
        strangers = None if world is None else world - traced
        if group.ranks:
            strangers = frozenset()
        elif group.description == DEFAULT_GROUP and world is not None:
            members, strangers = members | world, frozenset()
        found[key] = GroupPositions(group, members, strangers)
    for trace in traces:
        _add_trace(trace, found)
    return found


def _add_trace(trace: RankTrace, positions: dict[str, GroupPositions]) -> None:
    for progress in trace.progress:
        positions[progress.group].progress[trace.rank] = progress
    for call in trace.calls:
        if call.peer is None:
            at = positions[call.group].calls[call.sequence]
            at.setdefault(trace.rank, []).append(call)
    known = {group.key for group in trace.groups}
    for key, one in positions.items():
        # A group that a rank knows without calls may have lost them; else it never entered one.
        if key not in known and trace.rank in one.members:
            one.progress[trace.rank] = GroupProgress(key, 0, 0)
