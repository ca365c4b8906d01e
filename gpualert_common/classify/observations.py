"""Matches of patterns, with their place in a log."""

from __future__ import annotations

import re

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.rules import RulePattern
from gpualert_common.model import Role
from gpualert_common.redact.middle import mask_middle
from gpualert_common.structs import Struct
from gpualert_common.whole_words import MARK, cut_to_last_words, cut_words

EXCERPT_CHARS = 300


class Observation(Struct, frozen=True):
    """A match of a pattern.  ``details`` are its named groups, ``excerpt`` is the line, cut."""

    pattern: RulePattern
    file: str
    place: LinePosition
    excerpt: str
    rank: int | None
    stream: str
    details: dict[str, str]

    @property
    def cause(self) -> str:
        """The cause that the pattern belongs to."""
        return self.pattern.cause

    @property
    def role(self) -> Role:
        """The role of the pattern."""
        return self.pattern.role


def make_observation(
    pattern: RulePattern, match: re.Match[str], line: PrefixedLine, file: str, place: LinePosition
) -> Observation:
    """Return the observation of *pattern*, whose *match* is in the text of *line*."""
    details = {key: value for key, value in match.groupdict().items() if value}
    excerpt = _cut_around(line.text, match.start(), match.end())
    return Observation(pattern, file, place, excerpt, line.rank, line.stream, details)


def _cut_around(text: str, start: int, end: int) -> str:
    """Return at most :data:`EXCERPT_CHARS` of *text*: its start, or else around the match.

    An excerpt from the middle is masked here: the name that marks a secret may be before it.
    """
    if end < EXCERPT_CHARS or len(text) <= EXCERPT_CHARS:
        return cut_words(text, EXCERPT_CHARS)
    room = EXCERPT_CHARS - len(MARK)
    begin = min(start, len(text) - room)
    masked = mask_middle(text, begin, room)
    return MARK + (cut_words if begin == start else cut_to_last_words)(masked, room)
