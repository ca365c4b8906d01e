"""Layers of a Vega-Lite chart: data, a mark, and the places of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.charts.palette import LIGHT, ColourRole
from gpualert_common.charts.value_axis import ValueAxis

WIDTH = 724
"""Width of the panels, in units of the picture; the whole picture is some 800 wide."""
FONT_SIZE = 11
TITLED = "titled_"
"""Begin of the names of layers whose elements have a title to point at."""

JsonObject = Mapping[str, object]
Rows = Sequence[JsonObject]


def make_layer(name: str, rows: Rows, mark: JsonObject, **encoding: JsonObject) -> JsonObject:
    """Return a layer with its own data; its name is unique in the chart."""
    return {"name": name, "data": {"values": rows}, "mark": mark, "encoding": encoding}


def make_text(
    name: str, text: str, x: float, y: float, role: ColourRole, align: str, *, is_bold: bool = False
) -> JsonObject:
    """Return a layer with one text, placed in units of the picture from the panel's corner."""
    mark = {
        "type": "text",
        "align": align,
        "baseline": "middle",
        "color": LIGHT[role],
        "fontSize": FONT_SIZE,
        **({"fontWeight": "bold"} if is_bold else {}),
    }
    rows: Rows = [{"x": x, "y": y, "s": text}]
    return make_layer(name, rows, mark, x=at_pixel("x"), y=at_pixel("y"), text={"field": "s"})


def at_pixel(field: str) -> JsonObject:
    """Return the encoding of a place in units of the picture."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def at_value(field: str, axis: ValueAxis) -> JsonObject:
    """Return the encoding of a place by a value on the axis."""
    return {"field": field, "type": "quantitative", "scale": axis.encode(), "axis": None}
