"""The timeline as a Vega-Lite chart: panels over one another, with one axis of time.

All texts are values of the data and never expressions, so that no text of a run is interpreted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gpualert_common.charts.line_thinning import MOST_POINTS, thin_line
from gpualert_common.charts.mark_strip import build_strip
from gpualert_common.charts.number_text import list_count_ticks, list_time_ticks
from gpualert_common.charts.palette import LIGHT, OF_MARKS, SERIES, ColourRole
from gpualert_common.charts.panel_texts import make_axis_labels, make_heading
from gpualert_common.charts.timeline import ChartLine, LineKind, MarkKind, Panel, Timeline
from gpualert_common.charts.value_axis import ValueAxis, make_axis, place_ticks
from gpualert_common.charts.vega_layers import (
    TITLED,
    WIDTH,
    JsonObject,
    Rows,
    at_pixel,
    at_value,
    make_layer,
    make_text,
)
from gpualert_common.report.formatting import time as format_clock
from gpualert_common.structs import replace

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
_HEIGHT = 66
_FIRST_HEIGHT = 112
_SPACING = 34
_MOST_VALUES = 7000
"""Points of all lines together: with their ranges they take some 200 KB as SVG."""
_MOST_RULED_CHECKPOINTS = 12
"""More of them would hide the lines; they are then only symbols above the panels."""
_FEW_LINES = 4
"""The ranges of more lines lie over one another."""
_LEAST_RANGE = 0.01
"""Of the height of a panel; a thinner band cannot be seen."""


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
        began, ended = timeline.began_at, timeline.ended_at
        is_time = not timeline.unit
        self._ticks = list_time_ticks(self._length_s) if is_time else list_count_ticks(began, ended)

    # -- views -----------------------------------------------------------------------------

    def build_marks(self) -> JsonObject:
        """Return the strip above the panels: a symbol for each event, with labels over them."""
        describe = self._timeline.describe_position
        marks = [
            (self._place(one.at), replace(one, text=f"{one.text}, after {describe(one.at)}"))
            for one in self._timeline.marks
        ]
        return build_strip(marks, WIDTH)

    def build_panel(self, index: int, panel: Panel) -> JsonObject:
        """Return a panel: its title and legend, its axis, its lines, and a rule for each event."""
        height = _FIRST_HEIGHT if index == 0 else _HEIGHT
        lines = [thin_line(line, self._most) for line in panel.lines]
        axis = make_axis(panel, lines)
        name = f"panel_{index}"
        layers = [
            self._make_grid(name, axis, height),
            *self._make_bands(name, lines, axis),
            *self._make_rules(name, height),
            *self._make_lines(name, lines, axis),
            *self._make_lost_values(name, lines),
            *make_heading(name, panel, self._list_new_names(index)),
            *make_axis_labels(name, axis, height),
        ]
        return {"name": name, "width": WIDTH, "height": height, "layer": layers}

    def build_time_labels(self) -> JsonObject:
        """Return the labels of the axis of time, below the last panel."""
        up = -_SPACING + 16
        layers = []
        for index, (at, label) in enumerate(self._ticks):
            x = WIDTH * at / self._length_s
            align = "left" if x < 8 else "right" if x > WIDTH - 8 else "center"
            layers.append(make_text(f"time_{index}", label, x, up, ColourRole.MUTED, align))
        began_at, unit = self._timeline.began_at, self._timeline.unit
        title = unit or f"time since the launch at {format_clock(began_at)}"
        layers.append(make_text("time_title", title, 0, up + 17, ColourRole.MUTED, "left"))
        return {"name": "time", "width": WIDTH, "height": 1, "layer": layers}

    # -- layers of a panel -----------------------------------------------------------------

    def _make_grid(self, name: str, axis: ValueAxis, height: int) -> JsonObject:
        """Return the lines of the grid: of the values, and of time."""
        places = [round(WIDTH * at / self._length_s, 1) for at, _label in self._ticks]
        rows: Rows = [
            *({"x": 0, "x2": WIDTH, "y": y, "y2": y} for _tick, y in place_ticks(axis, height)),
            *({"x": x, "x2": x, "y": 0, "y2": height} for x in places),
        ]
        return make_layer(
            f"{name}_grid",
            rows,
            {"type": "rule", "color": LIGHT[ColourRole.GRID], "strokeWidth": 1},
            x=at_pixel("x"),
            x2={"field": "x2"},
            y=at_pixel("y"),
            y2={"field": "y2"},
        )

    def _make_bands(
        self, name: str, lines: Sequence[ChartLine], axis: ValueAxis
    ) -> Iterator[JsonObject]:
        """Yield the range of each line whose points stand for several values."""
        for index, line in enumerate(lines):
            if not _has_range(line, axis):
                continue
            rows: Rows = [
                {"t": self._since(at), "l": low, "h": high}
                for at, low, high in zip(line.at, line.low, line.high, strict=False)
            ]
            of_one = 0.2 if len(lines) <= _FEW_LINES else 0.08
            mark = {
                "type": "area",
                "color": LIGHT[SERIES[index % len(SERIES)]],
                "opacity": 0.28 if line.kind is LineKind.MEDIAN else of_one,
                "invalid": "break-paths-filter-domains",
            }
            yield make_layer(
                f"{name}_band_{index}",
                rows,
                mark,
                x=self._encode_time(),
                y=at_value("l", axis),
                y2={"field": "h"},
            )

    def _make_lines(
        self, name: str, lines: Sequence[ChartLine], axis: ValueAxis
    ) -> Iterator[JsonObject]:
        for index, line in enumerate(lines):
            is_limit = line.kind is LineKind.LIMIT
            role = ColourRole.LIMIT if is_limit else SERIES[index % len(SERIES)]
            mark = {
                "type": "line",
                "color": LIGHT[role],
                "strokeWidth": 1.2 if is_limit else 1.5,
                "strokeCap": "round",
                "strokeJoin": "round",
                "invalid": "break-paths-filter-domains",
                **({"strokeDash": [5, 4]} if is_limit else {}),
            }
            rows: Rows = [
                {"t": self._since(at), "v": value}
                for at, value in zip(line.at, line.value, strict=True)
            ]
            if rows:
                yield make_layer(
                    f"{TITLED}{name}_line_{index}",
                    rows,
                    mark,
                    x=self._encode_time(),
                    y=at_value("v", axis),
                    description={"value": line.name},
                )

    def _make_lost_values(self, name: str, lines: Sequence[ChartLine]) -> Iterator[JsonObject]:
        """Yield crosses at the top of the panel for values that are not finite."""
        describe = self._timeline.describe_position
        rows: Rows = [
            {"t": self._since(at), "s": f"{line.name}: not finite at {describe(at)}"}
            for line in lines
            for at in line.not_finite_at
        ]
        if rows:
            mark = {
                "type": "point",
                "shape": "cross",
                "size": 40,
                "angle": 45,
                "filled": True,
                "color": LIGHT[ColourRole.NOT_FINITE],
                "opacity": 1,
            }
            yield make_layer(
                f"{TITLED}{name}_lost",
                rows,
                mark,
                x=self._encode_time(),
                y={"value": 5},
                description={"field": "s"},
            )

    def _make_rules(self, name: str, height: int) -> Iterator[JsonObject]:
        """Yield a rule for each event, through the whole panel."""
        for kind in MarkKind:
            times = [one.at for one in self._timeline.marks if one.kind is kind]
            if kind is MarkKind.CHECKPOINT and len(times) > _MOST_RULED_CHECKPOINTS:
                continue
            is_last = kind in (MarkKind.FAILURE, MarkKind.END)
            mark = {
                "type": "rule",
                "color": LIGHT[OF_MARKS[kind]],
                "strokeWidth": 1,
                "opacity": 0.8 if is_last else 0.55,
                **({} if is_last else {"strokeDash": [2, 3]}),
            }
            if times:
                yield make_layer(
                    f"{name}_rule_{kind}",
                    [{"x": self._place(at)} for at in times],
                    mark,
                    x=at_pixel("x"),
                    y={"value": 0},
                    y2={"value": height},
                )

    def _list_new_names(self, index: int) -> frozenset[str]:
        """Return the names of lines for the legend: none if the panel above has the same ones."""
        panels = self._timeline.panels
        names, above = (
            [line.name for line in panel.lines if line.kind is not LineKind.LIMIT]
            for panel in (panels[index], panels[max(0, index - 1)])
        )
        return frozenset() if index and names == above else frozenset(names)

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


def _has_range(line: ChartLine, axis: ValueAxis) -> bool:
    """Return whether the extremes of a line are far enough from its values to be seen."""
    least = 0.0 if axis.is_logarithmic else _LEAST_RANGE * (axis.ticks[-1] - axis.ticks[0])
    pairs = zip(line.low, line.high, strict=False)
    return any(low is not None and high is not None and high - low > least for low, high in pairs)
