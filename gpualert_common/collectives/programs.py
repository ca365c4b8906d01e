"""Programs of ranks: the order of their calls, and the ranks whose order differs from the others'.

Ranks of one training run the same program, each in groups of its own.  So two calls are equal if
operation, size, and kind of group are.  The comparison begins at a collective that all ranks have
completed, or at the start where no call has been lost, and ends at the first difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from gpualert_common.collectives.calls import sign_call
from gpualert_common.collectives.positions import GroupPositions
from gpualert_common.collectives.trace import RankTrace, RecordedCall

_Step = tuple[object, ...]


def find_deviants(
    ranks: Collection[int],
    traces: Mapping[int, RankTrace],
    positions: Mapping[str, GroupPositions],
) -> set[int]:
    """Return those of *ranks* whose calls differ from the majority's; empty where none is known."""
    programs = _list_programs([rank for rank in ranks if rank in traces], traces, positions)
    voters = set(programs)
    longest = max(map(len, programs.values()), default=0)
    for place in range(longest):
        steps = {rank: programs[rank][place] for rank in voters if place < len(programs[rank])}
        counts = Counter(steps.values())
        if len(counts) > 1:
            usual, count = counts.most_common(1)[0]
            odd = {rank for rank, step in steps.items() if step != usual}
            return odd if 2 * count > len(steps) else set()
    return set()


def _list_programs(
    ranks: Sequence[int],
    traces: Mapping[int, RankTrace],
    positions: Mapping[str, GroupPositions],
) -> dict[int, list[_Step]]:
    """Return the calls of each rank from a common place on; none where there is no such place."""
    for key, one in sorted(positions.items(), key=lambda pair: -len(pair[1].members)):
        if not one.progress.keys() >= set(ranks):
            continue
        last = min(one.progress[rank].completed for rank in ranks)
        starts = {rank: _find_call(traces[rank], key, last) for rank in ranks}
        if all(start is not None for start in starts.values()):
            return {
                rank: _make_steps(traces[rank].calls[(start or 0) + 1 :], positions)
                for rank, start in starts.items()
            }
    if all(traces[rank].is_whole for rank in ranks):
        return {rank: _make_steps(traces[rank].calls, positions) for rank in ranks}
    return {}


def _find_call(trace: RankTrace, key: str, sequence: int) -> int | None:
    """Return the index of the last call with a number in a group."""
    for index in range(len(trace.calls) - 1, -1, -1):
        call = trace.calls[index]
        if call.group == key and call.sequence == sequence and call.peer is None:
            return index
    return None


def _make_steps(
    calls: Sequence[RecordedCall], positions: Mapping[str, GroupPositions]
) -> list[_Step]:
    return [
        (_describe_group(positions[call.group]), *sign_call(call))
        for call in calls
        if call.peer is None
    ]


def _describe_group(one: GroupPositions) -> tuple[str, int]:
    return one.group.description, len(one.members)
