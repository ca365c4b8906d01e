"""A table in columns that fit the terminal: the least important ones are left out first."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.report.formatting import columns as count_columns
from gpualert_common.structs import Struct

_GAP = "  "
_CUT = "…"


class Column(Struct, frozen=True):
    """One column: its title, and a cell and a colour for each row.

    ``least`` is the width to which its cells may be cut, None for cells that are never cut.  Of two
    columns, the one of the higher ``rank`` is left out first, and widened last; rank 0 stays.
    """

    title: str
    cells: Sequence[str]
    rank: int = 0
    least: int | None = None
    is_right: bool = False
    colours: Sequence[str] = ()

    @property
    def width(self) -> int:
        """Width of the widest cell."""
        return max(map(count_columns, (self.title, *self.cells)))

    @property
    def least_width(self) -> int:
        """Width that the column has at least."""
        return self.width if self.least is None else min(self.width, self.least)


def format_table(columns: Sequence[Column], width: int, *, title_colour: str = "") -> list[str]:
    """Return the header and the rows in at most ``width`` terminal columns.

    They are wider only if the columns of rank 0 are.  ``title_colour`` and the colours of the cells
    are the parameters of an escape sequence; "" is none.
    """
    widths = _choose_widths(columns, width)
    kept = [(column, size) for column, size in zip(columns, widths, strict=True) if size]
    lines = [_GAP.join(_pad(column, column.title, size, title_colour) for column, size in kept)]
    lines += [
        _GAP.join(
            _pad(column, column.cells[row], size, column.colours[row] if column.colours else "")
            for column, size in kept
        )
        for row in range(len(columns[0].cells))
    ]
    return [line.rstrip() for line in lines]


def _choose_widths(columns: Sequence[Column], width: int) -> list[int]:
    """Return the width of each column, 0 for one that is left out."""
    widths = [0] * len(columns)
    room = width + len(_GAP)
    order = sorted(range(len(columns)), key=lambda at: columns[at].rank)
    for at in order:
        least = columns[at].least_width
        if columns[at].rank and least + len(_GAP) > room:
            break
        widths[at] = least
        room -= least + len(_GAP)
    for at in order:
        more = min(max(0, room), columns[at].width - widths[at]) if widths[at] else 0
        widths[at] += more
        room -= more
    return widths


def _pad(column: Column, cell: str, size: int, colour: str) -> str:
    text = cut_columns(cell, size)
    blanks = " " * (size - count_columns(text))
    if colour and text:
        text = f"\x1b[{colour}m{text}\x1b[0m"
    return blanks + text if column.is_right else text + blanks


def cut_columns(text: str, most: int) -> str:
    """Return a text in at most ``most`` terminal columns; "…" marks a cut."""
    if count_columns(text) <= most:
        return text
    used, kept = len(_CUT), ""
    for char in text:
        used += count_columns(char)
        if used > most:
            break
        kept += char
    return kept.rstrip() + _CUT
