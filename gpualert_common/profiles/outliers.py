"""Ranks that spend a clearly larger share of their time in a frame than the others.

Each rank is compared with the median of the other ranks, which a few slow ranks do not move.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

_LEAST_SAMPLES = 20
"""Ranks with fewer are not compared."""
_LEAST_EXCESS = 0.10
"""Least difference of two shares.  The processes are not sampled for exactly the same seconds,
and the ends of these cut a step: of ten steps, that shifts a share by up to a twentieth."""
_SIGMAS = 5.0
"""Standard deviations of the noise of the samples.  A profile of 64 ranks has some 10,000 shares;
5 sigma raise one in 3 million."""
_SPREADS = 4.0
"""Robust standard deviations between the other ranks: ranks of a pipeline differ by themselves."""
_MAD_TO_SIGMA = 1.4826


def list_compared(samples: Sequence[int]) -> list[int]:
    """Return the columns of the ranks with enough samples."""
    return [column for column, total in enumerate(samples) if total >= _LEAST_SAMPLES]


def find_outliers(counts: Sequence[int], samples: Sequence[int]) -> tuple[int, ...]:
    """Return the columns of the ranks that spend a clearly larger share than the others.

    Of hundreds of ranks the values are sorted once, and not again for each of them.
    """
    columns = list_compared(samples)
    if len(columns) < 2:
        return ()
    shares = {column: min(1.0, counts[column] / samples[column]) for column in columns}
    ordered = sorted(shares.values())
    if ordered[-1] - ordered[0] < _LEAST_EXCESS:
        return ()
    sizes = sorted(samples[column] for column in columns)
    deviations: dict[float, list[float]] = {}
    found = []
    for column, share in shares.items():
        usual = _find_median_without(ordered, share)
        excess = share - usual
        if excess < _LEAST_EXCESS:
            continue
        if usual not in deviations:
            deviations[usual] = sorted(abs(one - usual) for one in ordered)
        spread = _MAD_TO_SIGMA * _find_median_without(deviations[usual], excess)
        size = samples[column]
        noise = _measure_noise(share, size, usual, _find_median_without(sizes, size))
        if excess >= max(_SIGMAS * noise, _SPREADS * spread):
            found.append(column)
    return tuple(found)


def _find_median_without(ordered: Sequence[float], value: float) -> float:
    """Return the median of sorted values without this one of them."""
    gone = bisect_left(ordered, value)
    half = (len(ordered) - 1) // 2
    upper = ordered[half + (half >= gone)]
    return upper if len(ordered) % 2 == 0 else (ordered[half - 1 + (half > gone)] + upper) / 2


def _measure_noise(one: float, one_size: float, other: float, other_size: float) -> float:
    """Return the standard deviation of the difference of two shares of so many samples."""
    pooled = (one * one_size + other * other_size) / (one_size + other_size)
    return math.sqrt(pooled * (1 - pooled) * (1 / one_size + 1 / other_size))
