"""Texts of a panel: its title, its unit, its legend, and the labels of its axis."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.charts.number_text import format_number
from gpualert_common.charts.palette import LIGHT, SERIES, ColourRole
from gpualert_common.charts.text_width import estimate_width
from gpualert_common.charts.timeline import LineKind, Panel
from gpualert_common.charts.value_axis import ValueAxis, place_ticks
from gpualert_common.charts.vega_layers import (
    FONT_SIZE,
    WIDTH,
    JsonObject,
    at_pixel,
    make_layer,
    make_text,
)

_UP = -10
"""Place of the title: so far above the panel."""
_BOLD = 1.12
"""Width of a bold text, by that of a plain one."""
_SWATCH = 18
_LABEL_HEIGHT = 15


def make_axis_labels(name: str, axis: ValueAxis, height: int) -> Iterator[JsonObject]:
    """Yield the labels of the ticks; only those of the ends where the others have no room."""
    placed = list(place_ticks(axis, height))
    has_room = (len(placed) - 1) * _LABEL_HEIGHT <= height
    shown = placed if has_room else [placed[0], placed[-1]]
    for index, (tick, y) in enumerate(shown):
        label = format_number(tick)
        yield make_text(f"{name}_tick_{index}", label, -8, y + 1, ColourRole.MUTED, "right")


def make_heading(name: str, panel: Panel, new_names: frozenset[str]) -> Iterator[JsonObject]:
    """Yield the title of a panel, its unit, and its legend, as far as there is room."""
    yield make_text(f"{name}_title", panel.title, 0, _UP, ColourRole.TEXT, "left", is_bold=True)
    x = estimate_width(panel.title, FONT_SIZE * _BOLD) + 7
    unit = ", ".join(one for one in (panel.unit, "logarithmic" * panel.is_logarithmic) if one)
    if unit:
        yield make_text(f"{name}_unit", unit, x, _UP, ColourRole.MUTED, "left")
        x += estimate_width(unit, FONT_SIZE)
    yield from _make_legend(name, panel, new_names, x + 20)


def _make_legend(
    name: str, panel: Panel, new_names: frozenset[str], x: float
) -> Iterator[JsonObject]:
    """Yield a swatch and a name for each limit and for each line of a new name, from *x* on."""
    for index, line in enumerate(panel.lines):
        is_limit = line.kind is LineKind.LIMIT
        if not is_limit and line.name not in new_names:
            continue
        words = f"{line.name} and their range" if line.kind is LineKind.MEDIAN else line.name
        width = _SWATCH + estimate_width(words, FONT_SIZE)
        if x + width > WIDTH:
            rest = f"and {len(panel.lines) - index} more"
            yield make_text(f"{name}_legend_rest", rest, x, _UP, ColourRole.MUTED, "left")
            return
        role = ColourRole.LIMIT if is_limit else SERIES[index % len(SERIES)]
        dash = {"strokeDash": [4, 3]} if is_limit else {}
        yield make_layer(
            f"{name}_swatch_{index}",
            [{"x": x, "x2": x + 13, "y": _UP}],
            {"type": "rule", "color": LIGHT[role], "strokeWidth": 2.5, **dash},
            x=at_pixel("x"),
            x2={"field": "x2"},
            y=at_pixel("y"),
        )
        yield make_text(f"{name}_legend_{index}", words, x + _SWATCH, _UP, ColourRole.MUTED, "left")
        x += width + 14
