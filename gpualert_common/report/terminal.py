"""A verdict for a terminal: what to know at once on top, the facts of the run at the end."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from gpualert_common.report.facts import Fact
from gpualert_common.report.told import STATUS, Shown, Told
from gpualert_common.report.words import wrap

_LEAST_COLUMNS = 24
_MOST_COLUMNS = 100
"""Longer lines are hard to read."""
_ASIDE_FROM = 60
"""Columns from which on titles stand beside their texts, and not above them."""
_TITLE_COLUMNS = 15
_INDENT = 2
_EXCERPT_LINES = 3
_FACT_LINES = 4
_MOST = {"Do": 3, "Shows": 4, "Cannot decide": 2, "Also seen": 2, "Ruled out": 3, "Warnings": 3}
_OPENS_BLOCK = ("Do", "Shows", "Implies", "Also seen", "Warnings")
"""Parts that stand after an empty line."""
_TONES = {"good": "1;32", "odd": "1;33", "bad": "1;31"}
_TITLE, _QUIET, _PLAIN = "1", "2", "0"


@dataclass(frozen=True, slots=True)
class Paper:
    """What is written on: so many columns, with or without colours, ``whole`` without a cut."""

    columns: int = 80
    colours: bool = False
    whole: bool = False

    @classmethod
    def of_stdout(cls, *, whole: bool = False) -> Paper:
        """As wide as the terminal; colours only for one that takes them, and a user who does."""
        columns = shutil.get_terminal_size((80, 0)).columns
        terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        colours = terminal and not os.environ.get("NO_COLOR")
        return cls(min(max(columns, _LEAST_COLUMNS), _MOST_COLUMNS), colours, whole)

    @property
    def aside(self) -> int:
        """Columns to the left of a text that has its title beside it; 0 where that is above."""
        return _TITLE_COLUMNS if self.columns >= _ASIDE_FROM else 0

    def painted(self, text: str, colour: str) -> str:
        """``text``, a line, in a colour where there are any."""
        return f"\x1b[{colour}m{text}\x1b[{_PLAIN}m" if self.colours and text else text


def page(
    told: Told,
    paper: Paper,
    *,
    lasted_s: float | None = None,
    now: Sequence[Fact] = (),
    facts: Sequence[Fact] = (),
) -> list[str]:
    """The lines that tell a verdict.  ``now`` is what is new of a run that goes on.

    No line is wider than the paper, but for words that are: they may be paths.
    """
    headline = wrap(told.headline, paper.columns).splitlines()
    lines = [paper.painted(line, _TONES[told.tone]) for line in headline]
    lines += wrap(told.summary(lasted_s), paper.columns).splitlines()
    if now:
        lines.append("")
    for fact in now:
        lines += _entry(fact, paper)
    is_open = False
    for title, items in told.parts():
        some = [item for item in items if item]
        if some:
            lines += [""] if title in _OPENS_BLOCK or not is_open else []
            lines += _part(title, some, paper)
            is_open = True
    if facts:
        lines.append("")
    for fact in facts:
        lines += _entry(fact, paper)
    return lines


def _part(title: str, items: Sequence[str | Shown], paper: Paper) -> list[str]:
    most = len(items) if paper.whole else _MOST.get(title, len(items))
    room = paper.columns - (paper.aside or _INDENT)
    lines: list[str] = []
    for number, item in enumerate(items[:most], start=1):
        mark = (f"{number}. " if title == "Do" else "- ") if len(items) > 1 else ""
        lines += _marked(mark, _item(item, room - len(mark), paper))
    if len(items) > most:
        lines.append(f"and {len(items) - most} more, with --full")
    return _titled(title, lines, paper)


def _item(item: str | Shown, room: int, paper: Paper) -> list[str]:
    if not isinstance(item, Shown):
        return wrap(item, room).splitlines()
    lines = wrap(_placed(item), room).splitlines()
    if item.excerpt:
        room -= _INDENT
        quoted = _cut(wrap(item.excerpt, room, breaks=True), _EXCERPT_LINES, room, paper)
        lines += [paper.painted(line, _QUIET) for line in _marked("> ", quoted)]
    return lines


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    """``lines`` behind a mark that stands before the first of them."""
    return [f"{' ' * len(mark) if number else mark}{line}" for number, line in enumerate(lines)]


def _placed(shown: Shown) -> str:
    """The claim and its place, unless that is nothing to look up."""
    return shown.claim if shown.where in ("", STATUS) else f"{shown.claim} [{shown.where}]"


def _entry(fact: Fact, paper: Paper) -> list[str]:
    title, value = fact
    if paper.aside:
        room = paper.columns - paper.aside
        return _titled(title, _cut(wrap(value, room), _FACT_LINES, room, paper), paper)
    said = wrap(f"{title}: {value}", paper.columns, indent=" " * _INDENT)
    first, *rest = _cut(said, _FACT_LINES, paper.columns, paper)
    return [paper.painted(title, _TITLE) + first[len(title) :], *rest]


def _cut(text: str, most: int, room: int, paper: Paper) -> list[str]:
    """The first lines of a text; "…" where there are more, and the paper does not show all."""
    lines = text.splitlines()
    if len(lines) <= most or paper.whole:
        return lines
    return [*lines[: most - 1], lines[most - 1][: room - 1] + "…"]


def _titled(title: str, lines: Sequence[str], paper: Paper) -> list[str]:
    head = paper.painted(title, _TITLE)
    if not paper.aside:
        return [head, *(f"{'':{_INDENT}}{line}" for line in lines)]
    gap = " " * (paper.aside - len(title))
    rest = " " * paper.aside
    return [f"{rest if number else head + gap}{line}" for number, line in enumerate(lines)]
