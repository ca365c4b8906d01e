"""Waits of ranks: each waits in a place of a group, and each place for ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gpualert_common.collectives.calls import Mismatch, find_mismatch, find_transfer
from gpualert_common.collectives.positions import GroupPositions
from gpualert_common.collectives.trace import RankTrace

Place = tuple[str, int]
"""A collective: the key of its group, and its number."""
Node = int | Place
"""A rank, or a place."""
TRANSFER = -1
"""Number in the place of a transfer between two ranks, whose key names these."""


class RankWaits:
    """Waits of all ranks.

    ``heads`` are the places in which each rank waits, and ``edges`` the whole graph: from ranks to
    places, and from places to the ranks that they wait for.  ``mismatches`` holds at most the first
    one, by the key of its group.
    """

    def __init__(
        self, traces: Sequence[RankTrace], positions: Mapping[str, GroupPositions]
    ) -> None:
        self._traces = {trace.rank: trace for trace in traces}
        self._positions = positions
        self.mismatches: dict[str, Mismatch] = {}
        self.edges: dict[Node, list[Node]] = {}
        pending = {
            (key, rank): sequence
            for key, one in positions.items()
            for rank in one.progress
            if (sequence := one.find_pending(rank)) is not None
        }
        self._find_mismatches(pending)
        self.heads = self._find_heads(pending)
        for rank, places in self.heads.items():
            self.edges[rank] = list(places)
        for place in {place for places in self.heads.values() for place in places}:
            self._add_place(place)
        odd = {rank for one in self.mismatches.values() for rank in one.odd}
        for rank in odd:  # an odd rank is an end: what it waits for cannot fit
            self.edges[rank] = []

    def _find_mismatches(self, pending: dict[tuple[str, int], int]) -> None:
        """Find the first mismatch of all groups with waiting ranks: others may follow from it.

        Where a collective that failed counts as completed, ranks wait in the mismatch itself.
        """
        inexact = {
            key
            for key, one in self._positions.items()
            if not all(progress.is_exact for progress in one.progress.values())
        }
        found = {
            key: mismatch
            for key in inexact | {key for key, _rank in pending}
            if (mismatch := find_mismatch(self._positions[key].calls)) is not None
        }
        if not found:
            return
        first = min(found, key=lambda key: self._created_ns(key, found[key].sequence))
        self.mismatches = {first: found[first]}
        if first in inexact:
            for rank in self._positions[first].calls[found[first].sequence]:
                pending.setdefault((first, rank), found[first].sequence)

    def _created_ns(self, key: str, sequence: int) -> int:
        at = self._positions[key].calls[sequence]
        return min(call.created_ns for calls in at.values() for call in calls)

    def _find_heads(self, pending: Mapping[tuple[str, int], int]) -> dict[int, list[Place]]:
        """Return the places in which each rank waits: the oldest one, where the order is known.

        What a rank entered later cannot begin before that.
        """
        found: dict[int, list[tuple[int, Place]]] = defaultdict(list)
        for (key, rank), sequence in pending.items():
            calls = self._positions[key].calls.get(sequence, {}).get(rank, ())
            found[rank].append((min((one.created_ns for one in calls), default=0), (key, sequence)))
        for trace in self._traces.values():
            transfer = find_transfer(trace)
            if transfer is not None:
                operation = "".join(transfer.operation.split()) or "transfer"
                ends = f"{trace.rank} {operation} {transfer.peer}"
                place = (f"{transfer.group}\n{ends}", TRANSFER)
                found[trace.rank].append((transfer.created_ns, place))
        heads = {}
        for rank, waits in found.items():
            is_ordered = all(created_ns for created_ns, _place in waits)
            heads[rank] = [min(waits)[1]] if is_ordered else [place for _at, place in waits]
        return heads

    def _add_place(self, place: Place) -> None:
        """Add the ranks that a place waits for."""
        key, sequence = place
        if sequence == TRANSFER:
            targets = self._list_peers(key)
        else:
            one, mismatch = self._positions[key], self.mismatches.get(key)
            if mismatch is not None and mismatch.sequence <= sequence:
                targets = list(mismatch.odd)
            else:
                targets = one.list_behind(sequence)
                targets = targets or sorted(one.members - one.progress.keys())
                targets = targets or self._list_held_up(place) or sorted(one.strangers or ())
        self.edges[place] = list(targets)

    def _list_held_up(self, place: Place) -> list[int]:
        """Return the ranks that entered a place and wait in an older one."""
        members = self._positions[place[0]].progress
        return [rank for rank in members if place not in self.heads.get(rank, (place,))]

    def _list_peers(self, key: str) -> list[int]:
        """Return the peer of a transfer, unless it is in the same one, or is not known."""
        group, _, ends = key.rpartition("\n")
        rank, operation, peer = ends.split()
        number = int(peer)
        if number < 0:
            return []
        trace = self._traces.get(number)
        takes_part = trace is not None and any(
            one.peer == int(rank) and one.operation != operation and not one.is_done
            for one in trace.calls
        )
        heads = [head for head, _sequence in self.heads.get(number, ())]
        others = (f"{group}\n{peer} {other} {rank}" for other in ("send", "recv"))
        is_first = not heads or any(other in heads for other in others)
        return [] if takes_part and is_first else [number]
