"""The newest part of a series, where that was looked at all the time."""

from __future__ import annotations

from gpualert_common.telemetry.series import Series
from gpualert_common.telemetry.source import PERIOD_S

_LATE_S = 6 * PERIOD_S
"""A busy machine's looks come late; what is older than this says nothing of now."""


def is_fresh(series: Series, now: float) -> bool:
    """True where its last value is one of now."""
    return bool(series) and now - series.at[-1] <= _LATE_S


def last(series: Series, now: float, seconds: float) -> Series:
    """What was seen in the last *seconds*; empty where that is not all of them, or not now."""
    window = series.since(now - seconds - PERIOD_S)
    if not is_fresh(window, now) or window.at[0] > now - seconds + _LATE_S:
        return Series()
    return window
