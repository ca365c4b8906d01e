"""Places of the labels of marks: in rows, without overlap, the most important first."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.charts.text_width import estimate_width
from gpualert_common.charts.timeline import Mark, MarkKind
from gpualert_common.structs import Struct

ROW_HEIGHT = 14
MOST_ROWS = 3
_GAP = 8.0
_ORDER = (
    MarkKind.FAILURE,
    MarkKind.END,
    MarkKind.NOT_FINITE,
    MarkKind.SIGNAL,
    MarkKind.WARNING,
    MarkKind.STACKS,
    MarkKind.CHECKPOINT,
)


class PlacedLabel(Struct, frozen=True):
    """A label; ``row`` 0 is the lowest.  It is left of its mark if it ``is_left``."""

    mark: Mark
    x: float
    row: int
    is_left: bool


def place_labels(
    marks: Sequence[tuple[float, Mark]], width: float, font_size: float
) -> list[PlacedLabel]:
    """Return the labels that have a place; *marks* come with their distance from the left edge."""
    taken: list[list[tuple[float, float]]] = [[] for _ in range(MOST_ROWS)]
    stems: list[list[float]] = [[] for _ in range(MOST_ROWS)]  # of the labels in higher rows
    placed = []
    for x, mark in sorted(marks, key=lambda one: (_ORDER.index(one[1].kind), one[0])):
        if not mark.label:
            continue
        length = estimate_width(mark.label, font_size)
        is_left = x + length + _GAP > width
        begin, end = (x - length - _GAP, x) if is_left else (x, x + length + _GAP)
        if begin < 0 or end > width + _GAP:
            continue
        for row, spans in enumerate(taken):
            is_free = all(end <= other or begin >= until for other, until in spans)
            is_crossed = any(begin < stem < end for stem in stems[row])
            crosses = any(left < x < right for below in taken[:row] for left, right in below)
            if is_free and not is_crossed and not crosses:
                spans.append((begin, end))
                for below in stems[:row]:
                    below.append(x)
                placed.append(PlacedLabel(mark, x, row, is_left))
                break
    return placed
