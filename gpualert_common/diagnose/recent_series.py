"""The newest part of a series, provided that it was sampled without a gap."""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.telemetry.series import Series
from gpualert_common.telemetry.source import PERIOD_S


def is_fresh(series: Series, now: float) -> bool:
    """Return whether the last sample is recent enough for the present value."""
    return bool(series) and now - series.at[-1] <= thresholds.SAMPLE_DELAY_S


def recent(series: Series, now: float, seconds: float) -> Series:
    """Return the samples of the last *seconds*; empty where they do not cover all of it."""
    window = series.since(now - seconds - PERIOD_S)
    covers_start = bool(window) and window.at[0] <= now - seconds + thresholds.SAMPLE_DELAY_S
    return window if covers_start and is_fresh(window, now) else Series()
