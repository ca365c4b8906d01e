"""Differences between ranks: found where they are, and not in the noise of the samples."""

from __future__ import annotations

import numpy
import pytest

from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.rank_texts import describe_difference, summarize
from gpualert_common.stacks.dump import StackFrame
from tests.profiles.composed_profiles import (
    COMPUTING,
    LINEAR,
    LOADING,
    MAIN,
    REDUCE,
    TRAIN,
    WAITING,
    draw_counts,
    draw_phases,
    make_profile,
)

FAST = {LOADING: 0.04, COMPUTING: 0.36, WAITING: 0.60}
SLOW = {LOADING: 0.62, COMPUTING: 0.36, WAITING: 0.02}
RUNS = 1000


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 32])
def test_slow_rank(ranks: int) -> None:
    """The rank for which the others wait is named with its place, and no waiting rank."""
    chance = numpy.random.default_rng(ranks)
    counts = [draw_counts(chance, FAST, 1000) for _ in range(ranks - 1)]
    profile = make_profile(*counts, draw_counts(chance, SLOW, 1000))
    (found,) = find_differences(profile)
    assert found.ranks == (ranks - 1,)
    assert found.frame.function == "load_batch"
    assert found.share == pytest.approx(0.62, abs=0.08)
    assert found.others == pytest.approx(0.04, abs=0.03)


def test_sentence() -> None:
    """The sentence has the rank, its share, the place, and the share of the others."""
    fast, slow = {LOADING: 40, WAITING: 960}, {LOADING: 620, WAITING: 380}
    assert summarize(make_profile(fast, fast, fast, slow), "/job") == (
        "rank 3 spends 62 % of its time in load_batch (data.py:41), the others 4 % (median)"
    )
    assert summarize(make_profile(slow, fast), "/job") == (
        "rank 0 spends 62 % of its time in load_batch (data.py:41), rank 1 only 4 %"
    )
    assert summarize(make_profile(fast, slow, fast, slow, fast), "/job").startswith(
        "ranks 1, 3 spend 62 % of their time in load_batch"
    )


def test_ranks_without_samples() -> None:
    """Ranks with hardly any sample are not among those that a rank is compared with."""
    fast, slow = {LOADING: 40, WAITING: 960}, {LOADING: 620, WAITING: 380}
    profile = make_profile(slow, fast, {}, {LOADING: 5})
    assert summarize(profile, "/job") == (
        "rank 0 spends 62 % of its time in load_batch (data.py:41), rank 1 only 4 %"
    )
    (found,) = find_differences(profile)
    assert (found.ranks, found.compared) == ((0,), (1,))


def test_slow_everywhere() -> None:
    """A rank that is slower in everything is named with the function that has all of it."""
    other = (MAIN, TRAIN, StackFrame("augment", "/job/data.py", 90, is_own=True))
    fast = {COMPUTING: 200, other: 200, LOADING: 100, WAITING: 500}
    slow = {COMPUTING: 400, other: 390, LOADING: 200, WAITING: 10}
    profile = make_profile(fast, fast, fast, slow)
    assert summarize(profile, "/job") == (
        "rank 3 spends 99 % of its time in train (train.py:10) outside collective operations, "
        "the others 50 % (median)"
    )


def test_library_that_takes_the_time() -> None:
    """A library that takes the time is named by its function and the one that called it."""
    direct = (MAIN, TRAIN, LINEAR)
    fast, slow = {direct: 100, WAITING: 900}, {direct: 900, WAITING: 100}
    assert summarize(make_profile(fast, slow, fast), "/job") == (
        "rank 1 spends 90 % of its time in Linear.forward (torch/nn/modules/linear.py:124), "
        "called by train (train.py:10), the others 10 % (median)"
    )


def test_only_waits_differ() -> None:
    """If the ranks differ in nothing but their waits, these are named."""
    profile = make_profile({WAITING: 900, COMPUTING: 100}, {(MAIN, TRAIN): 900, COMPUTING: 100})
    texts = [describe_difference(profile, one) for one in find_differences(profile)]
    assert len(texts) == 1
    assert texts[0].startswith("rank 1 spends")
    waits = make_profile(
        {WAITING: 900, COMPUTING: 100}, {(MAIN, TRAIN, REDUCE, LINEAR): 900, COMPUTING: 100}
    )
    assert [one.frame.function for one in find_differences(waits)] == ["Linear.forward"]


def test_workers() -> None:
    """Workers of one rank that work while others wait for work are named."""
    get = StackFrame("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 98)
    same = {COMPUTING: 500}
    profile = make_profile(
        same,
        same,
        same,
        workers={0: {(get,): 500}, 1: {LOADING: 450, (get,): 50}, 2: {(get,): 500}},
    )
    (found,) = find_differences(profile)
    assert describe_difference(profile, found, "/job") == (
        "the workers of rank 1 spend 90 % of their time in load_batch (data.py:41), "
        "the others 0 % (median)"
    )


@pytest.mark.parametrize(
    ("ranks", "samples"),
    [
        (2, 100),
        (4, 1000),
        pytest.param(4, 50, marks=pytest.mark.nightly),
        pytest.param(8, 1000, marks=pytest.mark.nightly),
        pytest.param(16, 200, marks=pytest.mark.nightly),
    ],
)
def test_noise_of_even_ranks(ranks: int, samples: int) -> None:
    """Of 1,000 profiles of ranks that do the same, at most 1 % have a difference."""
    chance = numpy.random.default_rng(samples * ranks)
    alarms = 0
    for _ in range(RUNS):
        counts = [draw_counts(chance, FAST, samples) for _ in range(ranks)]
        alarms += bool(find_differences(make_profile(*counts)))
    assert alarms <= RUNS // 100


@pytest.mark.parametrize(
    ("step", "skew"),
    [
        pytest.param(10, 10, marks=pytest.mark.nightly, id="hundred"),
        pytest.param(100, 100, id="ten"),
        pytest.param(300, 50, marks=pytest.mark.nightly, id="three"),
        pytest.param(3000, 50, id="cut"),
    ],
)
def test_noise_of_steps(step: int, skew: int) -> None:
    """Steps that are cut by the ends of ten seconds make no difference, either.

    Ranks that wait for each other in each step are at about the same place of it; others may be
    anywhere in it, and need ten steps.
    """
    chance = numpy.random.default_rng(step)
    alarms = 0
    for _ in range(RUNS):
        begin = chance.random() * step
        begins = begin + chance.random(4) * skew
        counts = [draw_phases(chance, FAST, 1000, step, float(one)) for one in begins]
        alarms += bool(find_differences(make_profile(*counts)))
    assert alarms <= RUNS // 100


@pytest.mark.parametrize("samples", [0, 1, 19])
def test_few_samples(samples: int) -> None:
    """A rank with hardly any sample differs in nothing."""
    assert find_differences(make_profile({WAITING: 1000}, {LOADING: samples})) == []
