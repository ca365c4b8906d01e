"""Samples of a number over time as rows, in the unit of a chart, and as rates."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from gpualert_common.charts.line_thinning import MOST_POINTS, Sample, Window
from gpualert_common.telemetry.series import Series


def list_rows(series: Series, window: Window, divisor: float = 1.0) -> Iterator[Sample]:
    """Yield the samples of a series in the window, in a unit that is *divisor* times as large.

    Of more than :data:`MOST_POINTS`, those of each interval are one row with their mean and their
    extremes.  Slices of arrays do that in a tenth of the time of a loop: a run on many GPUs has
    millions of samples.
    """
    at, value, low, high = _cut_series(series, window)
    count = len(at)
    if count <= MOST_POINTS:
        for index in range(count):
            yield at[index], value[index] / divisor, low[index] / divisor, high[index] / divisor
        return
    first, width = at[0], (at[-1] - at[0]) / MOST_POINTS
    begin = 0
    for bucket in range(1, MOST_POINTS + 1):
        end = count if bucket == MOST_POINTS else bisect_right(at, first + bucket * width, begin)
        if end > begin:
            middle = at[begin] if begin == 0 else at[end - 1]
            mean = sum(value[begin:end]) / (end - begin)
            least, most = min(low[begin:end]), max(high[begin:end])
            yield middle, mean / divisor, least / divisor, most / divisor
            begin = end


def subtract_rows(size: float, rows: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the part of *size* that is in use, by the samples of the part that is free."""
    for at, value, low, high in rows:
        yield at, max(0.0, size - value), max(0.0, size - high), max(0.0, size - low)


def measure_rate(series: Series, window: Window, divisor: float = 1.0) -> Iterator[Sample]:
    """Yield the growth of a counter in a second; one that restarts counts from 0."""
    times, rates = array("d"), array("d")
    before: tuple[float, float] | None = None
    for at, value in zip(series.at, series.value, strict=True):
        if before is not None and at > before[0]:
            grown = value - before[1] if value >= before[1] else value
            times.append(at)
            rates.append(grown / (at - before[0]))
        before = at, value
    return list_rows(Series(times, rates, rates, rates), window, divisor)


def _cut_series(series: Series, window: Window) -> tuple[Sequence[float], ...]:
    """Return the samples in the window: one time far outside would make all intervals too wide."""
    columns = (series.at, series.value, series.low, series.high)
    shown = [window.holds(at) for at in series.at]
    if all(shown):
        return columns
    return tuple(array("d", compress(column, shown)) for column in columns)
