"""Analysis of the traces of all ranks: the stall, and the ranks that the others wait for.

A rank waits in the first collective of a group that it entered and did not complete, for the
members that have not entered it.  Those may wait themselves, in another group: the culprits are at
the end of the chain.  A rank that made another call than most others at one place is a culprit
whatever it waits for, since what follows cannot fit.  In a circle of waits, the culprit is the rank
whose calls differ from those of most.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from gpualert_common.collectives.calls import (
    Mismatch,
    describe_calls,
    find_mismatch,
    find_transfer,
)
from gpualert_common.collectives.positions import GroupPositions, find_positions
from gpualert_common.collectives.programs import find_deviants
from gpualert_common.collectives.stall import Stall, StallKind
from gpualert_common.collectives.trace import UNKNOWN_PEER, RankTrace
from gpualert_common.collectives.wait_graph import find_ends, find_sources

_Place = tuple[str, int]
"""A collective: the key of its group, and its number."""
_Node = int | _Place
_TRANSFER = -1
"""Number in the place of a transfer between two ranks, whose key names these."""


def find_stall(
    traces: Sequence[RankTrace],
    world_size: int | None = None,
    expected: Collection[int] | None = None,
) -> Stall | None:
    """Return the stall that the traces of ranks show; None where no rank waits for another.

    ``expected`` are the ranks whose traces would be here if they had left any, such as those of
    this machine; None for all.  Only such a rank is named for having left none.
    """
    return _Analysis(traces, find_positions(traces, world_size), expected).find_stall()


class _Analysis:
    """Waits of the ranks: each rank waits in places, and each place for ranks."""

    def __init__(
        self,
        traces: Sequence[RankTrace],
        positions: Mapping[str, GroupPositions],
        expected: Collection[int] | None,
    ) -> None:
        self._expected = expected
        self._traces = {trace.rank: trace for trace in traces}
        self._positions = positions
        self._mismatches: dict[str, Mismatch] = {}
        self._edges: dict[_Node, list[_Node]] = {}
        pending = {
            (key, rank): sequence
            for key, one in positions.items()
            for rank in one.progress
            if (sequence := one.find_pending(rank)) is not None
        }
        self._find_mismatches(pending)
        self._heads = self._find_heads(pending)
        for rank, places in self._heads.items():
            self._edges[rank] = list(places)
        for place in {place for places in self._heads.values() for place in places}:
            self._add_place(place)
        odd = {rank for one in self._mismatches.values() for rank in one.odd}
        for rank in odd:  # an odd rank is an end: what it waits for cannot fit
            self._edges[rank] = []

    def find_stall(self) -> Stall | None:
        """Return the stall of the most certain kind."""
        found: dict[StallKind, list[tuple[_Node, ...]]] = defaultdict(list)
        for end in find_ends(self._edges):
            kind = self._find_kind(end)
            if kind is not None:
                found[kind].append(end)
        for kind in StallKind:
            if kind in found:
                return self._describe(kind, found[kind])
        return None

    # -- waits -------------------------------------------------------------------------------

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
        self._mismatches = {first: found[first]}
        if first in inexact:
            for rank in self._positions[first].calls[found[first].sequence]:
                pending.setdefault((first, rank), found[first].sequence)

    def _created_ns(self, key: str, sequence: int) -> int:
        at = self._positions[key].calls[sequence]
        return min(call.created_ns for calls in at.values() for call in calls)

    def _find_heads(self, pending: Mapping[tuple[str, int], int]) -> dict[int, list[_Place]]:
        """Return the places in which each rank waits: the oldest one, where the order is known.

        What a rank entered later cannot begin before that.
        """
        found: dict[int, list[tuple[int, _Place]]] = defaultdict(list)
        for (key, rank), sequence in pending.items():
            calls = self._positions[key].calls.get(sequence, {}).get(rank, ())
            found[rank].append((min((one.created_ns for one in calls), default=0), (key, sequence)))
        for trace in self._traces.values():
            transfer = find_transfer(trace)
            if transfer is not None:
                place = (f"{transfer.group}\n{trace.rank} {transfer.operation} {transfer.peer}", -1)
                found[trace.rank].append((transfer.created_ns, place))
        heads = {}
        for rank, waits in found.items():
            is_ordered = all(created_ns for created_ns, _place in waits)
            heads[rank] = [min(waits)[1]] if is_ordered else [place for _at, place in waits]
        return heads

    def _add_place(self, place: _Place) -> None:
        """Add the ranks that a place waits for."""
        key, sequence = place
        if sequence == _TRANSFER:
            targets = self._list_peers(key)
        else:
            one, mismatch = self._positions[key], self._mismatches.get(key)
            if mismatch is not None and mismatch.sequence <= sequence:
                targets = list(mismatch.odd)
            else:
                targets = one.list_behind(sequence)
                targets = targets or sorted(one.members - one.progress.keys())
                targets = targets or self._list_held_up(place) or sorted(one.strangers or ())
        self._edges[place] = list(targets)

    def _list_held_up(self, place: _Place) -> list[int]:
        """Return the ranks that entered a place and wait in an older one."""
        members = self._positions[place[0]].progress
        return [rank for rank in members if place not in self._heads.get(rank, (place,))]

    def _list_peers(self, key: str) -> list[int]:
        """Return the peer of a transfer, unless it is in the same one, or is not known."""
        group, _, ends = key.partition("\n")
        rank, operation, peer = ends.split()
        number = int(peer)
        if number < 0:
            return []
        trace = self._traces.get(number)
        takes_part = trace is not None and any(
            one.peer == int(rank) and one.operation != operation and not one.is_done
            for one in trace.calls
        )
        heads = [head for head, _sequence in self._heads.get(number, ())]
        others = (f"{group}\n{peer} {other} {rank}" for other in ("send", "recv"))
        is_first = not heads or any(other in heads for other in others)
        return [] if takes_part and is_first else [number]

    # -- the result --------------------------------------------------------------------------

    def _find_kind(self, end: tuple[_Node, ...]) -> StallKind | None:
        ranks = [node for node in end if isinstance(node, int)]
        if not ranks:
            return StallKind.TRANSFER if self._is_complete(end[0]) else None
        if any(rank in one.odd for one in self._mismatches.values() for rank in ranks):
            return StallKind.MISMATCH
        if len(ranks) > 1:
            return StallKind.ORDER
        return StallKind.MISSING if ranks[0] in self._traces else StallKind.ABSENT

    def _is_complete(self, node: _Node) -> bool:
        """Return whether a place has no rank that is not known, and may not have entered it."""
        if isinstance(node, int):
            return False
        if node[1] == _TRANSFER:
            return not node[0].endswith(f" {UNKNOWN_PEER}")
        return self._positions[node[0]].is_known(node[1])

    def _describe(self, kind: StallKind, ends: Sequence[tuple[_Node, ...]]) -> Stall | None:
        nodes = {node for end in ends for node in end}
        reached = find_sources(self._edges, nodes)
        culprits = {node for node in nodes if isinstance(node, int)}
        is_tied = kind is StallKind.ORDER or any(one.is_tied for one in self._mismatches.values())
        candidates = culprits
        if is_tied and (odd := self._find_deviants(kind, culprits)):
            culprits, is_tied = odd, False
        places = {
            node
            for node in reached
            if isinstance(node, tuple)
            and (node in nodes or not culprits.isdisjoint(self._edges.get(node, ())))
        }
        if not places:
            return None
        waiting = {node for node in reached if isinstance(node, int) and self._edges.get(node)}
        waiting = (waiting | candidates) - culprits
        if is_tied and kind is StallKind.ORDER:
            culprits, waiting = set(), waiting | culprits
        waiters = Counter(
            place
            for rank in waiting or culprits
            for place in self._edges.get(rank, ())
            if place in places
        )
        place = max(sorted(places, key=str), key=lambda one: waiters[one])
        direct = {
            rank for rank in waiting if rank in candidates or place in self._edges.get(rank, ())
        }
        return self._make_stall(kind, place, culprits, waiting, direct, is_tied=is_tied)

    def _find_deviants(self, kind: StallKind, ranks: set[int]) -> set[int]:
        """Return the ranks that differ from most, where those of one place do not tell."""
        if kind is StallKind.ORDER and (odd := find_deviants(ranks, self._traces, self._positions)):
            return odd
        return find_deviants(self._traces, self._traces, self._positions) & ranks

    def _make_stall(
        self,
        kind: StallKind,
        place: _Place,
        culprits: set[int],
        waiting: set[int],
        direct: set[int],
        *,
        is_tied: bool,
    ) -> Stall:
        key, sequence = place
        if sequence == _TRANSFER:
            group, _, ends = key.partition("\n")
            one, call, sequence = self._positions[group], _name_transfer(ends), 0
        else:
            one, call = self._positions[key], ""
        mismatch = self._mismatches.get(key) if kind is StallKind.MISMATCH else None
        if mismatch is not None:
            sequence = mismatch.sequence
            call = describe_calls(one.calls[sequence][mismatch.usual])
        at = one.calls.get(sequence, {})
        call = call or describe_calls(next((at[rank] for rank in sorted(direct & at.keys())), ()))
        untraced = (one.members | (one.strangers or set())) - self._traces.keys()
        if kind is StallKind.ABSENT:
            is_few = len(untraced) == 1 or 2 * len(untraced) < len(one.members)
            culprits &= culprits if self._expected is None else set(self._expected)
            culprits = culprits if is_few or self._expected is not None else set()
        return Stall(
            kind,
            tuple(sorted(culprits)) if kind is not StallKind.TRANSFER else (),
            tuple(sorted(waiting)),
            one.group.title,
            sequence,
            call,
            self._find_other_call(culprits, mismatch, one),
            mismatch.difference if mismatch is not None else None,
            is_tied,
            tuple(sorted(waiting - direct)),
            tuple(sorted(untraced)),
            len(self._traces),
        )

    def _find_other_call(
        self, culprits: Iterable[int], mismatch: Mismatch | None, one: GroupPositions
    ) -> str:
        """Return the call of the culprits at the place of a mismatch, or else their last one."""
        first = min(culprits, default=None)
        if first is None or first not in self._traces:
            return ""
        if mismatch is not None:
            at = one.calls[mismatch.sequence]
            other = next((rank for rank in mismatch.odd if rank != mismatch.usual), first)
            return describe_calls(at[other])
        last = max(self._traces[first].calls, key=lambda call: call.created_ns, default=None)
        if last is None:
            return ""
        name = self._positions[last.group].group.title
        number = f" number {last.sequence}" if last.peer is None else ""
        return f"{describe_calls([last])}{number} of group {name}"


def _name_transfer(ends: str) -> str:
    rank, operation, peer = ends.split()
    return f"{operation} {'to' if operation == 'send' else 'from'} rank {peer} (on rank {rank})"
