"""Traces of ranks from two readings of NCCL's RAS: what is unequal in both has come to a halt.

RAS counts the calls of each rank, not those that ended.  One reading of a job at work has unequal
counts too, since ranks are a few calls apart.  The same unequal counts some time later are a stall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.collectives.ras_status import Communicator
from gpualert_common.collectives.trace import (
    GroupProgress,
    ProcessGroup,
    RankTrace,
    RecordedCall,
)

_Process = tuple[str, int, int]


def make_traces(first: Sequence[Communicator], second: Sequence[Communicator]) -> list[RankTrace]:
    """Return the traces of all ranks, by the communicators that both readings show unchanged.

    A rank is that of its process in the largest communicator; other processes have later numbers.
    """
    earlier = {one.name: one for one in first}
    halted = [
        one
        for one in second
        if one.name in earlier and _differs(one) and earlier[one.name].counts == one.counts
    ]
    numbers = number_processes(second)
    parts: dict[int, list[tuple[ProcessGroup, GroupProgress, RecordedCall | None]]] = {}
    for one in halted:
        for rank, part in _place_ranks(one, numbers).items():
            parts.setdefault(rank, []).append(part)
    return [
        RankTrace(
            rank,
            tuple(group for group, _progress, _call in of_rank),
            tuple(progress for _group, progress, _call in of_rank),
            tuple(call for _group, _progress, call in of_rank if call is not None),
        )
        for rank, of_rank in sorted(parts.items())
    ]


def number_processes(communicators: Sequence[Communicator]) -> dict[_Process, int]:
    """Return a number for each process and GPU: its rank in the largest communicator, if any."""
    numbers: dict[_Process, int] = {}
    for one in communicators:
        base = 0 if not numbers else max(numbers.values()) + 1
        for rank in range(one.size):
            key = _identify(one, rank)
            if key not in numbers:
                numbers[key] = rank if one is communicators[0] else base + rank
    return numbers


def _identify(one: Communicator, rank: int) -> _Process:
    process = one.processes.get(rank)
    if process is None:  # the text form names only the processes of ranks that differ
        return (f"communicator {one.name}", rank, -1)
    return (process.host, process.pid, process.gpu)


def _differs(one: Communicator) -> bool:
    return bool(one.missing) or len({tuple(sorted(of.items())) for of in one.counts.values()}) > 1


def _place_ranks(
    one: Communicator, numbers: Mapping[_Process, int]
) -> dict[int, tuple[ProcessGroup, GroupProgress, RecordedCall | None]]:
    """Return the position of each rank: the calls that all have made, and its surplus.

    A rank that stands still with a surplus waits in the first call of it.
    """
    title = f"NCCL communicator {one.name} of {one.size} ranks"
    ranks = tuple(sorted(numbers[_identify(one, rank)] for rank in range(one.size)))
    group = ProcessGroup(f"{one.name} {one.size}", title, "", ranks)
    operations = {name for counts in one.counts.values() for name in counts}
    least = {
        name: min(counts.get(name, 0) for counts in one.counts.values()) for name in operations
    }
    common = sum(least.values())
    found = {}
    for rank, counts in one.counts.items():
        surplus = {name: counts.get(name, 0) - least[name] for name in operations}
        ahead = [name for name, count in surplus.items() if count]
        entered = common + sum(surplus.values())
        progress = GroupProgress(group.key, entered, common)
        call = RecordedCall(group.key, common + 1, ahead[0]) if len(ahead) == 1 else None
        found[numbers[_identify(one, rank)]] = (group, progress, call)
    return found
