"""Intervals of time: sorted lists of pairs (start, end) in nanoseconds that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def unite(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the time that is in any of the intervals, which may overlap in any order."""
    united: list[Interval] = []
    start = end = 0
    for first, last in sorted(intervals):
        if first > end or not end > start:
            if end > start:
                united.append((start, end))
            start, end = first, last
        elif last > end:
            end = last
    if end > start:
        united.append((start, end))
    return united


def intersect(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Return the time that is in both."""
    common = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if end > start:
            common.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common


def subtract(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Return the time that is in *left* and not in *right*."""
    rest = []
    j = 0
    for first, end in left:
        start = first
        while j < len(right) and right[j][1] <= start:
            j += 1
        k = j
        while k < len(right) and right[k][0] < end:
            if right[k][0] > start:
                rest.append((start, right[k][0]))
            start = max(start, right[k][1])
            k += 1
        if start < end:
            rest.append((start, end))
    return rest


def measure(intervals: Sequence[Interval]) -> int:
    """Return the time of all intervals."""
    return sum(end - start for start, end in intervals)


def measure_within(intervals: Sequence[Interval], windows: Sequence[Interval]) -> list[int]:
    """Return for each window the time of the intervals in it; windows do not overlap."""
    times = []
    i = 0
    for first, last in windows:
        while i < len(intervals) and intervals[i][1] <= first:
            i += 1
        time, k = 0, i
        while k < len(intervals) and intervals[k][0] < last:
            time += min(intervals[k][1], last) - max(intervals[k][0], first)
            k += 1
        times.append(time)
    return times
