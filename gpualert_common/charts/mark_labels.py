"""Places of the labels of marks: in rows, without overlap, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.charts.text_width import estimate_width
from gpualert_common.charts.timeline import Mark, MarkKind
from gpualert_common.structs import Struct

ROW_HEIGHT = 14
MOST_ROWS = 3
_GAP = 8.0
_REPEATED_AFTER = 220.0
"""Distance from which on the label of a mark is repeated at another one."""
_IMPORTANCE = {
    MarkKind.FAILURE: 0,
    MarkKind.END: 0,
    MarkKind.SIGNAL: 0,
    MarkKind.NOT_FINITE: 1,
    MarkKind.WARNING: 1,
    MarkKind.STACKS: 2,
    MarkKind.CHECKPOINT: 3,
}


class PlacedLabel(Struct, frozen=True):
    """A label; ``row`` 0 is the lowest.  It is left of its mark if it ``is_left``."""

    mark: Mark
    x: float
    row: int
    is_left: bool


def place_labels(
    marks: Sequence[tuple[float, Mark]], width: float, font_size: float
) -> list[PlacedLabel]:
    """Return the labels that have a place; *marks* come with their distance from the left edge.

    The stem from a mark to its label crosses no other label.
    """
    placer = _Placer()
    for one in sorted(_find_sides(marks, width, font_size), key=_rank):
        placer.place(one)
    return placer.placed


class _Candidate(Struct, frozen=True):
    """A label with its span; ``is_left`` if it is left of its mark."""

    mark: Mark
    x: float
    begin: float
    end: float
    is_left: bool


class _Placer:
    """The rows of labels, with the spans that are taken, and the stems that pass through them."""

    def __init__(self) -> None:
        self.placed: list[PlacedLabel] = []
        self._spans: list[list[tuple[float, float]]] = [[] for _ in range(MOST_ROWS)]
        self._stems: list[list[float]] = [[] for _ in range(MOST_ROWS)]

    def place(self, one: _Candidate) -> None:
        """Place a label in the lowest row with room, unless the same one is near."""
        for other in self.placed:
            if other.mark.label == one.mark.label and abs(other.x - one.x) < _REPEATED_AFTER:
                return
        for row in range(MOST_ROWS):
            if self._has_room(one, row):
                self._spans[row].append((one.begin, one.end))
                for below in self._stems[:row]:
                    below.append(one.x)
                self.placed.append(PlacedLabel(one.mark, one.x, row, one.is_left))
                return

    def _has_room(self, one: _Candidate, row: int) -> bool:
        is_free = all(one.end <= begin or one.begin >= end for begin, end in self._spans[row])
        is_crossed = any(one.begin < stem < one.end for stem in self._stems[row])
        below = (span for spans in self._spans[:row] for span in spans)
        return is_free and not is_crossed and not any(begin < one.x < end for begin, end in below)


def _find_sides(
    marks: Sequence[tuple[float, Mark]], width: float, font_size: float
) -> Iterator[_Candidate]:
    """Yield the labels that fit into the width: right of the mark, or else left of it."""
    for x, mark in marks:
        length = estimate_width(mark.label, font_size) + _GAP
        is_left = x + length > width
        begin, end = (x - length, x) if is_left else (x, x + length)
        if mark.label and begin >= 0:
            yield _Candidate(mark, x, begin, end, is_left)


def _rank(one: _Candidate) -> tuple[int, float]:
    """Return the order of placing: labels begin at their marks, so the last one is the lowest."""
    is_forward = one.is_left or one.mark.kind is MarkKind.CHECKPOINT  # the first one has a label
    return _IMPORTANCE[one.mark.kind], one.x if is_forward else -one.x
