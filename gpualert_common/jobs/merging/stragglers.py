"""Stragglers: a node or a rank that is slower than the others of its job.

All ranks of a synchronous training make the same steps, so the times of whole steps agree, and the
rank that works while the others wait is the slow one.  Samples of the stacks of all ranks show it,
or the load of the GPUs, in which NCCL waits.  The pace of a node and the clock of its GPUs show a
slow node of three or more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpualert_common.diagnose.thresholds import LEAST_GPUS, STRAGGLER_RATIO
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.jobs.merging.slow_ranks import find_slow_ranks
from gpualert_common.median import median
from gpualert_common.structs import Struct

_LEAST_S = 120.0
"""Loading and compiling take the first minutes: until then, times of steps differ."""
_MOST_SLOW = 4
"""Of so many nodes, one may be slow; more of them are no stragglers."""
_SPINNING_PERCENT = 85.0
"""Load of a GPU that waits in a collective of NCCL, or works all the time."""
_BUSY_PERCENT = 60.0
"""Load of a GPU that works; one that waits without a kernel has less."""


class Straggler(Struct, frozen=True):
    """The slowest node or rank: ``percent`` is its speed relative to the median of the others.

    ``texts`` are what shows it.  ``is_supported`` says that two measurements agree on the node,
    ``is_of_machine`` that one of them is of the machine, and not of the program alone.
    """

    node: JobNode
    rank: int | None
    percent: int
    texts: tuple[str, ...]
    is_supported: bool = False
    is_of_machine: bool = True


def find_straggler(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the straggler of a job; None without one, and without enough nodes to compare."""
    trained = [node for node in nodes if _duration(node) >= _LEAST_S]
    signs = [_find_working_ranks(trained)]
    if len(trained) >= LEAST_GPUS:
        signs += [_find_slow_node(trained, measure) for measure in _MEASURES]
        signs.append(_find_starved_rank(trained))
    first = next((one for one in signs if one is not None), None)
    if first is None:
        return None
    # A busy rank alone is no proof: the others may wait for their data.
    own = [one for one in (*signs, _find_busy_rank(trained)) if one and one.node is first.node]
    return Straggler(
        first.node,
        next((one.rank for one in own if one.rank is not None), None),
        next((one.percent for one in own if one.percent), 0),
        tuple(text for one in own for text in one.texts),
        is_supported=len(own) > 1,
        is_of_machine=any(one.is_of_machine for one in own),
    )


def _find_working_ranks(nodes: Sequence[JobNode]) -> Straggler | None:
    found = find_slow_ranks(nodes)
    if found is None:
        return None
    text = (
        f"rank {found.first} waited for the others in {found.waits} of {found.samples} samples of"
        f" its stack, and they waited in {found.usual:.0%} of theirs: they wait for it"
    )
    rank = found.first if len(found.ranks) == 1 else None
    return Straggler(found.node, rank, round(100 * found.ratio), (text,), is_of_machine=False)


class _Measure(Struct, frozen=True):
    """A measure of each node: ``find_slowness`` is higher on a slower one, None if not known.

    ``describe`` has its name, its slowness and the usual one.
    """

    find_slowness: Callable[[NodeRun], float | None]
    describe: Callable[[str, float, float], str]


def _find_slow_node(nodes: Sequence[JobNode], measure: _Measure) -> Straggler | None:
    """Return the node that a measure shows as far slower than the others."""
    slowness: dict[JobNode, float] = {}
    for node in nodes:
        known = [one for run in node.runs if (one := measure.find_slowness(run)) is not None]
        if known:
            slowness[node] = max(known)
    if len(slowness) < LEAST_GPUS:
        return None
    node, slowest = max(slowness.items(), key=lambda one: (one[1], one[0].title))
    usual = median(value for key, value in slowness.items() if key is not node)
    slow = sum(usual < STRAGGLER_RATIO * value for value in slowness.values())
    if usual >= STRAGGLER_RATIO * slowest or slow > max(1, len(slowness) // _MOST_SLOW):
        return None  # it is not far from the others, or is one of a part with more work
    text = measure.describe(node.title, slowest, usual)
    return Straggler(node, None, round(100 * usual / slowest), (text,))


def _find_clock_slowness(run: NodeRun) -> float | None:
    return None if run.clock_ratio is None else 1 / run.clock_ratio


def _describe_pace(name: str, slowest: float, usual: float) -> str:
    return f"a step takes {slowest:.3g} s on {name}, and {usual:.3g} s on most other nodes"


def _describe_clock(name: str, slowest: float, usual: float) -> str:
    return (
        f"a GPU of {name} ran at {round(100 / slowest)} % of its highest clock, and those of most"
        f" other nodes at {round(100 / usual)} %"
    )


_MEASURES = (
    _Measure(lambda run: run.pace_s, _describe_pace),
    _Measure(_find_clock_slowness, _describe_clock),
)


def _find_busy_rank(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the only rank that works while the GPUs of most others wait."""
    loads = _list_loads(nodes)
    if len(loads) < LEAST_GPUS:
        return None
    (title, rank), highest = max(loads.items(), key=lambda one: one[1])
    others = max(value for key, value in loads.items() if key != (title, rank))
    if highest < _BUSY_PERCENT or others >= STRAGGLER_RATIO * highest:
        return None
    text = (
        f"the GPU of rank {rank} was busy for {highest:.0f} % of the time, and those of all others"
        f" for {others:.0f} % at most: they wait for it"
    )
    return Straggler(_find_node(nodes, title), rank, 0, (text,))


def _find_starved_rank(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the node whose GPU has too little to do, while a collective keeps all others busy.

    NCCL waits with a kernel: the load of a GPU that waits for another rank is full.
    """
    loads = _list_loads(nodes)
    if len(loads) < LEAST_GPUS:
        return None
    (title, rank), lowest = min(loads.items(), key=lambda one: one[1])
    others = [value for (other, _rank), value in loads.items() if other != title]
    if not others or min(others) < _SPINNING_PERCENT or lowest >= STRAGGLER_RATIO * min(others):
        return None
    own = [value for (other, _rank), value in loads.items() if other == title]
    is_alone = sum(value < STRAGGLER_RATIO * min(others) for value in own) == 1
    text = (
        f"the GPU of rank {rank} was busy for {lowest:.0f} % of the time, and those of all other"
        f" nodes for {min(others):.0f} % at least: they wait for it in a collective"
    )
    return Straggler(_find_node(nodes, title), rank if is_alone else None, 0, (text,))


def _list_loads(nodes: Sequence[JobNode]) -> Mapping[tuple[str, int], float]:
    return {
        (node.title, one.rank): one.gpu_percent
        for node in nodes
        for run in node.runs
        for one in run.ranks
        if one.gpu_percent is not None
    }


def _find_node(nodes: Sequence[JobNode], title: str) -> JobNode:
    return next(one for one in nodes if one.title == title)


def _duration(node: JobNode) -> float:
    return max((run.ended_at or run.at) - run.started_at for run in node.runs)
