"""Estimated steps for lines with epochs but no steps."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.progress.model import Point, Progress, Start
from gpualert_common.progress.pairs import to_count
from gpualert_common.structs import replace

ESTIMATED = "the steps are estimated from the epochs"
BY_SUMMARY = "the steps are estimated from the epochs and the speed in a summary"


def add_estimated_steps(progress: Progress, tick: Point | None) -> Progress:
    """Return *progress* with steps for points that have an epoch only.

    The ratio is from lines with both, from the last *tick* of a bar and the last epoch, or from the
    speed in a summary.
    """
    every = (*progress.points, *progress.evals)
    if all(point.step is not None or not point.epoch for point in every):
        return progress
    both = [point for point in progress.points if point.step and point.epoch]
    epochs = [one.values["epoch"] for one in progress.endings if "epoch" in one.values]
    epochs += [point.epoch for point in progress.points[-1:] if point.epoch]
    note = ESTIMATED
    if both and both[-1].step and both[-1].epoch:
        pace, total = both[-1].step / both[-1].epoch, both[-1].total_steps
    elif tick is not None and tick.step and epochs and epochs[0]:
        pace, total = tick.step / epochs[0], tick.total_steps
    elif (steps := _count_summary_steps(progress)) and epochs and epochs[0]:
        # Steps done in some releases, steps planned in others: equal for a complete training.
        pace, total, note = steps / epochs[0], None, BY_SUMMARY
    else:
        return progress

    def add_steps(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple(
            replace(point, step=_estimate_step(point.epoch, pace, total), total_steps=total)
            if point.step is None
            else point
            for point in points
        )

    segments = tuple(
        replace(
            one,
            first_step=_estimate_missing(one.first_step, one.first_epoch, pace, total),
            second_step=_estimate_missing(one.second_step, one.second_epoch, pace, total),
            last_step=_estimate_missing(one.last_step, one.last_epoch, pace, total),
        )
        for one in progress.segments
    )
    return replace(
        progress,
        points=add_steps(progress.points),
        evals=add_steps(progress.evals),
        segments=segments,
        notes=(*progress.notes, note),
    )


def remove_estimated_steps(progress: Progress) -> Progress:
    """Return *progress* without the steps that are estimated from its summary."""
    if BY_SUMMARY not in progress.notes:
        return progress
    return replace(
        progress,
        points=tuple(replace(one, step=None) for one in progress.points),
        evals=tuple(replace(one, step=None) for one in progress.evals),
        segments=tuple(
            replace(one, first_step=None, second_step=None, last_step=None)
            for one in progress.segments
        ),
        notes=tuple(note for note in progress.notes if note != BY_SUMMARY),
        counts=replace(progress.counts, first_step=None, last_step=None),
    )


def _count_summary_steps(progress: Progress) -> int | None:
    """Return the number of steps by the summary of a training that started fresh."""
    if not progress.segments or progress.segments[0].start is not Start.FRESH:
        return None
    for ending in progress.endings:
        speed = ending.values.get("train_steps_per_second")
        seconds = ending.values.get("train_runtime")
        if speed is not None and seconds is not None:
            return to_count(speed * seconds + 0.5)
    return None


def _estimate_missing(
    step: int | None, epoch: float | None, pace: float, total: int | None
) -> int | None:
    return step if step is not None else _estimate_step(epoch, pace, total)


def _estimate_step(epoch: float | None, pace: float, total: int | None) -> int | None:
    """Return the step at an epoch, which is rounded: at most the *total* of the bar."""
    step = None if epoch is None else to_count(epoch * pace + 0.5)
    return step if step is None or total is None else min(step, total)
