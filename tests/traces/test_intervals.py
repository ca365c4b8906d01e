"""Arithmetic of intervals, against a model that marks each nanosecond."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.traces.intervals import (
    Interval,
    intersect,
    measure_within,
    subtract,
    unite,
)

LENGTH = 40
INTERVALS = st.lists(
    st.tuples(st.integers(-LENGTH, LENGTH), st.integers(-LENGTH, LENGTH)), max_size=12
)
"""Intervals in any order, also empty and reversed ones, which have no time."""


def mark(intervals: Iterable[Interval]) -> set[int]:
    """Return each nanosecond that is in an interval."""
    return {at for start, end in intervals for at in range(start, end)}


def assert_sorted(intervals: Sequence[Interval]) -> None:
    """Raise unless the intervals are sorted, not empty, and apart from each other."""
    assert all(start < end for start, end in intervals)
    assert all(one[1] <= after[0] for one, after in pairwise(intervals))


@given(INTERVALS)
def test_the_union_has_the_time_of_all(intervals: list[Interval]) -> None:
    """Overlaps count once, and neighbours become one."""
    united = unite(intervals)
    assert_sorted(united)
    assert mark(united) == mark(intervals)
    assert all(one[1] < after[0] for one, after in pairwise(united))


@given(INTERVALS, INTERVALS)
def test_common_time_and_rest_make_up_the_whole(
    left: list[Interval], right: list[Interval]
) -> None:
    """Each nanosecond of *left* is either in the common time or in the rest."""
    first, second = unite(left), unite(right)
    common, rest = intersect(first, second), subtract(first, second)
    assert_sorted(common)
    assert_sorted(rest)
    assert mark(common) == mark(left) & mark(right)
    assert mark(rest) == mark(left) - mark(right)


@given(INTERVALS, st.lists(st.integers(-LENGTH, LENGTH), max_size=8))
def test_each_window_has_its_own_time(intervals: list[Interval], borders: list[int]) -> None:
    """Windows may touch, may be empty, and may have gaps between them."""
    ordered = sorted(borders)
    windows = list(pairwise(ordered))[::2]
    expected = [len(mark(intervals) & set(range(start, end))) for start, end in windows]
    assert measure_within(unite(intervals), windows) == expected
