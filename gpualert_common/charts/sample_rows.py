"""Samples of a number over time as rows, and their conversion to other units and to rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpualert_common.charts.line_thinning import Sample
from gpualert_common.telemetry.series import Series


def list_rows(series: Series, divisor: float = 1.0) -> Iterator[Sample]:
    """Yield the samples of a series in a unit that is *divisor* times as large."""
    for at, value, low, high in zip(series.at, series.value, series.low, series.high, strict=True):
        yield at, value / divisor, low / divisor, high / divisor


def subtract_rows(size: float, rows: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the part of *size* that is in use, by the samples of the part that is free."""
    for at, value, low, high in rows:
        yield at, max(0.0, size - value), max(0.0, size - high), max(0.0, size - low)


def measure_rate(series: Series, divisor: float = 1.0) -> Iterator[Sample]:
    """Yield the growth of a counter in a second; one that restarts counts from 0."""
    before: tuple[float, float] | None = None
    for at, value in zip(series.at, series.value, strict=True):
        if before is not None and at > before[0]:
            grown = value - before[1] if value >= before[1] else value
            rate = grown / (at - before[0]) / divisor
            yield at, rate, rate, rate
        before = at, value
