"""What a pattern saw, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpualert_common.classify.lines import Place
from gpualert_common.classify.prefixes import Line
from gpualert_common.classify.rules import Pattern
from gpualert_common.model import Role

EXCERPT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Observation:
    """A pattern seen on a line.  ``details`` are its named groups, ``excerpt`` the line, cut."""

    pattern: Pattern
    file: str
    place: Place
    excerpt: str
    rank: int | None
    stream: str
    details: dict[str, str]

    @property
    def cause(self) -> str:
        """The cause the pattern belongs to."""
        return self.pattern.cause

    @property
    def role(self) -> Role:
        """What the pattern means by it."""
        return self.pattern.role


def observed(pattern: Pattern, match: Any, line: Line, file: str, place: Place) -> Observation:
    """The observation of *pattern*, whose *match* was found in the text of *line*."""
    details = {key: value for key, value in match.groupdict().items() if value}
    excerpt = _excerpt(line.text, match.start(), match.end())
    return Observation(pattern, file, place, excerpt, line.rank, line.stream, details)


def _excerpt(text: str, start: int, end: int) -> str:
    """At most :data:`EXCERPT_CHARS` of *text*, its start or, in a long line, around the match."""
    if len(text) <= EXCERPT_CHARS:
        return text
    if end <= EXCERPT_CHARS - 1:
        return text[: EXCERPT_CHARS - 1] + "…"
    begin = max(0, min(start, len(text) - EXCERPT_CHARS + 2))
    return "…" + text[begin : begin + EXCERPT_CHARS - 2] + "…"
