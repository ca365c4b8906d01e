"""Parts of a chart: ticks, labels, thinned lines, shortened paths, colours."""

from __future__ import annotations

import math
import re
import struct
import zlib
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.charts.bands import merge_lines
from gpualert_common.charts.line_thinning import MOST_VALUE, Window, make_line, thin_line
from gpualert_common.charts.mark_labels import MOST_ROWS, place_labels
from gpualert_common.charts.number_text import (
    format_number,
    list_decades,
    list_ticks,
    list_time_ticks,
)
from gpualert_common.charts.palette import LIGHT, SERIES, ColourRole
from gpualert_common.charts.png import SIGNATURE, compress_png
from gpualert_common.charts.svg_paths import shorten_path
from gpualert_common.charts.timeline import ChartLine, Mark, MarkKind, Panel
from gpualert_common.charts.value_axis import make_axis, place_ticks

CSS = files("gpualert_common.charts").joinpath("chart.css").read_text()
numbers = st.floats(-MOST_VALUE, MOST_VALUE)


def line_of(*values: float | None, name: str = "x") -> ChartLine:
    """Return a line with these values, one for each second."""
    return ChartLine(name, tuple(map(float, range(len(values)))), values)


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def read_theme(begin: str) -> dict[str, str]:
    """Return the colours of the style sheet in the block that begins with this text."""
    block = CSS[CSS.index(begin) :]
    return dict(re.findall(r"--chart-([\w-]+): (#\w{6});", block[: block.index("}")]))


@given(st.lists(numbers, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_an_axis_holds_every_value(
    values: list[float], is_logarithmic: bool, is_floating: bool
) -> None:
    """An axis of any numbers has few ticks, in ascending order, around all of them."""
    panel = Panel("", "", (), is_logarithmic=is_logarithmic, is_floating=is_floating)
    axis = make_axis(panel, [line_of(*values)])
    assert 2 <= len(axis.ticks) <= 8
    assert list(axis.ticks) == sorted(set(axis.ticks))
    slack = 1e-6 * (axis.ticks[-1] - axis.ticks[0])
    assert axis.ticks[0] - slack <= min(values)
    assert max(values) <= axis.ticks[-1] + slack or axis.is_logarithmic
    assert [y for _tick, y in place_ticks(axis, 60)][:: len(axis.ticks) - 1] == [60, 0]
    assert all(len(format_number(tick)) <= 10 for tick in axis.ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 100, [0, 50, 100]),
        (0, 62.9, [0, 20, 40, 60, 80]),
        (3, 3.4, [3, 3.1, 3.2, 3.3, 3.4]),
        (-2, 7, [-5, 0, 5, 10]),
    ],
)
def test_round_ticks(low: float, high: float, ticks: list[float]) -> None:
    """Ticks are round numbers."""
    assert list_ticks(low, high, 4) == pytest.approx(ticks)


def test_decades() -> None:
    """A logarithmic axis has powers of ten, of a wide range only some."""
    assert list_decades(0.002, 30, 5) == pytest.approx([0.001, 0.01, 0.1, 1, 10, 100])
    assert list_decades(1e-9, 1, 4) == pytest.approx([1e-9, 1e-6, 1e-3, 1])


@pytest.mark.parametrize(
    ("length_s", "last"),
    [(0.9, "800 ms"), (50, "50 s"), (3600, "60 min"), (86400, "24 h"), (30 * 86400, "30 d")],
)
def test_ticks_of_time(length_s: float, last: str) -> None:
    """Ticks of time are round in the unit that fits the length of the run."""
    ticks = list_time_ticks(length_s)
    assert [label for _at, label in ticks][:: len(ticks) - 1] == ["0", last]
    assert len(ticks) <= 9


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=400))
def test_thinned_lines_keep_the_extremes(values: list[float | None]) -> None:
    """A thinned line has the first, the last, the lowest and the highest value of the whole one."""
    thin = thin_line(line_of(*values), 20)
    assert len(thin.at) <= 20
    assert list(thin.at) == sorted(thin.at)
    assert (thin.value[0], thin.value[-1]) == (values[0], values[-1])
    known = [one for one in values if one is not None]
    low = [one for one in thin.low or thin.value if one is not None]
    high = [one for one in thin.high or thin.value if one is not None]
    if known:
        assert (min(low), max(high)) == (min(known), max(known))


def test_gaps() -> None:
    """A pause of the samples is a gap; a slower rate, as of older samples, is none."""
    slow = [(float(at), 1.0, 1.0, 1.0) for at in range(0, 6400, 640)]
    fast = [(float(at), 1.0, 1.0, 1.0) for at in range(6400, 6700, 5)]
    after = [(float(at), 1.0, 1.0, 1.0) for at in range(7700, 7800, 5)]
    line = make_line("x", [*slow, *fast, *after], Window(0, 8000))
    assert line is not None
    gaps = [at for at, value in zip(line.at, line.value, strict=True) if value is None]
    assert len(gaps) == 1
    assert 6700 < gaps[0] < 7700


def test_a_line_far_from_the_others() -> None:
    """Of many lines, the few that are far from the others keep their names."""
    lines = [line_of(*[50.0 + index % 3] * 50, name=f"GPU {index}") for index in range(20)]
    lines[7] = line_of(*[50.0] * 25, *[0.0] * 25, name="GPU 7")
    band, *others = merge_lines(lines, "GPUs", Window(0, 50))
    assert [line.name for line in others] == ["GPU 7"]
    assert (min(filter(None, band.value)), max(band.high)) == (51, 52)  # type: ignore[type-var]


@given(st.lists(st.tuples(st.floats(0, 724), st.sampled_from(MarkKind)), max_size=80))
def test_labels_do_not_overlap(marks: list[tuple[float, MarkKind]]) -> None:
    """Labels of any marks lie within the picture, apart from each other; there is one at least."""
    named = [(x, Mark(x, kind, "", f"{kind} {index}")) for index, (x, kind) in enumerate(marks)]
    placed = place_labels(named, 724, 11)
    spans: dict[int, list[tuple[float, float]]] = {}
    for one in placed:
        assert 0 <= one.row < MOST_ROWS
        length = 5.0 * len(one.mark.label)  # less than any estimate
        begin = one.x - length if one.is_left else one.x
        spans.setdefault(one.row, []).append((begin, begin + length))
    for row in spans.values():
        ordered = sorted(row)
        assert ordered[0][0] >= 0
        assert all(one[1] <= two[0] for one, two in pairwise(ordered))
    assert bool(placed) == bool(marks)


@given(st.lists(st.tuples(st.floats(0, 800), st.floats(-5, 90)), min_size=1, max_size=50))
def test_paths_stay_in_place(points: list[tuple[float, float]]) -> None:
    """A shortened path passes through every place of the original, to a tenth of a unit."""
    path = "M" + "L".join(f"{x},{y}" for x, y in points)
    short = shorten_path(path)
    found = [tuple(map(float, one.split(","))) for one in re.findall(r"[-\d.]+,[-\d.]+", short)]
    places, x, y = [], 0.0, 0.0
    for dx, dy in found:
        x, y = x + dx, y + dy
        places.append((x, y))
    assert places[0] == pytest.approx(points[0], abs=0.06)
    assert places[-1] == pytest.approx(points[-1], abs=0.06)
    for point in points:
        is_kept = any(math.dist(point, place) < 0.1 for place in places)
        is_on_level = any(abs(point[1] - place[1]) < 0.06 for place in places)
        assert is_kept or is_on_level


def test_other_paths_are_kept() -> None:
    """A path with curves is not changed."""
    assert shorten_path("M2.9,0A2.9,2.9,0,1,1,-2.9,0") == "M2.9,0A2.9,2.9,0,1,1,-2.9,0"


def test_png_is_smaller_and_the_same() -> None:
    """A compressed PNG has the same header and pixels, in fewer bytes."""
    header = struct.pack(">IIBBBBB", 300, 200, 8, 6, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes([row % 7, 9, 9, 255]) * 300 for row in range(200))
    stored = zlib.compress(pixels, 0)
    halves = ((b"IDAT", stored[:1000]), (b"IDAT", stored[1000:]), (b"IEND", b""))
    chunks = ((b"IHDR", header), (b"tEXt", b"Software\0x"), *halves)
    picture = SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    small = compress_png(picture)
    assert small.startswith(SIGNATURE)
    assert len(small) < len(picture) / 50
    data_at = small.index(b"IDAT") + 4
    assert small[16:29] == header
    assert zlib.decompress(small[data_at : small.index(b"IEND") - 8]) == pixels


def test_colours_have_one_role() -> None:
    """No two roles share a colour, by which the SVG gets its classes."""
    assert set(LIGHT) == set(ColourRole)
    assert len(set(LIGHT.values())) == len(LIGHT)


@pytest.mark.parametrize(("block", "page"), [(".chart {", "#ffffff"), ("@media screen", "#161b22")])
def test_contrast(block: str, page: str) -> None:
    """On a light and on a dark page, lines have a contrast of 3:1, and all texts of 4.5:1."""
    theme = read_theme(block)
    assert set(theme) == set(ColourRole)
    for role in set(ColourRole) - {ColourRole.GRID}:
        least = 3.0 if role in (*SERIES, ColourRole.LIMIT) else 4.5
        assert measure_contrast(theme[role], page) >= least, role


def test_style_sheet_is_of_the_palette() -> None:
    """The style sheet has the light colours of the picture, and rules for each role."""
    assert read_theme(".chart {") == {str(role): colour for role, colour in LIGHT.items()}
    for role in ColourRole:
        assert f".chart .stroke-{role} {{ stroke: var(--chart-{role}); }}" in CSS
        assert f".chart .fill-{role} {{ fill: var(--chart-{role}); }}" in CSS
