"""A verdict for a terminal: the important parts on top, the facts of the run at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpualert_common.report.colours import has_colours
from gpualert_common.report.formatting import wrap
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.verdict_view import EXIT_STATUS, EvidenceItem, VerdictView
from gpualert_common.structs import Struct

_STDOUT = 1
_LEAST_COLUMNS = 24
_MOST_COLUMNS = 100
"""Longer lines are hard to read."""
_SIDE_TITLES_FROM = 60
"""Smallest width with the titles to the left of their texts, not above them."""
_TITLE_COLUMNS = 15
_INDENT = 2
_EXCERPT_LINES = 3
_FACT_LINES = 4
_MOST = {"Do": 3, "Shows": 4, "Cannot decide": 2, "Also seen": 2, "Ruled out": 3, "Warnings": 3}
_STARTS_BLOCK = ("Do", "Shows", "Implies", "Also seen", "Warnings")
"""Sections with an empty line before them."""
TONES = {"good": "1;32", "odd": "1;33", "bad": "1;31"}
TITLE, _QUIET, _PLAIN = "1", "2", "0"


class TerminalLayout(Struct, frozen=True):
    """Columns of the page, with or without colours; ``is_full`` shows every item."""

    columns: int = 80
    colours: bool = False
    is_full: bool = False

    @classmethod
    def of_stdout(cls, *, is_full: bool = False) -> TerminalLayout:
        """Return the layout of a page on stdout."""
        return cls.of_descriptor(_STDOUT, is_full=is_full)

    @classmethod
    def of_descriptor(cls, fd: int, *, is_full: bool = False) -> TerminalLayout:
        """Return the layout of the terminal: its width, and colours where they are wanted."""
        columns = _count_columns(fd)
        return cls(min(max(columns, _LEAST_COLUMNS), _MOST_COLUMNS), has_colours(fd), is_full)

    @property
    def title_columns(self) -> int:
        """Columns of the titles to the left of the texts; 0 where titles stand above them."""
        return _TITLE_COLUMNS if self.columns >= _SIDE_TITLES_FROM else 0

    def paint(self, text: str, colour: str) -> str:
        """Return a line in a colour, where there are colours."""
        return f"\x1b[{colour}m{text}\x1b[{_PLAIN}m" if self.colours and colour and text else text


def render_page(
    view: VerdictView,
    layout: TerminalLayout,
    *,
    lasted_s: float | None = None,
    now: Sequence[Fact] = (),
    facts: Sequence[Fact] = (),
) -> list[str]:
    """Return the lines of a verdict.  ``now`` are the facts about a run in progress.

    No line is wider than the layout, except a single word that is: it may be a path.
    """
    headline = wrap(view.headline, layout.columns).splitlines()
    lines = [layout.paint(line, TONES[view.tone]) for line in headline]
    lines += wrap(view.summarize(lasted_s), layout.columns).splitlines()
    if now:
        lines.append("")
    for fact in now:
        lines += _entry(fact, layout)
    has_block = False
    for title, items in view.sections():
        some = [item for item in items if item]
        if some:
            lines += [""] if title in _STARTS_BLOCK or not has_block else []
            lines += _section(title, some, layout)
            has_block = True
    if facts:
        lines.append("")
    for fact in facts:
        lines += _entry(fact, layout)
    return lines


def _count_columns(fd: int) -> int:
    """Return the width of the terminal; 80 if there is none, or it does not know its width."""
    given = os.environ.get("COLUMNS", "")
    try:
        return (int(given) if given.isdecimal() else 0) or os.get_terminal_size(fd).columns or 80
    except (OSError, ValueError):
        return 80


def _section(title: str, items: Sequence[str | EvidenceItem], layout: TerminalLayout) -> list[str]:
    most = len(items) if layout.is_full else _MOST.get(title, len(items))
    room = layout.columns - (layout.title_columns or _INDENT)
    lines: list[str] = []
    for number, item in enumerate(items[:most], start=1):
        mark = (f"{number}. " if title == "Do" else "- ") if len(items) > 1 else ""
        lines += _mark_lines(mark, _item(item, room - len(mark), layout))
    if len(items) > most:
        lines.append(f"and {len(items) - most} more, with --full")
    return _format_section(title, lines, layout)


def _item(item: str | EvidenceItem, room: int, layout: TerminalLayout) -> list[str]:
    if not isinstance(item, EvidenceItem):
        return wrap(item, room).splitlines()
    lines = wrap(_with_place(item), room).splitlines()
    if item.excerpt:
        room -= _INDENT
        quoted = _cut(wrap(item.excerpt, room, breaks=True), _EXCERPT_LINES, room, layout)
        lines += [layout.paint(line, _QUIET) for line in _mark_lines("> ", quoted)]
    return lines


def _mark_lines(mark: str, lines: Sequence[str]) -> list[str]:
    """Return lines with a mark before the first of them."""
    return [f"{' ' * len(mark) if number else mark}{line}" for number, line in enumerate(lines)]


def _with_place(item: EvidenceItem) -> str:
    """Return the claim with its place, unless there is nothing to look up."""
    return item.claim if item.where in ("", EXIT_STATUS) else f"{item.claim} [{item.where}]"


def _entry(fact: Fact, layout: TerminalLayout) -> list[str]:
    title, value = fact
    if layout.title_columns:
        room = layout.columns - layout.title_columns
        return _format_section(title, _cut(wrap(value, room), _FACT_LINES, room, layout), layout)
    text = wrap(f"{title}: {value}", layout.columns, indent=" " * _INDENT)
    first, *rest = _cut(text, _FACT_LINES, layout.columns, layout)
    return [layout.paint(title, TITLE) + first[len(title) :], *rest]


def _cut(text: str, most: int, room: int, layout: TerminalLayout) -> list[str]:
    """Return the first lines of a text; "…" where there are more, and the layout has no room."""
    lines = text.splitlines()
    if len(lines) <= most or layout.is_full:
        return lines
    return [*lines[: most - 1], lines[most - 1][: room - 1] + "…"]


def _format_section(title: str, lines: Sequence[str], layout: TerminalLayout) -> list[str]:
    head = layout.paint(title, TITLE)
    if not layout.title_columns:
        return [head, *(f"{'':{_INDENT}}{line}" for line in lines)]
    gap = " " * (layout.title_columns - len(title))
    rest = " " * layout.title_columns
    return [f"{rest if number else head + gap}{line}" for number, line in enumerate(lines)]
