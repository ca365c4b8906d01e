"""Geometry of sparklines: points in a box of pixels; templates draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence

SPARK_WIDTH, SPARK_HEIGHT = 160, 36
_MOST_POINTS = 300


def draw_spark(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """Return the points of a small line without axes; "" for fewer than two finite values."""
    kept = [value for value in values if math.isfinite(value)][-_MOST_POINTS:]
    if len(kept) < 2:
        return ""
    least = min(kept) if low is None else low
    most = max(max(kept) if high is None else high, least)
    span = (most - least) or 1.0
    middle = most == least and low is None  # else a line at the bottom would mean none
    points = []
    for number, value in enumerate(kept):
        share = 0.5 if middle else min(1.0, max(0.0, (value - least) / span))
        x = SPARK_WIDTH * number / (len(kept) - 1)
        points.append(f"{x:.1f},{2 + (SPARK_HEIGHT - 4) * (1 - share):.1f}")
    return " ".join(points)
