"""Geometry of the charts of the web pages."""

from __future__ import annotations

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.web.plot import (
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    draw_plot,
    draw_spark,
)

NUMBERS = st.floats(-1e12, 1e12) | st.just(math.nan) | st.just(math.inf)
POINT = re.compile(r"-?\d+\.\d,-?\d+\.\d")


def read_points(text: str) -> list[tuple[float, float]]:
    """Return the points in the attribute of an element; fail for anything else."""
    pairs = text.split(" ")
    assert all(POINT.fullmatch(pair) for pair in pairs), text
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


@settings(max_examples=40)
@given(st.lists(NUMBERS, max_size=400))
def test_sparks_stay_in_their_box(values: list[float]) -> None:
    """Any numbers become points within the box, or no points where fewer than two are finite."""
    text = draw_spark(values)
    if sum(map(math.isfinite, values)) < 2:
        assert text == ""
        return
    for x, y in read_points(text):
        assert 0 <= x <= SPARK_WIDTH
        assert 0 <= y <= SPARK_HEIGHT


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 10**9), NUMBERS), max_size=700))
def test_plots_stay_in_their_box(points: list[tuple[int, float]]) -> None:
    """Any losses become lines and ticks within the box, in bounded number."""
    plot = draw_plot("Loss", "loss", "step", [("A", points), ("B", points[:3])])
    parts = [read_points(part) for line in plot.lines for part in line.parts]
    assert sum(map(len, parts)) <= 320
    for x, y in (point for part in parts for point in part):
        assert 0 <= x <= PLOT_WIDTH
        assert 0 <= y <= PLOT_HEIGHT
    assert 1 <= len(plot.x_ticks) <= 9
    assert 1 <= len(plot.y_ticks) <= 9
    assert all(0 <= tick.at <= PLOT_HEIGHT for tick in plot.y_ticks)


def test_extremes_survive_thinning() -> None:
    """A single spike among thousands of points stays on the chart."""
    points = [(float(n), 1.0) for n in range(10_000)]
    points[7777] = (7777.0, 1.9)
    plot = draw_plot("Loss", "loss", "step", [("A", points)])
    (part,) = plot.lines[0].parts
    ys = [y for _x, y in read_points(part)]
    assert min(ys) < max(ys)


def test_breaks_at_values_that_are_not_finite() -> None:
    """A loss that is NaN interrupts the line, so that it is not hidden."""
    plot = draw_plot("Loss", "loss", "step", [("A", [(1, 2.0), (2, math.nan), (3, 1.0)])])
    assert len(plot.lines[0].parts) == 2
