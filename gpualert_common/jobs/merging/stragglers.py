"""Stragglers: a node or a rank that is slower than the others of its job.

All ranks of a synchronous training make the same steps, so the times of whole steps agree, and the
rank that works while the others wait is the slow one.  Its own step time, where its log has one,
the clock of its GPUs, and its place in the collectives show it.  Two nodes cannot tell which of
them is slow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.diagnose.thresholds import LEAST_GPUS, STRAGGLER_RATIO
from gpualert_common.jobs.merging.job_nodes import JobNode
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

    ``texts`` are what shows it.  ``is_supported`` says that two measurements agree on the node.
    """

    node: JobNode
    rank: int | None
    percent: int
    texts: tuple[str, ...]
    is_supported: bool = False


_Place = tuple[JobNode, int | None]
"""A node, and a rank on it where the value is that of one rank."""


def find_straggler(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the straggler of a job; None without one, and without enough nodes to compare."""
    trained = [node for node in nodes if _duration(node) >= _LEAST_S]
    if len(trained) < LEAST_GPUS:
        return None
    signs = [
        sign
        for sign in (
            _find_slow_rank(trained),
            _find_slow_node(trained),
            _find_low_clock(trained),
            _find_starved_rank(trained),
        )
        if sign is not None
    ]
    if not signs:
        return None
    # A busy rank alone is no proof: the others may wait for their data.
    busy = _find_busy_rank(trained)
    first = signs[0]
    own = [one for one in (*signs, busy) if one and one.node is first.node]
    return Straggler(
        first.node,
        next((one.rank for one in own if one.rank is not None), None),
        next((one.percent for one in own if one.percent), 0),
        tuple(text for one in own for text in one.texts),
        len(own) > 1,
    )


def _find_slow_rank(nodes: Sequence[JobNode]) -> Straggler | None:
    times: dict[_Place, float] = {
        (node, one.rank): one.step_s
        for node in nodes
        for run in node.runs
        for one in run.ranks
        if one.step_s is not None
    }
    found = _find_outlier(times)
    if found is None:
        return None
    node, rank, slowest, usual = found
    text = f"a step of rank {rank} takes {slowest:.3g} s, and {usual:.3g} s on most other ranks"
    return Straggler(node, rank, round(100 * usual / slowest), (text,))


def _find_slow_node(nodes: Sequence[JobNode]) -> Straggler | None:
    times: dict[_Place, float] = {
        (node, None): pace for node in nodes if (pace := _find_pace(node)) is not None
    }
    found = _find_outlier(times)
    if found is None:
        return None
    node, _, slowest, usual = found
    text = f"a step takes {slowest:.3g} s on {node.title}, and {usual:.3g} s on most other nodes"
    return Straggler(node, None, round(100 * usual / slowest), (text,))


def _find_low_clock(nodes: Sequence[JobNode]) -> Straggler | None:
    slowness: dict[_Place, float] = {
        (node, None): 1 / run.clock_ratio
        for node in nodes
        for run in node.runs
        if run.clock_ratio is not None
    }
    found = _find_outlier(slowness)
    if found is None:
        return None
    node, _, slowest, usual = found
    text = (
        f"a GPU of {node.title} ran at {round(100 / slowest)} % of its highest clock, and those of"
        f" most other nodes at {round(100 / usual)} %"
    )
    return Straggler(node, None, round(100 * usual / slowest), (text,))


def _find_outlier(
    values: Mapping[_Place, float],
) -> tuple[JobNode, int | None, float, float] | None:
    """Return the node and rank with the highest value, that value, and the usual one.

    None where it is not far from the others, or where many nodes are: then it is a part of the job
    that has more work.
    """
    if len(values) < LEAST_GPUS:
        return None
    (node, rank), slowest = max(values.items(), key=lambda one: (one[1], one[0][0].title))
    usual = median(value for key, value in values.items() if key != (node, rank))
    if usual >= STRAGGLER_RATIO * slowest:
        return None
    slow = {key[0] for key, value in values.items() if usual < STRAGGLER_RATIO * value}
    if len(slow) > max(1, len({key[0] for key in values}) // _MOST_SLOW):
        return None
    return node, rank, slowest, usual


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


def _find_pace(node: JobNode) -> float | None:
    return max((run.pace_s for run in node.runs if run.pace_s is not None), default=None)
