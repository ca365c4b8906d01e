"""Geometry of small charts: points in a box of pixels; templates draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpualert_common.report.formatting import short_duration
from gpualert_common.structs import Struct

SPARK_WIDTH, SPARK_HEIGHT = 160, 36
PLOT_WIDTH, PLOT_HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 34
"""Margins of a plot, for the labels of its axes."""
_MOST_POINTS = 300
_LEAST_STEP = 1e-300
_WIDE_RATIO = 50.0
"""Ratio of the values from which an axis is logarithmic."""


class Tick(Struct, frozen=True):
    """Mark of an axis: its place in pixels, and its label."""

    at: float
    label: str


class PlotLine(Struct, frozen=True):
    """Line of a plot: its name, and the points as SVG has them, one text for each unbroken part."""

    name: str
    parts: tuple[str, ...]


class Plot(Struct, frozen=True):
    """Chart of lines over one axis; ``summary`` says in words what a reader cannot see."""

    title: str
    unit: str
    x_name: str
    lines: tuple[PlotLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str


Points = Sequence[tuple[float, float]]


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


def draw_plot(title: str, unit: str, x_name: str, named: Sequence[tuple[str, Points]]) -> Plot:
    """Return a plot of lines; a value that is not finite breaks its line."""
    finite = [
        (x, y)
        for _name, points in named
        for x, y in points
        if math.isfinite(x) and math.isfinite(y)
    ]
    xs, ys = [x for x, _y in finite] or [0.0], [y for _x, y in finite] or [0.0]
    is_log = min(ys) > 0 and max(ys) / min(ys) > _WIDE_RATIO
    x_low, x_high = min(xs), max(xs)
    y_low, y_high = min(ys), max(ys)
    if not is_log:
        y_low, y_high = (min(0.0, y_low), y_high) if y_low < 0.5 * y_high else (y_low, y_high)

    def place_x(x: float) -> float:
        width = PLOT_WIDTH - LEFT - RIGHT
        return LEFT + width * ((x - x_low) / (x_high - x_low) if x_high > x_low else 0.5)

    def place_y(y: float) -> float:
        height = PLOT_HEIGHT - TOP - BOTTOM
        low, high, at = (math.log(one) if is_log else one for one in (y_low, y_high, y))
        return TOP + height * (1 - ((at - low) / (high - low) if high > low else 0.5))

    def draw(points: Points) -> tuple[str, ...]:
        parts: list[list[str]] = [[]]
        for x, y in _thin(points):
            if not (math.isfinite(x) and math.isfinite(y)):
                parts.append([])
                continue
            parts[-1].append(f"{place_x(x):.1f},{place_y(y):.1f}")
        return tuple(" ".join(part) for part in parts if part)

    y_values = _choose_logarithms(y_low, y_high) if is_log else _choose_ticks(y_low, y_high)
    return Plot(
        title=title,
        unit=unit,
        x_name=x_name,
        lines=tuple(PlotLine(name, draw(points)) for name, points in named),
        x_ticks=tuple(
            Tick(round(place_x(x), 1), format_count(x)) for x in _choose_ticks(x_low, x_high)
        ),
        y_ticks=tuple(Tick(round(place_y(y), 1), f"{y:.4g}") for y in y_values),
        summary="; ".join(_summarize(name, points) for name, points in named),
    )


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


def _summarize(name: str, points: Points) -> str:
    values = [y for _x, y in points if math.isfinite(y)]
    if not values:
        return f"{name}: no values"
    first, last = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    return f"{name}: from {first} to {last}, least {min(values):.4g}, most {max(values):.4g}"


def _thin(points: Points) -> list[tuple[float, float]]:
    """Return at most so many points: of each group the least and the greatest value."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    size = math.ceil(2 * len(points) / _MOST_POINTS)
    found: list[tuple[float, float]] = []
    for begin in range(0, len(points), size):
        group = points[begin : begin + size]
        known = [one for one in group if math.isfinite(one[1])]
        ends = {min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])}
        found += sorted(ends) if known else [group[0]]
    return found


def _choose_ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers from *low* to *high*."""
    raw = (high - low) / 4
    if not raw > _LEAST_STEP:
        return [low]
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first = math.floor(low / step)
    ticks = [step * number for number in range(first, first + 8)]
    return [tick for tick in ticks if low <= tick <= high] or [low, high]


def _choose_logarithms(low: float, high: float) -> list[float]:
    begin, end = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = max(1, (end - begin + 5) // 6)
    return [10.0**power for power in range(begin, end + 1, step)] or [low, high]
