"""Steps of a training and their pace as short texts."""

from __future__ import annotations

import math

from gpualert_common.report.formatting import short_duration


def format_count(value: float) -> str:
    """Return a number of steps, such as 500, 12k or 1.5M."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if suffix == 'k' else size):.4g}{suffix}"
    return f"{value:.6g}"


def format_pace(seconds: float | None) -> str:
    """Return the seconds of one step in a short form."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    return f"{seconds:.2g}s" if seconds < 10 else short_duration(seconds)
