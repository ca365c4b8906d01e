"""Tests for a fall of the loss beyond its own noise: for a trend, for its start, for few losses.

**Trend.**  The one-sided test of Mann and Kendall, on the medians of blocks.  A block is so long
that neighbouring medians hardly depend on each other: some correlation times of the noise, which is
the series without its best falling curve (isotonic regression).  The probability of so many falling
pairs by chance is exact, so it also holds for few blocks.  A fall of less than a thousandth does
not count: over many steps, any drift is beyond the noise.

**Start.**  A loss that fell at once and stays there has no trend.  It fell if its first losses are
all above each later one, by more than the spread of the second half allows.  A single first loss,
that of an initialization, does not count.

**Few losses.**  Of 5 to 19 losses no block can be formed, and how the noise depends on its
neighbours is not known.  So the test for a trend, on the losses themselves, is not enough: the last
third must also be far below the first, both as a part of it and by the noise from step to step.
That noise is the mean square of second differences: a smooth curve has small ones, and a fall by
chance, or after a single high loss, has not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise

from gpualert_common.diagnose import training_thresholds
from gpualert_common.median import median

_BLOCK_LOSSES = 3
"""The median of three is that of two, where one is an outlier."""
_MOST_BLOCKS = 30
_FIRST_LOSSES = 3
_NOISES_IN_A_BEND = 6
"""The variance of a second difference of independent values is 1 + 4 + 1 times theirs."""


def describe_fall(losses: Sequence[float]) -> str | None:
    """Return in words the test by which *losses* fell; None where they did not, or are too few."""
    if len(losses) < training_thresholds.LEAST_POINTS:
        return _describe_short_fall(losses)
    blocks = _split_blocks(losses)
    chance = _chance_of_trend(blocks)
    is_certain = chance <= training_thresholds.TREND_CHANCE
    if is_certain and _fell_by(training_thresholds.LEAST_FALL, blocks):
        return f"Mann-Kendall test on the medians of {len(blocks)} parts: p = {chance:.1g}"
    spreads = _measure_start(losses)
    if spreads >= training_thresholds.START_SPREADS:
        return f"the first losses are {spreads:.2g} spreads of the second half above it"
    return None


def _describe_short_fall(losses: Sequence[float]) -> str | None:
    """Return in words the test by which few losses fell; None where they did not."""
    if len(losses) < training_thresholds.FEWEST_POINTS:
        return None
    chance = _chance_of_trend(losses)
    if chance > training_thresholds.SHORT_TREND_CHANCE:
        return None
    noises = _count_noises(losses)
    if noises < training_thresholds.SHORT_NOISES:
        return None
    if not _fell_by(training_thresholds.SHORT_FALL, losses):
        return None
    fall = f"a fall by {noises:.2g} times the noise" if noises < math.inf else "a fall in a line"
    return f"Mann-Kendall test on {len(losses)} losses: p = {chance:.1g}; {fall}"


def _fell_by(part: float, levels: Sequence[float]) -> bool:
    """Return whether the last third of the levels is lower than the first by that part of it."""
    began, ended = _find_ends(levels)
    return began - ended >= part * abs(began)


def _find_ends(levels: Sequence[float]) -> tuple[float, float]:
    """Return the medians of the first and of the last third."""
    third = max(1, len(levels) // 3)
    return median(levels[:third]), median(levels[-third:])


def _count_noises(losses: Sequence[float]) -> float:
    """Return the fall in standard deviations of the noise from step to step."""
    began, ended = _find_ends(losses)
    bends = [a - 2 * b + c for a, b, c in zip(losses, losses[1:], losses[2:], strict=False)]
    noise = math.sqrt(sum(bend * bend for bend in bends) / len(bends) / _NOISES_IN_A_BEND)
    return (began - ended) / noise if noise else math.inf


def _split_blocks(losses: Sequence[float]) -> list[float]:
    """Return the medians of blocks of equal length; of a rest the first losses are left out."""
    each = max(
        _BLOCK_LOSSES,
        math.ceil(training_thresholds.BLOCK_CORRELATIONS * _correlation_time(losses)),
        -(-len(losses) // _MOST_BLOCKS),
    )
    return [median(losses[at : at + each]) for at in range(len(losses) % each, len(losses), each)]


def _correlation_time(losses: Sequence[float]) -> float:
    """Return the number of losses that hold as much as one of independent ones, at least 1."""
    noise = [loss - level for loss, level in zip(losses, fit_falling(losses), strict=True)]
    power = sum(one * one for one in noise)
    if not power:
        return 1.0
    lagged = sum(one * after for one, after in pairwise(noise)) / power
    kept = min(max(0.0, lagged), training_thresholds.MOST_CORRELATION)
    return (1 + kept) / (1 - kept)


def fit_falling(losses: Sequence[float]) -> list[float]:
    """Return the best curve that never rises: pooled means of neighbours that do."""
    pools: list[tuple[float, int]] = []
    for loss in losses:
        mean, count = loss, 1
        while pools and pools[-1][0] < mean:
            before, more = pools.pop()
            mean, count = (before * more + mean * count) / (more + count), more + count
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


def _chance_of_trend(levels: Sequence[float]) -> float:
    """Return the probability of at least so many falling pairs among independent levels."""
    falls = sum((a > b) - (a < b) for a, b in combinations(levels, 2))
    return _chance_of_score(len(levels), falls)


def _chance_of_score(count: int, falls: int) -> float:
    """Return the probability of at least *falls* more falling than rising pairs among *count*."""
    most_rising = (count * (count - 1) // 2 - falls) // 2
    return min(1.0, sum(_share_by_rises(count)[: most_rising + 1]))


@cache
def _share_by_rises(count: int) -> tuple[float, ...]:
    """Return the share of the orders of *count* values that have 0, 1, 2, ... rising pairs."""
    shares: tuple[float, ...] = (1.0,)
    for length in range(2, count + 1):
        most = len(shares) + length - 1
        shares = tuple(sum(shares[max(0, at - length + 1) : at + 1]) / length for at in range(most))
    return shares


def _measure_start(losses: Sequence[float]) -> float:
    """Return by how many spreads of the second half the lowest of the first losses is above it.

    Returns 0 where a later loss is as high.
    """
    first, rest = losses[:_FIRST_LOSSES], losses[len(losses) // 2 :]
    lowest, level = min(first), median(rest)
    if lowest <= max(rest):
        return 0.0
    spread = math.sqrt(sum((loss - level) ** 2 for loss in rest) / len(rest))
    return (lowest - level) / spread if spread else math.inf
