"""Losses that stay at chance level: where a model is that guesses among its classes or words.

A model that gives each of C classes the same probability has a loss of ln C.  Losses stay there if
the medians of all parts after the first quarter are within a hundredth of ln C, and do not fall.
C is known from a number of classes, or the size of a vocabulary, in the log; or from an accuracy of
1/C next to a loss of ln C; another accuracy speaks against it.  Without such a sign a loss near
ln C of a usual C may be a coincidence: then the level is not sure, and only keeps a run from being
called healthy.

A run of few steps, and one whose learning rate still rises at its end, stays there for other
reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpualert_common.diagnose import training_thresholds
from gpualert_common.diagnose.phenomena.losses._trend import describe_fall
from gpualert_common.median import median
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import Point, Progress
from gpualert_common.structs import Struct

_USUAL = (2, 10, 100, 1000)
"""Classes of the usual data sets."""
_PARTS = 6
_LEAST_ACCURACIES = 3


class ChanceLevel(Struct, frozen=True):
    """The level of guessing among ``count`` classes, and the sign that there are so many.

    ``claim`` is None if the number of classes is not known.
    """

    count: int
    sign: str
    claim: Claim | None = None

    def __str__(self) -> str:
        """Return the level in words."""
        return f"ln({self.count}) = {math.log(self.count):.4g}, the loss of guessing"


def find_chance_level(points: Sequence[Point], progress: Progress) -> ChanceLevel | None:
    """Return the chance level at which the losses of a training stay; None for none."""
    settled = points[len(points) // 4 :]
    losses = [point.loss for point in settled if point.loss is not None]
    accuracies = [point.accuracy for point in settled if point.accuracy is not None]
    has_accuracy = len(accuracies) >= _LEAST_ACCURACIES
    least = training_thresholds.CHANCE_POINTS if has_accuracy else training_thresholds.LEAST_POINTS
    if len(points) < least or _is_short(points) or _is_warming_up(points):
        return None
    if describe_fall(losses) is not None:
        return None
    each = max(1, len(losses) // _PARTS)
    levels = [median(losses[at : at + each]) for at in range(0, len(losses) - each + 1, each)]
    fitting = [
        one
        for one in progress.outputs
        if _are_at(levels, one.count)
        and (not has_accuracy or _is_share(median(accuracies), one.count))
    ]
    if fitting:
        stated = min(fitting, key=lambda one: abs(math.log(one.count) - median(losses)))
        where = LogLocation(stated.file, stated.line, stated.offset)
        return ChanceLevel(stated.count, stated.text, Claim(stated.text, "log", where))
    count = round(math.exp(median(losses))) if 0.5 < median(losses) < _MOST_LOSS else 0
    if has_accuracy and _are_at(levels, count) and _is_share(median(accuracies), count):
        accuracy = next(one for one in reversed(settled) if one.accuracy is not None)
        where = LogLocation(accuracy.file, accuracy.line, accuracy.offset)
        text = f"the accuracy is {accuracy.accuracy:g}, about 1/{count}"
        return ChanceLevel(count, text, Claim(text, "progress", where))
    usual = next((one for one in _USUAL if _are_at(levels, one)), None)
    return None if usual is None else ChanceLevel(usual, "")


_MOST_LOSS = math.log(1e4)
"""Beyond so many classes an accuracy of 1/C is printed as 0."""


def _are_at(levels: Sequence[float], count: int) -> bool:
    if count < 2:
        return False
    at = math.log(count)
    return all(abs(level - at) <= training_thresholds.CHANCE_DISTANCE * at for level in levels)


def _is_share(accuracy: float, count: int) -> bool:
    """Return whether an accuracy, as a share or in percent, is that of guessing."""
    off = training_thresholds.CHANCE_ACCURACY * (1 - 1 / count)
    return any(abs(share * count - 1) <= off for share in (accuracy, accuracy / 100))


def _is_short(points: Sequence[Point]) -> bool:
    """Return whether the training is known to have made few steps."""
    first, last = points[0].step, points[-1].step
    return (
        first is not None and last is not None and last - first < training_thresholds.CHANCE_STEPS
    )


def _is_warming_up(points: Sequence[Point]) -> bool:
    rates = [point.learning_rate for point in points if point.learning_rate is not None]
    return len(rates) > 1 and rates[-1] == max(rates) and rates[0] < rates[-1] / 2
