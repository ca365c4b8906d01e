"""Steps for lines that tell but epochs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpualert_common.progress.model import Point, Progress, Start
from gpualert_common.progress.pairs import count_of

ESTIMATED = "the steps are estimated from the epochs"
BY_SUMMARY = "the steps are estimated from the epochs and the speed that a summary tells"


def paced(progress: Progress, tick: Point | None) -> Progress:
    """*progress* with steps where its lines tell but epochs: by the lines that tell both, by the
    last *tick* of a bar and the last epoch, or by what a summary says of the speed.
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
    elif (steps := _steps_in_all(progress)) and epochs and epochs[0]:
        # What was done in some releases, what was meant in others: right for a whole training.
        pace, total, note = steps / epochs[0], None, BY_SUMMARY
    else:
        return progress

    def stepped(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple(
            replace(point, step=_step(point.epoch, pace), total_steps=total)
            if point.step is None
            else point
            for point in points
        )

    segments = tuple(
        replace(
            one,
            first_step=_or_by_epoch(one.first_step, one.first_epoch, pace),
            second_step=_or_by_epoch(one.second_step, one.second_epoch, pace),
            last_step=_or_by_epoch(one.last_step, one.last_epoch, pace),
        )
        for one in progress.segments
    )
    return replace(
        progress,
        points=stepped(progress.points),
        evals=stepped(progress.evals),
        segments=segments,
        notes=(*progress.notes, note),
    )


def unpaced(progress: Progress) -> Progress:
    """*progress* without steps that are known by its summary alone, for whoever knows better."""
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


def _steps_in_all(progress: Progress) -> int | None:
    """By the summary of a training that began at its beginning."""
    if not progress.segments or progress.segments[0].start is not Start.FRESH:
        return None
    for ending in progress.endings:
        speed = ending.values.get("train_steps_per_second")
        seconds = ending.values.get("train_runtime")
        if speed is not None and seconds is not None:
            return count_of(speed * seconds + 0.5)
    return None


def _or_by_epoch(step: int | None, epoch: float | None, pace: float) -> int | None:
    return step if step is not None else _step(epoch, pace)


def _step(epoch: float | None, pace: float) -> int | None:
    return None if epoch is None else count_of(epoch * pace + 0.5)
