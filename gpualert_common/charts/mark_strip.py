"""The strip over the panels: a symbol for each event of the run, with labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.charts.mark_labels import ROW_HEIGHT, PlacedLabel, place_labels
from gpualert_common.charts.palette import LIGHT, OF_MARKS
from gpualert_common.charts.timeline import Mark, MarkKind
from gpualert_common.charts.vega_layers import (
    FONT_SIZE,
    TITLED,
    JsonObject,
    Rows,
    at_pixel,
    make_layer,
    make_text,
)

_SHAPES = {
    MarkKind.CHECKPOINT: "circle",
    MarkKind.WARNING: "triangle-up",
    MarkKind.SIGNAL: "square",
    MarkKind.STACKS: "diamond",
    MarkKind.NOT_FINITE: "cross",
    MarkKind.FAILURE: "triangle-down",
    MarkKind.END: "square",
}
_SYMBOL_HEIGHT = 10


def build_strip(marks: Sequence[tuple[float, Mark]], width: int) -> JsonObject:
    """Return the strip; *marks* come with their distance from the left edge."""
    labels = place_labels(marks, width, FONT_SIZE)
    rows = max((one.row for one in labels), default=-1) + 1
    height = rows * ROW_HEIGHT + _SYMBOL_HEIGHT
    layers = [
        *(_make_stem(index, one, height) for index, one in enumerate(labels)),
        *(_make_label(index, one, height) for index, one in enumerate(labels)),
        *_make_symbols(marks, height),
    ]
    return {"name": "strip", "width": width, "height": height, "layer": layers}


def _make_stem(index: int, label: PlacedLabel, height: int) -> JsonObject:
    """Return the line between a mark and its label."""
    top = height + 6 - _SYMBOL_HEIGHT - ROW_HEIGHT * (label.row + 1)
    return make_layer(
        f"stem_{index}",
        [{"x": label.x, "y": top, "y2": height}],
        {"type": "rule", "color": LIGHT[OF_MARKS[label.mark.kind]], "strokeWidth": 1},
        x=at_pixel("x"),
        y=at_pixel("y"),
        y2={"field": "y2"},
    )


def _make_label(index: int, label: PlacedLabel, height: int) -> JsonObject:
    y = height - _SYMBOL_HEIGHT - ROW_HEIGHT * (label.row + 0.5)
    x = label.x + (-4 if label.is_left else 4)
    align = "right" if label.is_left else "left"
    return make_text(f"label_{index}", label.mark.label, x, y, OF_MARKS[label.mark.kind], align)


def _make_symbols(marks: Sequence[tuple[float, Mark]], height: int) -> Iterator[JsonObject]:
    """Yield the symbols of each kind, with titles."""
    for kind, shape in _SHAPES.items():
        rows: Rows = [
            {"x": x, "y": height - 2, "s": one.text} for x, one in marks if one.kind is kind
        ]
        if rows:
            mark = {
                "type": "point",
                "shape": shape,
                "size": 34,
                "filled": True,
                "color": LIGHT[OF_MARKS[kind]],
                "opacity": 1,
            }
            yield make_layer(
                f"{TITLED}marks_{kind}",
                rows,
                mark,
                x=at_pixel("x"),
                y=at_pixel("y"),
                description={"field": "s"},
            )
