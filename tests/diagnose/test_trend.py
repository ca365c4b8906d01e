"""Tests of the test for a fall: few flat series pass for a fall, and falling ones do.

The seeds are fixed, so the counts are always the same; the limits are those that the documentation
of the thresholds states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest

from gpualert_common.diagnose.phenomena.losses._trend import describe_fall, fit_falling

Make = Callable[[Random], list[float]]
LEVEL, NOISE = 2.3026, 0.02
Noisy = Callable[[int, float], Make]
"""Maker by the number of losses and the noise, as a part of the level."""


def noise(chance: Random, count: int, kept: float = 0.0) -> list[float]:
    """Return noise of variance 1, in which each value keeps this share of the one before."""
    value = chance.gauss(0, 1)
    found = []
    for _ in range(count):
        value = kept * value + math.sqrt(1 - kept * kept) * chance.gauss(0, 1)
        found.append(value)
    return found


def flat(count: int, kept: float = 0.0) -> Make:
    """Return a maker of flat series."""
    return lambda chance: [LEVEL + NOISE * one for one in noise(chance, count, kept)]


def warmed(count: int, kept: float = 0.0) -> Make:
    """Return a maker of flat series with one higher loss in front."""
    return lambda chance: [4.5, *flat(count - 1, kept)(chance)]


def averaged(chance: Random, count: int = 300, over: int = 20) -> list[float]:
    """Return the running mean of a flat series."""
    raw = noise(chance, count + over)
    return [LEVEL + NOISE * sum(raw[at : at + over]) / math.sqrt(over) for at in range(count)]


def rounded(chance: Random) -> list[float]:
    """Return a flat series with the few digits of a short format."""
    return [round(loss, 2) for loss in flat(200)(chance)]


def spiked(chance: Random) -> list[float]:
    """Return a flat series with heavy tails."""
    tail = (max(0.05, abs(chance.gauss(0, 1))) for _ in range(200))
    return [LEVEL + NOISE * one / by for one, by in zip(noise(chance, 200), tail, strict=True)]


def falling(count: int, by: float, deviation: float, rate: float = 0.0, kept: float = 0.0) -> Make:
    """Return a maker of series that fall by an amount, in a line or exponentially."""

    def make(chance: Random) -> list[float]:
        parts = [at / count for at in range(count)]
        fallen = [1 - math.exp(-rate * part) if rate else part for part in parts]
        rest = noise(chance, count, kept)
        return [3 - by * f + deviation * one for f, one in zip(fallen, rest, strict=True)]

    return make


FLAT: dict[str, Make] = {
    "20 losses": flat(20),
    "60 losses": flat(60),
    "300 losses": flat(300),
    "correlated by a half, 60 losses": flat(60, 0.5),
    "correlated by a half, 300 losses": flat(300, 0.5),
    "correlated by nine tenths, 300 losses": flat(300, 0.9),
    "running means": averaged,
    "one warm-up step, 24 losses": warmed(24),
    "one warm-up step, 300 losses": warmed(300),
    "rounded": rounded,
    "heavy tails": spiked,
}
SLOW: dict[str, tuple[Make, int]] = {
    "a line, by the deviation, in 300": (falling(300, 1.0, 1.0), 70),
    "a line, by two deviations, in 300": (falling(300, 2.0, 1.0), 99),
    "a line, by two deviations, in 60": (falling(60, 2.0, 1.0), 45),
    "a line, by four deviations, correlated": (falling(300, 4.0, 1.0, kept=0.9), 70),
    "exponential, in 20 epochs": (falling(20, 1.1, 0.02, rate=3), 99),
    "exponential, noisy": (falling(200, 1.1, 0.3, rate=3), 99),
    "at once, then level": (falling(300, 2.2, 0.03, rate=100), 99),
}
SERIES = 100


def count_falls(make: Make, series: int = SERIES) -> int:
    """Return how many of the series fell by the test."""
    chance = Random(20)
    return sum(describe_fall(make(chance)) is not None for _ in range(series))


def test_flat_series_rarely_fall() -> None:
    """Of 1,100 flat series at most one in a hundred passes for falling, and few of each kind."""
    falls = {name: count_falls(make) for name, make in FLAT.items()}
    assert max(falls.values()) <= 3, falls
    assert sum(falls.values()) <= SERIES * len(FLAT) // 100, falls


@pytest.mark.parametrize("name", SLOW)
def test_slow_falls_are_found(name: str) -> None:
    """A loss that falls slowly is found in most of its series."""
    make, least = SLOW[name]
    assert count_falls(make) >= least


def noisy(kept: float = 0.0, first: float | None = None, digits: int | None = None) -> Noisy:
    """Return a maker of few losses at a level, or with one higher loss in front, or rounded."""

    def of_size(count: int, part: float) -> Make:
        def make(chance: Random) -> list[float]:
            rest = noise(chance, count - (first is not None), kept)
            losses = [round(LEVEL * (1 + part * one), digits or 9) for one in rest]
            return losses if first is None else [first, *losses]

        return make

    return of_size


def noisy_means(count: int, part: float) -> Make:
    """Return a maker of running means over five, whose noise is that part of the level."""

    def make(chance: Random) -> list[float]:
        return [LEVEL + (one - LEVEL) * part * LEVEL / NOISE for one in averaged(chance, count, 5)]

    return make


def noisy_tails(count: int, part: float) -> Make:
    """Return a maker of few losses with heavy tails."""

    def make(chance: Random) -> list[float]:
        tail = [max(0.05, abs(chance.gauss(0, 1))) for _ in range(count)]
        rest = noise(chance, count)
        return [LEVEL * (1 + part * one / by) for one, by in zip(rest, tail, strict=True)]

    return make


FEW: dict[str, Noisy] = {
    "independent": noisy(),
    "correlated by a half": noisy(0.5),
    "correlated by nine tenths": noisy(0.9),
    "one warm-up step": noisy(first=4.5),
    "rounded": noisy(digits=2),
    "running means": noisy_means,
    "heavy tails": noisy_tails,
}


@pytest.mark.parametrize("count", [5, 7, 10, 15])
@pytest.mark.parametrize(("part", "most"), [(0.02, 1), (0.05, 3), (0.1, 40)])
def test_few_flat_losses_practically_never_fall(count: int, part: float, most: int) -> None:
    """Of 1,000 flat series of each kind hardly one passes, unless the noise is a tenth of the
    level; then the limits are those of the threshold."""
    falls = {name: count_falls(of_size(count, part), 1000) for name, of_size in FEW.items()}
    assert max(falls.values()) <= most, falls
    assert falls["independent"] <= 10, falls


@pytest.mark.parametrize(
    ("losses", "falls"),
    [
        ([0.7003, 0.3125, 0.1210, 0.0674, 0.0458], True),
        ([16, 8, 4, 2, 1], True),
        ([5 - n / 4 for n in range(19)], True),
        ([8, 4, 2, 1], False),
        ([2.33, 2.32, 2.30, 2.29, 2.28], False),
        ([4.5, 2.31, 2.305, 2.302, 2.301], False),
        ([3.0, 2.0, 2.1, 1.0, 0.5], False),
    ],
    ids=lambda value: f"{len(value)} from {value[0]:g}" if isinstance(value, list) else "",
)
def test_few_losses(losses: list[float], falls: bool) -> None:
    """Five losses that fall strictly, far and smoothly are enough; four, a small fall, and a fall
    by the first loss alone are not."""
    assert (describe_fall(losses) is not None) == falls


def test_rising_and_equal_losses() -> None:
    """A loss that rises, or never moves, does not fall."""
    assert describe_fall([1 + n / 100 for n in range(100)]) is None
    assert describe_fall([2.0] * 100) is None


def test_the_test_is_stated() -> None:
    """The words name the test and its figure."""
    assert "Mann-Kendall test" in (describe_fall([3 - n / 100 for n in range(100)]) or "")
    assert "on 5 losses: p = 0.008" in (describe_fall([16.0, 8.0, 4.0, 2.0, 1.0]) or "")
    start = describe_fall([9.0, 8.0, 7.0, *(1 + n % 5 / 100 for n in range(60))])
    assert start is not None
    assert "spreads" in start


def test_best_falling_curve() -> None:
    """Neighbours that rise share their mean."""
    assert fit_falling([3, 1, 2, 0]) == [3, 1.5, 1.5, 0]


def test_certain_drift_of_nothing() -> None:
    """A drift of less than a thousandth is certain over many steps, and does not count."""
    assert describe_fall([2.303 - n * 1e-6 for n in range(300)]) is None
