"""Noise of a comparison of ranks: the chance that ranks which do the same differ as much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpualert_common.median import median

_OWN_WEIGHT = 0.1
"""Weight of the noise of one rank, which few steps do not tell exactly: it raises a doubt only
where it explains a difference easily."""
_MOST_FREEDOM = 1000
"""Degrees of freedom from which on more of them change nothing."""


def find_chance(times: Sequence[Sequence[float]], low: int) -> float:
    """Return the chance that the lowest of even ranks is as far below the others as *low* is.

    *times* has a row for each rank and a column for each step, at least two of both.  What all
    ranks have in common in a step is no noise.  The noise is that of all ranks, so that few steps
    are enough for it; since some ranks may have more noise than others, that of the low rank alone
    raises the chance where it explains the difference, too.
    """
    ranks, steps = len(times), len(times[0])
    others = [row for index, row in enumerate(times) if index != low]
    usual = [median(column) for column in zip(*others, strict=True)]
    differences = [other - own for other, own in zip(usual, times[low], strict=True)]
    difference = median(map(_mean, others)) - _mean(times[low])
    common = ranks * find_tail(
        _divide(difference, _measure_noise(times) * math.sqrt((1 + 2 / ranks) / steps)),
        (ranks - 1) * (steps - 1),
    )
    own = find_tail(
        _divide(difference, math.sqrt(_sum_squares(differences) / (steps - 1) / steps)), steps - 1
    )
    return max(common, _OWN_WEIGHT * own)


def find_tail(value: float, freedom: int) -> float:
    """Return the chance that Student's distribution exceeds a value.

    The sum is that of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    freedom = min(freedom, _MOST_FREEDOM)
    angle = math.atan2(value, math.sqrt(freedom))
    square = math.cos(angle) ** 2
    is_odd = freedom % 2
    term = math.sin(angle) * (math.cos(angle) if is_odd else 1.0)
    inner = 0.0
    for order in range(is_odd, freedom - 1, 2):
        inner += term
        term *= square * (order + 1) / (order + 2)
    if is_odd:
        inner = 2 / math.pi * (angle + inner)
    return max(0.0, (1 - inner) / 2)


def _measure_noise(times: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation, without what all steps of a rank and all ranks share."""
    steps = [_mean(column) for column in zip(*times, strict=True)]
    rows = ([one - step for one, step in zip(row, steps, strict=True)] for row in times)
    freedom = (len(times) - 1) * (len(steps) - 1)
    return math.sqrt(sum(map(_sum_squares, rows)) / freedom)


def _sum_squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return sum((one - mean) ** 2 for one in values)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _divide(difference: float, error: float) -> float:
    return difference / error if error > 0 else math.inf
