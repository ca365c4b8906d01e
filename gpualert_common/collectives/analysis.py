"""Analysis of the traces of all ranks: the stall, and the ranks that the others wait for.

A rank waits in the first collective of a group that it entered and did not complete, for the
members that have not entered it.  Those may wait themselves, in another group: the culprits are at
the end of the chain.  A rank that made another call than most others at one place is a culprit
whatever it waits for, since what follows cannot fit.  In a circle of waits, the culprit is the rank
whose calls differ from those of most.  Without a majority, it is the rank that left the order of
its own earlier steps while the others repeat theirs; else all of them disagree, and none is named
as the odd one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from gpualert_common.collectives.calls import describe_calls, resolve_tie
from gpualert_common.collectives.positions import GroupPositions, find_positions
from gpualert_common.collectives.programs import find_departures, find_deviants
from gpualert_common.collectives.rank_waits import TRANSFER, Node, Place, RankWaits
from gpualert_common.collectives.stall import Stall, StallKind
from gpualert_common.collectives.trace import UNKNOWN_PEER, RankTrace
from gpualert_common.collectives.wait_graph import find_ends, find_sources
from gpualert_common.structs import Struct, replace

_PAIR = 2
"""Two ranks that wait for each other disagree; of more, some may only wait with them."""


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


class _Blame(Struct, frozen=True):
    """Ranks that the others wait for, as :class:`~.stall.Stall` has them."""

    culprits: frozenset[int]
    is_tied: bool = False
    has_departed: bool = False


class _Analysis:
    """Search for the stall in the waits of the ranks."""

    def __init__(
        self,
        traces: Sequence[RankTrace],
        positions: Mapping[str, GroupPositions],
        expected: Collection[int] | None,
    ) -> None:
        self._expected = expected
        self._traces = {trace.rank: trace for trace in traces}
        self._positions = positions
        waits = RankWaits(traces, positions)
        self._heads, self._edges, self._mismatches = waits.heads, waits.edges, waits.mismatches

    def find_stall(self) -> Stall | None:
        """Return the stall of the most certain kind."""
        found: dict[StallKind, set[Node]] = defaultdict(set)
        for end in find_ends(self._edges):
            kind = self._find_kind(end)
            if kind is not None:
                found[kind].update(end)
        kind = next((kind for kind in StallKind if kind in found), None)
        return None if kind is None else self._find_stall_of(kind, found[kind])

    def _find_kind(self, end: tuple[Node, ...]) -> StallKind | None:
        ranks = [node for node in end if isinstance(node, int)]
        if not ranks:
            return StallKind.TRANSFER if self._is_complete(end[0]) else None
        if any(rank in one.odd for one in self._mismatches.values() for rank in ranks):
            return StallKind.MISMATCH
        if len(ranks) > 1:
            return StallKind.ORDER
        return StallKind.MISSING if ranks[0] in self._traces else StallKind.ABSENT

    def _is_complete(self, node: Node) -> bool:
        """Return whether a place has no rank that is not known, and may not have entered it."""
        if isinstance(node, int):
            return False
        if node[1] == TRANSFER:
            return not node[0].endswith(f" {UNKNOWN_PEER}")
        return self._positions[node[0]].is_known(node[1])

    def _find_stall_of(self, kind: StallKind, ends: set[Node]) -> Stall | None:
        candidates = frozenset(node for node in ends if isinstance(node, int))
        blame = self._find_blame(kind, candidates)
        culprits = blame.culprits
        reached = find_sources(self._edges, ends)
        places = {
            node
            for node in reached
            if isinstance(node, tuple)
            and (node in ends or not culprits.isdisjoint(self._edges.get(node, ())))
        }
        if not places:
            return None
        waiting = {node for node in reached if isinstance(node, int) and self._edges.get(node)}
        waiting = (waiting | candidates) - culprits
        if kind is StallKind.ORDER and blame.is_tied:
            if len(culprits) == _PAIR:
                return self._describe_pair(min(culprits), max(culprits), waiting)
            waiting, culprits = waiting | culprits, frozenset()
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
        found = self._make_stall(kind, place, culprits, waiting, direct)
        return replace(found, is_tied=blame.is_tied, has_departed=blame.has_departed)

    def _find_blame(self, kind: StallKind, ranks: frozenset[int]) -> _Blame:
        """Return which of the ranks at the ends of all chains are the culprits."""
        is_tied = any(one.is_tied for one in self._mismatches.values())
        if not is_tied and kind is not StallKind.ORDER:
            return _Blame(ranks)
        blame = _Blame(ranks, is_tied=True)
        if odd := self._find_deviants(kind, ranks):
            blame = _Blame(frozenset(odd))
        elif odd := find_departures(ranks, self._traces, self._positions):
            blame = _Blame(frozenset(odd), has_departed=True)
        if is_tied and not blame.is_tied:
            self._mismatches = {
                key: resolve_tie(one, blame.culprits, self._positions[key].calls)
                for key, one in self._mismatches.items()
            }
        return blame

    def _find_deviants(self, kind: StallKind, ranks: frozenset[int]) -> set[int]:
        """Return the ranks that differ from most, where those of one place do not tell."""
        if kind is StallKind.ORDER and (odd := find_deviants(ranks, self._traces, self._positions)):
            return odd
        return find_deviants(self._traces, self._traces, self._positions) & ranks

    # -- the result --------------------------------------------------------------------------

    def _describe_pair(self, first: int, second: int, waiting: set[int]) -> Stall:
        """Return the stall of two ranks that wait for each other at different places."""
        place, other = self._heads[first][0], self._heads[second][0]
        found = self._make_stall(StallKind.ORDER, place, frozenset((first, second)), waiting, set())
        group, sequence, call = self._name_place(other, {second})
        number = f", number {sequence}" if sequence else ""
        return replace(
            found,
            is_tied=True,
            call=self._name_place(place, {first})[2],
            other_call=f"{call or 'a collective'}{number} of group {group.group.title}",
        )

    def _make_stall(
        self,
        kind: StallKind,
        place: Place,
        culprits: frozenset[int],
        waiting: set[int],
        direct: set[int],
    ) -> Stall:
        one, sequence, call = self._name_place(place, direct)
        mismatch = self._mismatches.get(place[0]) if kind is StallKind.MISMATCH else None
        other_call = self._name_last_call(culprits)
        if mismatch is not None:
            sequence, at = mismatch.sequence, one.calls[mismatch.sequence]
            call, other_call = (
                describe_calls(at[mismatch.usual]),
                describe_calls(at[mismatch.other]),
            )
        untraced = (one.members | (one.strangers or set())) - self._traces.keys()
        if kind is StallKind.ABSENT:
            is_few = len(untraced) == 1 or 2 * len(untraced) < len(one.members)
            culprits &= culprits if self._expected is None else set(self._expected)
            culprits = culprits if is_few or self._expected is not None else frozenset()
        return Stall(
            kind,
            tuple(sorted(culprits)) if kind is not StallKind.TRANSFER else (),
            tuple(sorted(waiting)),
            group=one.group.title,
            sequence=sequence,
            call=call,
            other_call=other_call,
            difference=mismatch.difference if mismatch is not None else None,
            indirect=tuple(sorted(waiting - direct)),
            untraced=tuple(sorted(untraced)),
            traced=len(self._traces),
        )

    def _name_place(self, place: Place, ranks: set[int]) -> tuple[GroupPositions, int, str]:
        """Return group, number and call of a place, the call as one of the ranks made it."""
        key, sequence = place
        if sequence == TRANSFER:
            group, _, ends = key.rpartition("\n")
            return self._positions[group], 0, _name_transfer(ends)
        at = self._positions[key].calls.get(sequence, {})
        calls = next((at[rank] for rank in sorted(ranks & at.keys())), ())
        return self._positions[key], sequence, describe_calls(calls)

    def _name_last_call(self, culprits: Collection[int]) -> str:
        """Return the last call of the first culprit, "" where it is not known."""
        first = min(culprits, default=None)
        calls = self._traces[first].calls if first in self._traces else ()
        last = max(calls, key=lambda call: call.created_ns, default=None)
        if last is None:
            return ""
        name = self._positions[last.group].group.title
        number = f" number {last.sequence}" if last.peer is None else ""
        return f"{describe_calls([last])}{number} of group {name}"


def _name_transfer(ends: str) -> str:
    rank, operation, peer = ends.split()
    return f"{operation} {'to' if operation == 'send' else 'from'} rank {peer} (on rank {rank})"
