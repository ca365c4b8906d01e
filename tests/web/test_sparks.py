"""Geometry of the sparklines of the web pages."""

from __future__ import annotations

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.web.sparks import SPARK_HEIGHT, SPARK_WIDTH, draw_spark

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
