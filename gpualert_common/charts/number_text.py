"""Numbers, times and ticks of axes in the form that people read."""

from __future__ import annotations

import math
from collections.abc import Iterator

UNKNOWN = "-"
_STEPS = (1.0, 2.0, 5.0, 10.0)
_TIME_UNITS = (
    ("d", 86400, (1, 2, 5, 10, 20, 50, 100)),
    ("h", 3600, (1, 2, 3, 6, 12)),
    ("min", 60, (1, 2, 5, 10, 15, 30)),
    ("s", 1, (1, 2, 5, 10, 15, 30)),
    ("ms", 0.001, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
_LONGEST_STEP_S = 100.0 * 86400


def format_number(value: float | None) -> str:
    """Return a number with four digits at most, such as ``1,980``, ``0.0312``, ``4.2e+08``."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.2e}"


def list_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most *most* + 1 round numbers that enclose the range, in equal steps."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    rough = span / most
    unit = 10.0 ** math.floor(math.log10(rough))
    for factor in (*_STEPS, 20.0):
        step = factor * unit
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= most:
            return [index * step for index in range(first, last + 1)]
    return [low, high]


def list_decades(low: float, high: float, most: int) -> list[float]:
    """Return the powers of ten that enclose a range of positive numbers, in equal steps."""
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    step = max(1, math.ceil((last - first) / most))
    return [10.0**power for power in range(first, last + step, step)]


def list_time_ticks(length_s: float, most: int = 8) -> list[tuple[float, str]]:
    """Return at most *most* + 1 round times since the start, with their labels."""
    longest = _LONGEST_STEP_S * math.ceil(length_s / _LONGEST_STEP_S / most)
    step = next((one for one in _list_time_steps() if length_s / one <= most), longest)
    count = int(length_s / step + 1e-9)
    return [(index * step, format_time(index * step, step)) for index in range(count + 1)]


def list_count_ticks(low: float, high: float, most: int = 8) -> list[tuple[float, str]]:
    """Return at most *most* + 1 round counts in the range, as distances from *low*, with labels."""
    inside = (tick for tick in list_ticks(low, high, most) if low <= tick <= high)
    return [(tick - low, format_number(tick)) for tick in inside]


def format_time(seconds: float, step: float) -> str:
    """Return a time since the start, in the unit of the step: ``0``, ``90 s``, ``12 h``."""
    if seconds == 0:
        return "0"
    for name, unit, _steps in _TIME_UNITS:
        if step >= unit:
            return f"{round(seconds / unit):,} {name}"
    return f"{seconds:.3g} s"


def _list_time_steps() -> Iterator[float]:
    for _name, unit, steps in reversed(_TIME_UNITS):
        for one in steps:
            yield one * unit
