"""Trainings in a log: losses can be compared only within one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from gpualert_common.diagnose import training_thresholds
from gpualert_common.median import median
from gpualert_common.progress import Point, Progress


def split_trainings(progress: Progress) -> list[list[Point]]:
    """Return the points with a finite loss of each training in a log, in their order.

    Where steps start over and the loss continues, the training continues: its steps are counted
    per epoch.  Otherwise another one begins, as the next trial of a sweep or the next stage.
    """
    finite = [one for one in progress.points if one.loss is not None and math.isfinite(one.loss)]
    trainings: list[list[Point]] = []
    for _segment, points in groupby(finite, key=lambda one: one.segment):
        stretch = list(points)
        if trainings and _continues(trainings[-1], stretch):
            trainings[-1] += stretch
        else:
            trainings.append(stretch)
    return trainings


def level(points: Sequence[Point]) -> float:
    """Return the median of the losses of *points*."""
    return median(point.loss for point in points if point.loss is not None)


def _continues(before: Sequence[Point], after: Sequence[Point]) -> bool:
    few = max(1, min(int(training_thresholds.LEVEL_LOSSES), len(after) // 4))
    last = level(before[-few:])
    return level(after[:few]) <= last + (training_thresholds.GOES_ON_LOSS_JUMP - 1) * abs(last)
