"""The timeline as a Vega-Lite chart: panels over one another, with one axis of time.

All texts are values of the data and never expressions, so that no text of a run is interpreted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gpualert_common.charts.line_thinning import MOST_POINTS, thin_line
from gpualert_common.charts.mark_labels import ROW_HEIGHT, place_labels
from gpualert_common.charts.number_text import (
    format_number,
    list_decades,
    list_ticks,
    list_time_ticks,
)
from gpualert_common.charts.palette import LIGHT, OF_MARKS, SERIES, Role
from gpualert_common.charts.text_width import estimate_width
from gpualert_common.charts.timeline import ChartLine, LineKind, Mark, MarkKind, Panel, Timeline
from gpualert_common.report.formatting import duration
from gpualert_common.report.formatting import time as format_clock
from gpualert_common.structs import Struct

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
TITLED = "titled_"
"""Begin of the names of layers whose elements have a title to point at."""
WIDTH = 724
"""Width of the panels, in units of the picture; the whole picture is some 800 wide."""
_HEIGHT = 66
_FIRST_HEIGHT = 112
_SPACING = 34
_TITLE_UP = -10
_FONT_SIZE = 11
_MOST_VALUES = 7000
"""Points of all lines together: with their ranges they take some 200 KB as SVG."""
_MOST_RULED_CHECKPOINTS = 12
"""More of them would hide the lines; they are then only symbols above the panels."""
_SHAPES = {
    MarkKind.CHECKPOINT: "circle",
    MarkKind.WARNING: "triangle-up",
    MarkKind.SIGNAL: "square",
    MarkKind.STACKS: "diamond",
    MarkKind.NOT_FINITE: "cross",
    MarkKind.FAILURE: "triangle-down",
    MarkKind.END: "square",
}

JsonObject = dict[str, object]
Rows = list[JsonObject]


class _Axis(Struct, frozen=True):
    """The axis of the values of a panel."""

    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def encode(self) -> JsonObject:
        """Return the scale for Vega-Lite."""
        kind = "log" if self.is_logarithmic else "linear"
        ends = [self.ticks[0], self.ticks[-1]]
        return {"domain": ends, "type": kind, "nice": False, "zero": False}


def build_chart(timeline: Timeline, *, is_transparent: bool) -> JsonObject:
    """Return the chart, with a white background unless it *is_transparent*."""
    lines = sum(len(panel.lines) for panel in timeline.panels)
    builder = _ChartBuilder(timeline, min(MOST_POINTS, _MOST_VALUES // max(lines, 1)))
    views = [builder.build_marks()] if timeline.marks else []
    views += [builder.build_panel(index, panel) for index, panel in enumerate(timeline.panels)]
    views.append(builder.build_time_labels())
    return {
        "$schema": SCHEMA,
        "background": None if is_transparent else "white",
        "padding": 8,
        "bounds": "flush",
        "spacing": _SPACING,
        "vconcat": views,
        "config": {"view": {"stroke": None}, "font": "sans-serif"},
    }


class _ChartBuilder:
    """Builder of the views of one timeline, with at most ``most`` points of each line."""

    def __init__(self, timeline: Timeline, most: int) -> None:
        self._timeline = timeline
        self._length_s = max(timeline.ended_at - timeline.began_at, 1e-9)
        self._most = most
        self._time_ticks = list_time_ticks(self._length_s)

    # -- views -----------------------------------------------------------------------------

    def build_marks(self) -> JsonObject:
        """Return the strip above the panels: a symbol for each event, with labels over them."""
        marks = [(self._place(one.at), one) for one in self._timeline.marks]
        labels = place_labels(marks, WIDTH, _FONT_SIZE)
        height = (max((one.row for one in labels), default=-1) + 1) * ROW_HEIGHT + 10
        layers = [
            _layer(
                f"stem_{index}",
                [{"x": one.x, "y": height - 4 - ROW_HEIGHT * (one.row + 1), "y2": height}],
                {"type": "rule", "color": _colour_of(one.mark), "strokeWidth": 1},
                x=_pixel("x"),
                y=_pixel("y"),
                y2={"field": "y2"},
            )
            for index, one in enumerate(labels)
        ]
        for index, one in enumerate(labels):
            y = height - 10 - ROW_HEIGHT * one.row - ROW_HEIGHT / 2
            x = one.x + (-4 if one.is_left else 4)
            align = "right" if one.is_left else "left"
            layers.append(_text(f"label_{index}", one.mark.label, x, y, _role_of(one.mark), align))
        for kind in MarkKind:
            rows: Rows = [
                {"x": x, "y": height - 2, "s": self._describe(one)}
                for x, one in marks
                if one.kind is kind
            ]
            if rows:
                mark: JsonObject = {"type": "point", "shape": _SHAPES[kind], "filled": True}
                mark |= {"size": 34, "opacity": 1, "color": LIGHT[OF_MARKS[kind]]}
                name = f"{TITLED}marks_{kind}"
                title = {"field": "s"}
                layers.append(
                    _layer(name, rows, mark, x=_pixel("x"), y=_pixel("y"), description=title)
                )
        return {"name": "strip", "width": WIDTH, "height": height, "layer": layers}

    def build_panel(self, index: int, panel: Panel) -> JsonObject:
        """Return a panel: its title and legend, its axis, its lines, and a rule for each event."""
        height = _FIRST_HEIGHT if index == 0 else _HEIGHT
        lines = [thin_line(line, self._most) for line in panel.lines]
        axis = _make_axis(panel, lines)
        name = f"panel_{index}"
        layers = [
            self._make_grid(name, axis, height),
            *self._make_bands(name, lines, axis),
            *self._make_rules(name, height),
            *self._make_lines(name, lines, axis),
            *self._make_lost_values(name, lines),
            *_make_heading(name, panel),
            *_make_axis_labels(name, axis, height),
        ]
        return {"name": name, "width": WIDTH, "height": height, "layer": layers}

    def build_time_labels(self) -> JsonObject:
        """Return the labels of the axis of time, below the last panel."""
        up = -_SPACING + 16
        layers = []
        for index, (at, label) in enumerate(self._time_ticks):
            x = WIDTH * at / self._length_s
            align = "left" if x < 8 else "right" if x > WIDTH - 8 else "center"
            layers.append(_text(f"time_{index}", label, x, up, Role.MUTED, align))
        title = f"time since the launch at {format_clock(self._timeline.began_at)}"
        layers.append(_text("time_title", title, 0, up + 17, Role.MUTED, "left"))
        return {"name": "time", "width": WIDTH, "height": 1, "layer": layers}

    # -- layers of a panel -----------------------------------------------------------------

    def _make_grid(self, name: str, axis: _Axis, height: int) -> JsonObject:
        """Return the lines of the grid: of the values, and of time."""
        rows: Rows = [
            {"x": 0, "x2": WIDTH, "y": y, "y2": y} for _tick, y in _place_ticks(axis, height)
        ]
        for at, _label in self._time_ticks:
            x = round(WIDTH * at / self._length_s, 1)
            rows.append({"x": x, "x2": x, "y": 0, "y2": height})
        return _layer(
            f"{name}_grid",
            rows,
            {"type": "rule", "color": LIGHT[Role.GRID], "strokeWidth": 1},
            x=_pixel("x"),
            x2={"field": "x2"},
            y=_pixel("y"),
            y2={"field": "y2"},
        )

    def _make_bands(
        self, name: str, lines: Sequence[ChartLine], axis: _Axis
    ) -> Iterator[JsonObject]:
        """Yield the range of each line whose points stand for several values."""
        for index, line in enumerate(lines):
            if line.low == line.value and line.high == line.value:
                continue
            rows: Rows = [
                {"t": self._since(at), "l": low, "h": high}
                for at, low, high in zip(line.at, line.low, line.high, strict=False)
            ]
            is_median = line.kind is LineKind.MEDIAN
            mark = {"type": "area", "color": LIGHT[SERIES[index % len(SERIES)]]}
            mark |= {"opacity": 0.28 if is_median else 0.2, "invalid": "break-paths-filter-domains"}
            yield _layer(
                f"{name}_band_{index}",
                rows,
                mark,
                x=self._encode_time(),
                y=_value("l", axis),
                y2={"field": "h"},
            )

    def _make_lines(
        self, name: str, lines: Sequence[ChartLine], axis: _Axis
    ) -> Iterator[JsonObject]:
        for index, line in enumerate(lines):
            is_limit = line.kind is LineKind.LIMIT
            role = Role.LIMIT if is_limit else SERIES[index % len(SERIES)]
            mark: JsonObject = {"type": "line", "color": LIGHT[role], "strokeWidth": 1.5}
            mark |= {"strokeCap": "round", "strokeJoin": "round"}
            mark |= {"invalid": "break-paths-filter-domains"}
            mark |= {"strokeDash": [5, 4], "strokeWidth": 1.2} if is_limit else {}
            rows: Rows = [
                {"t": self._since(at), "v": value}
                for at, value in zip(line.at, line.value, strict=True)
            ]
            if rows:
                yield _layer(
                    f"{TITLED}{name}_line_{index}",
                    rows,
                    mark,
                    x=self._encode_time(),
                    y=_value("v", axis),
                    description={"value": line.name},
                )

    def _make_lost_values(self, name: str, lines: Sequence[ChartLine]) -> Iterator[JsonObject]:
        """Yield crosses at the top of the panel for values that are not finite."""
        rows: Rows = [
            {"t": self._since(at), "s": f"{line.name}: not finite at {self._clock(at)}"}
            for line in lines
            for at in line.not_finite_at
        ]
        if rows:
            mark: JsonObject = {"type": "point", "shape": "cross", "filled": True, "size": 40}
            mark |= {"color": LIGHT[Role.NOT_FINITE], "opacity": 1, "angle": 45}
            encoding = {"x": self._encode_time(), "description": {"field": "s"}}
            yield _layer(f"{TITLED}{name}_lost", rows, mark, **encoding, y={"value": 5})

    def _make_rules(self, name: str, height: int) -> Iterator[JsonObject]:
        """Yield a rule for each event, through the whole panel."""
        for kind in MarkKind:
            times = [one.at for one in self._timeline.marks if one.kind is kind]
            if kind is MarkKind.CHECKPOINT and len(times) > _MOST_RULED_CHECKPOINTS:
                continue
            mark: JsonObject = {"type": "rule", "color": LIGHT[OF_MARKS[kind]], "strokeWidth": 1}
            mark |= {"strokeDash": [2, 3], "opacity": 0.55}
            if kind in (MarkKind.FAILURE, MarkKind.END):
                mark |= {"strokeDash": [1, 0], "opacity": 0.8}
            if times:
                yield _layer(
                    f"{name}_rule_{kind}",
                    [{"x": self._place(at)} for at in times],
                    mark,
                    x=_pixel("x"),
                    y={"value": 0},
                    y2={"value": height},
                )

    # -- times -----------------------------------------------------------------------------

    def _since(self, at: float) -> float:
        """Return a time since the launch, to a tenth of a unit of the picture."""
        digits = 4 - math.ceil(math.log10(self._length_s))
        return round(at - self._timeline.began_at, digits)

    def _place(self, at: float) -> float:
        return round(WIDTH * (at - self._timeline.began_at) / self._length_s, 1)

    def _encode_time(self) -> JsonObject:
        scale = {"domain": [0, self._length_s], "nice": False, "zero": False}
        return {"field": "t", "type": "quantitative", "scale": scale, "axis": None}

    def _clock(self, at: float) -> str:
        return f"{duration(at - self._timeline.began_at)} ({format_clock(at)})"

    def _describe(self, mark: Mark) -> str:
        return f"{mark.text}, after {self._clock(mark.at)}"


def _make_axis(panel: Panel, lines: Sequence[ChartLine]) -> _Axis:
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
        return _Axis(tuple(list_decades(low, high, 4)), is_logarithmic=True)
    low = low if panel.is_floating else min(low, 0.0)
    high = max(high, panel.top or high)
    if high <= low:
        low, high = (low - 0.5, low + 0.5) if panel.is_floating else (low, low + 1.0)
    return _Axis(tuple(list_ticks(low, high, 4)))


def _place_ticks(axis: _Axis, height: int) -> Iterator[tuple[float, float]]:
    """Yield each tick with its distance from the upper edge."""
    scale = math.log10 if axis.is_logarithmic else float
    low, high = scale(axis.ticks[0]), scale(axis.ticks[-1])
    for tick in axis.ticks:
        yield tick, round(height * (1 - (scale(tick) - low) / (high - low)), 1)


def _make_axis_labels(name: str, axis: _Axis, height: int) -> Iterator[JsonObject]:
    placed = list(_place_ticks(axis, height))
    shown = placed if len(placed) * 15 <= height + 15 else [placed[0], placed[-1]]
    for index, (tick, y) in enumerate(shown):
        label = format_number(tick)
        yield _text(f"{name}_tick_{index}", label, -8, y + 1, Role.MUTED, "right")


def _make_heading(name: str, panel: Panel) -> Iterator[JsonObject]:
    """Yield the title of a panel, its unit, and its legend, as far as there is room."""
    yield _text(f"{name}_title", panel.title, 0, _TITLE_UP, Role.TEXT, "left", is_bold=True)
    x = estimate_width(panel.title, _FONT_SIZE * 1.12) + 6
    unit = ", ".join(one for one in (panel.unit, "logarithmic" * panel.is_logarithmic) if one)
    if unit:
        yield _text(f"{name}_unit", unit, x, _TITLE_UP, Role.MUTED, "left")
        x += estimate_width(unit, _FONT_SIZE)
    x += 22
    for index, line in enumerate(panel.lines):
        is_limit = line.kind is LineKind.LIMIT
        words = f"{line.name} and their range" if line.kind is LineKind.MEDIAN else line.name
        width = 18 + estimate_width(words, _FONT_SIZE)
        if x + width > WIDTH:
            rest = f"and {len(panel.lines) - index} more"
            yield _text(f"{name}_legend_rest", rest, x, _TITLE_UP, Role.MUTED, "left")
            return
        role = Role.LIMIT if is_limit else SERIES[index % len(SERIES)]
        dash = {"strokeDash": [4, 3]} if is_limit else {}
        yield _layer(
            f"{name}_swatch_{index}",
            [{"x": x, "x2": x + 13, "y": _TITLE_UP}],
            {"type": "rule", "color": LIGHT[role], "strokeWidth": 2.5, **dash},
            x=_pixel("x"),
            x2={"field": "x2"},
            y=_pixel("y"),
        )
        yield _text(f"{name}_legend_{index}", words, x + 18, _TITLE_UP, Role.MUTED, "left")
        x += width + 14


def _text(
    name: str, text: str, x: float, y: float, role: Role, align: str, *, is_bold: bool = False
) -> JsonObject:
    mark: JsonObject = {"type": "text", "align": align, "baseline": "middle"}
    mark |= {"color": LIGHT[role], "fontSize": _FONT_SIZE}
    mark |= {"fontWeight": "bold"} if is_bold else {}
    rows: Rows = [{"x": x, "y": y, "s": text}]
    return _layer(name, rows, mark, x=_pixel("x"), y=_pixel("y"), text={"field": "s"})


def _layer(name: str, rows: Rows, mark: JsonObject, **encoding: JsonObject) -> JsonObject:
    return {"name": name, "data": {"values": rows}, "mark": mark, "encoding": encoding}


def _pixel(field: str) -> JsonObject:
    """Return the encoding of a place in units of the picture."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def _value(field: str, axis: _Axis) -> JsonObject:
    return {"field": field, "type": "quantitative", "scale": axis.encode(), "axis": None}


def _role_of(mark: Mark) -> Role:
    return OF_MARKS[mark.kind]


def _colour_of(mark: Mark) -> str:
    return LIGHT[_role_of(mark)]
