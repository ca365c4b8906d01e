"""The losses of a log that can be compared with each other: those of one training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from gpualert_common.diagnose import thresholds
from gpualert_common.progress import Point, Progress

_FEW = 5


def trainings_of(progress: Progress) -> list[list[Point]]:
    """The points with a finite loss of each training that the log tells of, in its order.

    Steps that start over go on with a training where the loss does, as those that are counted anew
    in each epoch; else another one begins: the next trial of a sweep, or the next stage.
    """
    told = [one for one in progress.points if one.loss is not None and math.isfinite(one.loss)]
    trainings: list[list[Point]] = []
    for _segment, points in groupby(told, key=lambda one: one.segment):
        stretch = list(points)
        if trainings and _goes_on(trainings[-1], stretch):
            trainings[-1] += stretch
        else:
            trainings.append(stretch)
    return trainings


def level(points: Sequence[Point]) -> float:
    """The median of their losses."""
    return median(point.loss for point in points if point.loss is not None)


def _goes_on(before: Sequence[Point], after: Sequence[Point]) -> bool:
    few = max(1, min(_FEW, len(after) // 4))
    last = level(before[-few:])
    return level(after[:few]) <= last + (thresholds.GOES_ON_LOSS_JUMP - 1) * abs(last)
