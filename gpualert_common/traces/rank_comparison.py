"""Comparison of the ranks of a run: the one that the others wait for, and by what it is slower.

Ranks meet in collectives.  The rank that comes last waits for nobody, so it has the least time in
communication, and the others have the time that they wait for it.  Whatever it has more of is what
it is slower by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpualert_common.median import median
from gpualert_common.traces.analysis import (
    MOST_NAMES,
    DelayKind,
    GapKind,
    RankAnalysis,
    RankComparison,
    StepRule,
    StepTimes,
    TracedDevice,
    TraceDelay,
)
from gpualert_common.traces.rank_noise import find_chance
from gpualert_common.traces.work_kinds import (
    COMPUTE,
    WorkKind,
    classify_kernel,
    classify_operator,
)

LEAST_WAIT_SHARE = 0.05
"""Part of a step that the others wait, below which a rank is not called slow: repeated runs of one
training differ by as much."""
LEAST_WAIT_S = 0.001
"""Shortest such wait: what a busy machine takes from a process now and then is shorter."""
LEAST_WAIT_WITHOUT_STEPS = 0.2
"""The same part for fewer than three steps, of which the spread is not known."""
_LEAST_STEPS = 3
_MOST_CHANCE = 0.005
"""Chance of as long a wait among ranks that do the same."""
_LEAST_EXPLAINED = 0.5
"""Part of the wait that one kind of work must explain."""
_MOST_LENGTH_RATIO = 1.2
"""Ranks whose steps differ more in length do not make them together."""

_WORK: dict[DelayKind, Callable[[StepTimes], float]] = {
    DelayKind.COMPUTE: lambda step: step.compute_s,
    DelayKind.COPIES: lambda step: step.work.copies_s,
    DelayKind.INPUT: lambda step: step.work.input_s,
}


def compare_ranks(ranks: Sequence[RankAnalysis]) -> RankComparison:
    """Return the rank that the others wait for, or the reason why none is decided."""
    obstacle = _find_obstacle(ranks)
    if obstacle:
        return RankComparison(obstacle=obstacle)
    steps = {index: one.steps or (one.total,) for index, one in enumerate(ranks)}
    waits = {index: _mean(own, _communication) for index, own in steps.items()}
    slow = min(waits, key=lambda index: waits[index])
    others = [index for index in steps if index != slow]
    wait_s = median(waits[index] for index in others) - waits[slow]
    step_s = median(_mean(own, lambda one: one.duration_s) for own in steps.values())
    doubt = _find_doubt(wait_s, step_s, [*steps.values()], slow)
    if doubt:
        return RankComparison(doubt=doubt)
    excess = {
        kind: _mean(steps[slow], read) - median(_mean(steps[index], read) for index in others)
        for kind, read in _readers(ranks[slow].device).items()
    }
    kind = max(excess, key=lambda one: excess[one])
    is_explained = excess[kind] >= _LEAST_EXPLAINED * wait_s
    return RankComparison(
        TraceDelay(
            rank=ranks[slow].rank,
            kind=kind if is_explained else DelayKind.UNKNOWN,
            wait_s=wait_s,
            excess_s=excess[kind] if is_explained else 0.0,
            step_s=step_s,
            detail=_find_detail(ranks, slow, kind, wait_s) if is_explained else "",
        )
    )


def _find_detail(ranks: Sequence[RankAnalysis], slow: int, kind: DelayKind, wait_s: float) -> str:
    """Return the name of which the slow rank has so much more that it explains the wait."""
    lists = [_list_times(one, kind) for one in ranks]
    others = [one for index, one in enumerate(lists) if index != slow]
    excess = {
        name: time - median(one.times.get(name, one.unlisted_s) for one in others)
        for name, time in lists[slow].times.items()
    }
    name = max(excess, key=lambda one: excess[one], default="")
    return name if name and excess[name] >= _LEAST_EXPLAINED * wait_s else ""


class _NamedTimes(NamedTuple):
    """Times in each step by name; ``unlisted_s`` is the longest that another name may have."""

    times: dict[str, float]
    unlisted_s: float = 0.0


def _list_times(one: RankAnalysis, kind: DelayKind) -> _NamedTimes:
    """Return the times of the names that work of the kind may have."""
    if kind is DelayKind.INPUT:
        return _NamedTimes({})
    steps = max(1, one.step_count)
    if kind is DelayKind.CPU:
        every = {gap.label: gap.total_s / steps for gap in one.gaps}
        listed = [gap.label for gap in one.gaps if gap.kind != GapKind.INPUT]
    else:
        is_gpu = one.device is TracedDevice.GPU
        classify = classify_kernel if is_gpu else classify_operator
        kinds = COMPUTE if kind is DelayKind.COMPUTE else (WorkKind.COPIES,)
        names = one.kernels if is_gpu else one.operators
        every = {each.name: each.total_s / steps for each in names}
        listed = [name for name in every if classify(name) in kinds]
    is_full = len(every) >= MOST_NAMES
    return _NamedTimes(
        {name: every[name] for name in listed}, min(every.values()) if is_full else 0.0
    )


def _readers(device: TracedDevice) -> dict[DelayKind, Callable[[StepTimes], float]]:
    """Return how to read each kind of work; on a GPU the wait for data is a part of the gaps."""

    def read_cpu(step: StepTimes) -> float:
        return step.idle_s - (step.work.input_s if device is TracedDevice.GPU else 0.0)

    return {**_WORK, DelayKind.CPU: read_cpu}


def _find_obstacle(ranks: Sequence[RankAnalysis]) -> str:
    """Return why ranks cannot be compared at all, empty if they can."""
    if len(ranks) < 2:
        return "there is only one rank"
    if len({one.device for one in ranks}) > 1:
        return "some ranks have work on a GPU and some have none"
    without = [one.rank for one in ranks if not one.total.work.communication_s]
    if len(without) == len(ranks):
        return "no rank has communication in its trace"
    if without:
        return f"{', '.join(without[:4])} has no communication in its trace"
    rules = {one.step_rule for one in ranks}
    if len(rules) > 1:
        return "the steps of the ranks are found by different signs"
    lengths = [
        (one.total.duration_s / one.step_count if one.step_count else one.total.duration_s)
        for one in ranks
    ]
    if min(lengths) <= 0 or max(lengths) > _MOST_LENGTH_RATIO * min(lengths):
        return "the steps of the ranks have different lengths"
    if rules == {StepRule.REPETITION} and len({one.step_sign for one in ranks}) > 1:
        return "the steps of the ranks are found by different signs"
    return ""


def _find_doubt(
    wait_s: float, step_s: float, ranks: Sequence[Sequence[StepTimes]], slow: int
) -> str:
    """Return why the wait is no sign of a slow rank, empty if it is one."""
    count = min(map(len, ranks))
    has_steps = count >= _LEAST_STEPS
    least = LEAST_WAIT_SHARE if has_steps else LEAST_WAIT_WITHOUT_STEPS
    if wait_s < max(LEAST_WAIT_S, least * step_s):
        return (
            f"the ranks differ by {wait_s * 1e3:.1f} ms in communication, in steps of "
            f"{step_s * 1e3:.1f} ms: that is within the noise"
        )
    times = [[_communication(one) for one in steps[:count]] for steps in ranks]
    if has_steps and find_chance(times, slow) > _MOST_CHANCE:
        return "the communication of each rank differs as much from step to step"
    return ""


def _communication(step: StepTimes) -> float:
    return step.work.communication_s


def _mean(steps: Sequence[StepTimes], read: Callable[[StepTimes], float]) -> float:
    return sum(read(one) for one in steps) / len(steps)
