"""The axis of the values of a panel: its ends and ticks are round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gpualert_common.charts.number_text import list_decades, list_ticks
from gpualert_common.charts.timeline import ChartLine, Panel
from gpualert_common.structs import Struct

_MOST_STEPS = 4
_LEAST_SPAN = 1e-6
"""Of the numbers themselves; their labels would not differ within less."""


class ValueAxis(Struct, frozen=True):
    """An axis from its first tick to its last."""

    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def encode(self) -> dict[str, object]:
        """Return the scale for Vega-Lite."""
        kind = "log" if self.is_logarithmic else "linear"
        ends = [self.ticks[0], self.ticks[-1]]
        return {"domain": ends, "type": kind, "nice": False, "zero": False}


def make_axis(panel: Panel, lines: Sequence[ChartLine]) -> ValueAxis:
    """Return an axis that holds every value, with round ends."""
    every = [
        value
        for line in lines
        for values in (line.value, line.low, line.high)
        for value in values
        if value is not None
    ]
    low, high = min(every, default=0.0), max(every, default=1.0)
    if panel.is_logarithmic and low > 0:
        return ValueAxis(tuple(list_decades(low, high, _MOST_STEPS)), is_logarithmic=True)
    low = low if panel.is_floating else min(low, 0.0)
    high = max(high, panel.top or high)
    least = _LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    if high - low < least:
        low, high = (low - least if panel.is_floating else low), low + least
    return ValueAxis(tuple(list_ticks(low, high, _MOST_STEPS)))


def place_ticks(axis: ValueAxis, height: int) -> Iterator[tuple[float, float]]:
    """Yield each tick with its distance from the upper edge."""
    scale = math.log10 if axis.is_logarithmic else float
    low, high = scale(axis.ticks[0]), scale(axis.ticks[-1])
    for tick in axis.ticks:
        yield tick, round(height * (1 - (scale(tick) - low) / (high - low)), 1)
