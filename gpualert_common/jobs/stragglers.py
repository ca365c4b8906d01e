"""Stragglers: a node or a rank that is slower than the others of its job.

All ranks of a synchronous training make the same steps, so the times of whole steps agree, and the
rank that works while the others wait is the slow one.  Its own step time, where its log has one,
the clock of its GPUs, and its place in the collectives show it.  Two nodes cannot tell which of
them is slow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.diagnose.thresholds import LEAST_GPUS, STRAGGLER_RATIO
from gpualert_common.jobs.job_nodes import JobNode
from gpualert_common.median import median
from gpualert_common.structs import Struct

_LEAST_S = 120.0
"""Loading and compiling take the first minutes: until then, times of steps differ."""
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
    is_supported: bool


def find_straggler(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the straggler of a job; None without one, and without enough nodes to compare."""
    trained = [node for node in nodes if _duration(node) >= _LEAST_S]
    if len(trained) < LEAST_GPUS:
        return None
    signs = [
        sign
        for sign in (
            _find_slow_rank(trained),
            _find_slow_node({node.title: _pace(node) for node in trained}, trained, "a step takes"),
            _find_low_clock(trained),
            _find_busy_rank(trained),
        )
        if sign is not None
    ]
    if not signs:
        return None
    # The load alone is no proof: the others may wait for their data.
    first = signs[0]
    own = [one for one in signs if one.node.title == first.node.title]
    if first.rank is not None and len(signs) == 1 and first.percent == 0:
        return None
    return Straggler(
        first.node,
        next((one.rank for one in own if one.rank is not None), None),
        next((one.percent for one in own if one.percent), 0),
        tuple(text for one in own for text in one.texts),
        len(own) > 1,
    )


def _find_slow_rank(nodes: Sequence[JobNode]) -> Straggler | None:
    times = {
        (node.title, one.rank): one.step_s
        for node in nodes
        for run in node.runs
        for one in run.ranks
        if one.step_s is not None
    }
    if len(times) < LEAST_GPUS:
        return None
    (title, rank), slowest = max(times.items(), key=lambda one: one[1])
    usual = median(value for key, value in times.items() if key != (title, rank))
    if usual >= STRAGGLER_RATIO * slowest:
        return None
    node = next(one for one in nodes if one.title == title)
    text = f"a step of rank {rank} takes {slowest:.3g} s, and {usual:.3g} s on most other ranks"
    return Straggler(node, rank, round(100 * usual / slowest), (text,), False)


def _find_slow_node(
    times: Mapping[str, float | None], nodes: Sequence[JobNode], words: str
) -> Straggler | None:
    known = {title: value for title, value in times.items() if value is not None}
    if len(known) < LEAST_GPUS:
        return None
    title, slowest = max(known.items(), key=lambda one: one[1])
    usual = median(value for key, value in known.items() if key != title)
    if usual >= STRAGGLER_RATIO * slowest:
        return None
    node = next(one for one in nodes if one.title == title)
    text = f"{words} {slowest:.3g} s on {title}, and {usual:.3g} s on most other nodes"
    return Straggler(node, None, round(100 * usual / slowest), (text,), False)


def _find_low_clock(nodes: Sequence[JobNode]) -> Straggler | None:
    clocks = {
        node.title: run.clock_ratio
        for node in nodes
        for run in node.runs
        if run.clock_ratio is not None
    }
    if len(clocks) < LEAST_GPUS:
        return None
    title, lowest = min(clocks.items(), key=lambda one: one[1])
    usual = median(value for key, value in clocks.items() if key != title)
    if lowest >= STRAGGLER_RATIO * usual:
        return None
    node = next(one for one in nodes if one.title == title)
    text = (
        f"a GPU of {title} ran at {round(100 * lowest)} % of its highest clock, and those of most"
        f" other nodes at {round(100 * usual)} %"
    )
    return Straggler(node, None, round(100 * lowest / usual), (text,), False)


def _find_busy_rank(nodes: Sequence[JobNode]) -> Straggler | None:
    """Return the only rank that works while the GPUs of most others wait."""
    loads = {
        (node.title, one.rank): one.gpu_percent
        for node in nodes
        for run in node.runs
        for one in run.ranks
        if one.gpu_percent is not None
    }
    if len(loads) < LEAST_GPUS:
        return None
    (title, rank), highest = max(loads.items(), key=lambda one: one[1])
    others = [value for key, value in loads.items() if key != (title, rank)]
    if highest < _BUSY_PERCENT or max(others) >= STRAGGLER_RATIO * highest:
        return None
    node = next(one for one in nodes if one.title == title)
    text = (
        f"the GPU of rank {rank} was busy for {highest:.0f} % of the time, and those of all others"
        f" for {max(others):.0f} % at most: they wait for it"
    )
    return Straggler(node, rank, 0, (text,), False)


def _duration(node: JobNode) -> float:
    return max((run.ended_at or run.at) - run.started_at for run in node.runs)


def _pace(node: JobNode) -> float | None:
    return max((run.pace_s for run in node.runs if run.pace_s is not None), default=None)
