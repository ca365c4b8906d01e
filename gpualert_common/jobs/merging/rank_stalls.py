"""Ranks that the others wait for, over all nodes: by the collectives that each has entered, and by
the places at which the ranks stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gpualert_common.jobs.digests.digest import RankDigest, StackGroupDigest
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.processes.rank_names import name_ranks
from gpualert_common.stacks.activities import WAITS_FOR_RANKS, StackActivity
from gpualert_common.structs import Struct

_NO_RANKS = frozenset((StackActivity.LAUNCHER, StackActivity.WORKER))
_LEAST_RANKS = 3
"""Of two ranks at two places, none is the odd one."""


class RankStall(Struct, frozen=True):
    """Ranks that the others wait for; none where all wait in one collective that does not end."""

    ranks: tuple[int, ...]
    text: str
    source: str
    place: str = ""
    is_certain: bool = True


def find_stall(nodes: Sequence[JobNode], since: float | None) -> RankStall | None:
    """Return the ranks that the others wait for, None where the digests do not show it.

    Digests of runs that go on count from ``since``: before, the collectives advanced.
    """
    runs = [
        run
        for node in nodes
        for run in node.runs
        if run.is_ended or (since is not None and run.at >= since)
    ]
    by_calls = _find_by_calls([one for run in runs for one in run.ranks])
    by_place = _find_by_place(runs)
    if by_calls is not None and by_place is not None and by_calls.ranks:
        if set(by_place.ranks) <= set(by_calls.ranks):
            text = f"{by_calls.text}; {by_place.text}"
            return RankStall(by_place.ranks, text, by_calls.source, by_place.place)
        return by_calls
    return by_calls if by_calls is not None and by_calls.ranks else by_place or by_calls


def _find_by_calls(ranks: Sequence[RankDigest]) -> RankStall | None:
    known = {one.rank: one for one in ranks if one.sequence is not None}
    waiting = {
        rank: one
        for rank, one in known.items()
        if one.pending or (one.completed is not None and one.completed < (one.sequence or 0))
    }
    if len(known) < _LEAST_RANKS or not waiting:
        return None
    number = max(one.sequence or 0 for one in waiting.values())
    ahead = [rank for rank, one in waiting.items() if one.sequence == number]
    behind = {rank: at for rank, one in known.items() if (at := one.sequence or 0) < number}
    call = next((waiting[rank].pending for rank in sorted(ahead) if waiting[rank].pending), "")
    name = f"collective number {number}" + (f" ({call})" if call else "")
    calls = Counter(waiting[rank].pending for rank in ahead if waiting[rank].pending)
    if not behind and len(calls) > 1:
        return _find_mismatch(waiting, calls, number)
    if not behind:
        if len(ahead) < len(known):
            return None
        text = f"all {len(known)} known ranks have entered {name}, and it does not end"
        return RankStall((), text, "collectives", is_certain=False)
    if 2 * len(behind) <= len(known):
        lowest = min(behind.values())
        first = tuple(sorted(rank for rank, at in behind.items() if at == lowest))
        text = f"{_count(len(ahead), 'rank')} in {name}, which {name_ranks(first)} never entered"
        return RankStall(first, text, "collectives")
    if 2 * len(ahead) < len(known):
        text = f"only {name_ranks(sorted(ahead))} entered {name}; the other ranks did not"
        return RankStall(tuple(sorted(ahead)), text, "collectives", is_certain=False)
    return None


def _find_mismatch(
    waiting: Mapping[int, RankDigest], calls: Counter[str], number: int
) -> RankStall:
    """Return the ranks that called another collective than most others at one place."""
    usual = max(calls, key=lambda call: (calls[call], call))
    odd = tuple(sorted(rank for rank, one in waiting.items() if one.pending not in ("", usual)))
    other = waiting[odd[0]].pending
    text = f"{name_ranks(odd)} called {other} where the others called {usual}, as number {number}"
    return RankStall(odd, text, "collectives", is_certain=2 * len(odd) < len(waiting))


def _find_by_place(runs: Sequence[NodeRun]) -> RankStall | None:
    groups = [
        (run, group) for run in runs for group in run.stacks if group.activity not in _NO_RANKS
    ]
    waits: Counter[bool] = Counter()
    for _, group in groups:
        waits[group.activity in WAITS_FOR_RANKS] += len(group.ranks)
    total = waits[True] + waits[False]
    if total < _LEAST_RANKS or not waits[False] or 2 * waits[False] > total:
        return None
    odd = [group for _, group in groups if group.activity not in WAITS_FOR_RANKS]
    ranks = tuple(sorted({rank for group in odd for rank in group.ranks}))
    at = _describe_place(odd[0])
    text = f"{name_ranks(ranks)} stood{at}, while {_count(waits[True], 'rank')} in a collective"
    return RankStall(ranks, text, "stacks", odd[0].place)


def _describe_place(group: StackGroupDigest) -> str:
    at = f" at {group.place}" if group.place else " elsewhere"
    return f"{at} ({group.waits_for})" if group.waits_for else at


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} waits" if number == 1 else f"{number} {noun}s wait"
