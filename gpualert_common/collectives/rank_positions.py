"""Positions of the ranks of one machine in the largest group of a job, for those who know all."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.collectives.calls import describe_calls
from gpualert_common.collectives.positions import GroupPositions, find_positions
from gpualert_common.collectives.trace import RankTrace
from gpualert_common.structs import Struct


class RankPosition(Struct, frozen=True):
    """Numbers of the collectives that a rank entered and completed last, and the ``call`` that it
    is in; "" for none."""

    rank: int
    entered: int
    completed: int
    call: str = ""


class CollectivePositions(Struct, frozen=True):
    """Positions of ranks in one group."""

    group: str
    ranks: tuple[RankPosition, ...]

    def describe(self) -> str:
        """Return the positions for people."""
        entered = [one.entered for one in self.ranks]
        numbers = f"{min(entered)} to {max(entered)}" if min(entered) < max(entered) else entered[0]
        return f"{len(self.ranks)} ranks entered collective {numbers} of group {self.group} last"


def locate_ranks(traces: Sequence[RankTrace], world_size: int | None) -> CollectivePositions | None:
    """Return the positions in the group with the most members; None without a collective."""
    groups = [one for one in find_positions(traces, world_size).values() if one.progress]
    if not groups:
        return None
    largest = max(groups, key=lambda one: (len(one.members), len(one.progress)))
    ranks = tuple(_locate(largest, rank) for rank in sorted(largest.progress))
    return CollectivePositions(largest.group.title, ranks)


def _locate(positions: GroupPositions, rank: int) -> RankPosition:
    progress, pending = positions.progress[rank], positions.find_pending(rank)
    if pending is None:
        return RankPosition(rank, progress.entered, progress.completed)
    call = describe_calls(positions.calls.get(pending, {}).get(rank, ()))
    return RankPosition(rank, progress.entered, pending - 1, call)
