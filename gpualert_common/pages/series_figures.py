"""Figures of a series of numbers: its mean over time, and the mean rate of a counter."""

from __future__ import annotations

from gpualert_common.telemetry.series import Series


def mean_over_time(series: Series) -> float | None:
    """Return the mean, each value weighted by the time that it stands for; None without values."""
    if not series:
        return None
    spans = [after - before for before, after in zip(series.at, series.at[1:], strict=False)]
    weights = [spans[0] if spans else 1.0, *spans]
    total = sum(weights)
    if total <= 0:
        return sum(series.value) / len(series.value)
    return sum(value * weight for value, weight in zip(series.value, weights, strict=True)) / total


def mean_rate(series: Series) -> float | None:
    """Return the growth of a counter per second; None for less than two values."""
    if len(series.at) < 2 or series.at[-1] <= series.at[0]:
        return None
    return series.rise / (series.at[-1] - series.at[0])
