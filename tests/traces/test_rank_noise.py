"""Chance in the comparison of ranks: even ranks, and a slow one, with noise from step to step."""

from __future__ import annotations

import math

import numpy
import pytest

from gpualert_common.traces.analysis import (
    DelayKind,
    RankAnalysis,
    RankComparison,
    StepRule,
    StepTimes,
    TracedDevice,
    WorkTimes,
)
from gpualert_common.traces.rank_comparison import compare_ranks
from gpualert_common.traces.rank_noise import find_tail

RUNS = 1000
STEP_S = 0.1
COLLECTIVE_S = 0.005


def make_rank(rank: int, computing: list[float], ends: list[float]) -> RankAnalysis:
    """Return the analysis of a rank that computes, and then waits for the end of each step."""
    steps = [make_step(one, end) for one, end in zip(computing, ends, strict=True)]
    total = make_step(sum(computing), sum(ends))
    return RankAnalysis(
        rank=f"rank:{rank}",
        pid=0,
        path="",
        device=TracedDevice.GPU,
        step_rule=StepRule.PROFILER,
        step_sign="",
        total=total,
        step_count=len(steps),
        steps=tuple(steps),
    )


def make_step(compute_s: float, duration_s: float) -> StepTimes:
    """Return the times of a step without gaps."""
    wait_s = duration_s - compute_s
    work = WorkTimes(matmul_s=compute_s, communication_s=wait_s)
    return StepTimes("", 0.0, duration_s, work, duration_s, 0.0, compute_s, 0.0, wait_s)


def compare(
    chance: numpy.random.Generator, ranks: int, steps: int, noise: float, slow_s: float = 0.0
) -> RankComparison:
    """Return the comparison of ranks of which the last one computes for longer."""
    computing = STEP_S * chance.normal(1.0, noise, (ranks, steps))
    computing[-1] += slow_s
    ends = (computing.max(axis=0) + COLLECTIVE_S).tolist()
    return compare_ranks(
        [make_rank(rank, row.tolist(), ends) for rank, row in enumerate(computing)]
    )


NIGHTLY = pytest.mark.nightly


@pytest.mark.parametrize(
    ("ranks", "steps"),
    [
        *((2, 3), (2, 5), (8, 3)),
        *(
            pytest.param(ranks, steps, marks=NIGHTLY)
            for ranks, steps in (
                *((2, 10), (2, 20), (8, 5), (8, 10), (8, 20)),
                *((64, 3), (64, 5), (64, 10), (64, 20)),
            )
        ),
    ],
)
def test_even_ranks(ranks: int, steps: int) -> None:
    """Of 1,000 runs with ten per cent of noise, at most 1 % have a slow rank."""
    chance = numpy.random.default_rng(100 * ranks + steps)
    found = [compare(chance, ranks, steps, noise=0.1) for _ in range(RUNS)]
    assert sum(one.delay is not None for one in found) <= RUNS // 100


@pytest.mark.parametrize(("ranks", "steps"), [(2, 5), (8, 3), (64, 3)])
def test_slow_rank(ranks: int, steps: int) -> None:
    """A rank that is slower by 15 % is found in 95 of 100 runs with two per cent of noise."""
    chance = numpy.random.default_rng(ranks)
    found = [compare(chance, ranks, steps, 0.02, 0.15 * STEP_S).delay for _ in range(100)]
    slow = [one for one in found if one is not None]
    assert len(slow) >= 95
    assert {(one.rank, one.kind) for one in slow} == {(f"rank:{ranks - 1}", DelayKind.COMPUTE)}


@pytest.mark.parametrize(
    ("freedom", "value", "tail"),
    [
        *((1, 63.657, 0.005), (2, 9.925, 0.005), (3, 5.841, 0.005), (4, 3.747, 0.01)),
        *((15, 2.947, 0.005), (10**6, 2.576, 0.005), (5, 0.0, 0.5), (6, math.inf, 0.0)),
    ],
)
def test_tail_of_students_distribution(freedom: int, value: float, tail: float) -> None:
    """The values are those of its tables."""
    assert find_tail(value, freedom) == pytest.approx(tail, rel=0.02)
