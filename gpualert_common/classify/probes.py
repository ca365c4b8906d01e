"""Probes: the quick searches that decide which lines of a log are compared with which patterns.

A probe is a pattern's literal, or its expression where it has none.  A filter over all probes
finds in one pass over a megabyte which of them may occur; an automaton over the expressions
themselves has so many states that building them takes longer than any search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from gpualert_common.classify.rules import RulePattern
from gpualert_common.model import Role
from gpualert_common.regex import NEVER, RegexError, RegexFilter, compile_bytes, escape

_SHORT_BYTES = 8 << 10
_SHORT_TEXTS = 8
"""The first texts are searched without a filter if short: that takes as long as making one."""
_GROUP_NAME = re.compile(r"\(\?P<\w+>")
_ANCHOR = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\\\]])*\])|[\^$]", re.DOTALL)
"""An anchor, or, in the group, an escape or a class, which may hold the same character."""


class Probe:
    """Stands for one or more patterns; without patterns it marks lines for the traceback parser."""

    def __init__(self, literal: bytes | None, expression: bytes) -> None:
        self.literal = literal
        self.expression = expression
        self.patterns: list[RulePattern] = []

    @property
    def has_benign(self) -> bool:
        """True when a pattern takes other lines out of account."""
        return any(pattern.role is Role.BENIGN for pattern in self.patterns)

    def find_line(self, text: bytes, at: int) -> int | None:
        """Return the start of the first line of *text*, at *at* or later, that may hold a match.

        *at* is the start of a line.  The answer does not depend on the other lines of *text*.
        """
        literal = self.literal
        if literal is not None:
            place = text.find(literal, at)
            while place >= 0:
                start, end = text.rfind(b"\n", 0, place) + 1, text.find(b"\n", place)
                line = text[start : end if end >= 0 else len(text)]
                if not (self.patterns and _is_plain(line)) or self._expression.search(line):
                    return start
                at = start + len(line)
                if _is_plain(text):
                    break  # the expression passes over more lines like this one at once
                place = text.find(literal, at)
            else:
                return None
        match = self._expression.search(text, at)
        return None if match is None else text.rfind(b"\n", 0, match.start()) + 1

    def occurs_in(self, line: bytes) -> bool:
        """True when *line* may hold a match."""
        return self.find_line(line, 0) is not None

    def find_line_starts(self, text: bytes) -> Iterator[int]:
        """Yield the start of every line of *text* that may hold a match, ascending."""
        start = self.find_line(text, 0)
        while start is not None:
            yield start
            end = text.find(b"\n", start)
            start = None if end < 0 else self.find_line(text, end + 1)

    @cached_property
    def _expression(self) -> re.Pattern[bytes]:
        loose = [loosen(pattern) for pattern in self.patterns] or [self.expression]
        try:
            return compile_bytes(b"|".join(loose))
        except RegexError:  # a wrong pattern of a user's own matches nothing
            sound = [one for one in loose if _compiles(one)]
            return compile_bytes(b"|".join(sound) or NEVER.encode())


def probe_literals(literals: Iterable[bytes]) -> list[Probe]:
    """Return a probe without patterns for each of *literals*."""
    return [Probe(literal, escape(literal)) for literal in literals]


def probe_patterns(patterns: Iterable[RulePattern]) -> list[Probe]:
    """Return the probes for *patterns*; patterns with the same literal share one."""
    probes: dict[bytes, Probe] = {}
    for pattern in patterns:
        literal = pattern.literal.encode() if pattern.literal is not None else None
        expression = escape(literal) if literal is not None else loosen(pattern)
        probe = probes.setdefault(expression, Probe(literal, expression))
        probe.patterns.append(pattern)
    return list(probes.values())


def _compiles(expression: bytes) -> bool:
    try:
        compile_bytes(expression)
    except RegexError:
        return False
    return True


def loosen(pattern: RulePattern) -> bytes:
    """Return the expression of *pattern* for lines as they stand in the log, without its anchors.

    With a prefix in front, or blanks at its end, a line is not where anchors expect it.
    """
    return b"(?:%s)" % _GROUP_NAME.sub("(?:", _ANCHOR.sub(r"\1", pattern.re)).encode()


class ProbeFilter:
    """Probes, and the filters that find which of them may occur in a text.

    One filter holds a limited number of strings; for more probes there are several.  They are made
    at need, since that takes longer than the search of a short log.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._all = list(probes)
        self._parts: list[_Part] | None = None
        self._short_texts = 0

    def compile(self) -> list[_Part]:
        """Return the filters, which are made once."""
        if self._parts is None:
            self._parts = _split_into_parts(self._all)
        return self._parts

    @property
    def probes(self) -> list[Probe]:
        """All of them, except those whose expression does not compile."""
        return [probe for part in self.compile() for probe in part.probes]

    def select(self, text: bytes) -> list[Probe]:
        """Return the probes that may occur in *text*, each once; never too few."""
        ended = text if b"\n" in text else text + b"\n"
        return [probe for part in self.compile() for probe in part.select(ended)]

    def select_in_lines(self, text: bytes) -> list[Probe]:
        """Return the probes that may occur in a line of *text*.

        The first short texts are searched without the filters: a short log has no others.
        """
        is_short = len(text) <= _SHORT_BYTES and self._short_texts < _SHORT_TEXTS
        if self._parts is not None or not is_short:
            return self.select(text)
        self._short_texts += 1
        return [probe for probe in self._all if probe.occurs_in(text)]


class _Part:
    """The probes of one filter.  Raises :data:`RegexError` when they are too many for it."""

    def __init__(self, probes: list[Probe]) -> None:
        self.probes = []
        self._filter = RegexFilter()
        for probe in probes:
            try:
                self._filter.add(probe.expression)
            except RegexError:
                continue
            self.probes.append(probe)
        self._filter.compile()

    def select(self, text: bytes) -> list[Probe]:
        found = self._filter.search(text)
        if found is None:
            return [probe for probe in self.probes if probe.occurs_in(text)]
        return [self.probes[index] for index in found]


def _split_into_parts(probes: list[Probe]) -> list[_Part]:
    try:
        return [_Part(probes)]
    except RegexError:
        half = len(probes) // 2
        if not half:
            return []
        return [*_split_into_parts(probes[:half]), *_split_into_parts(probes[half:])]


def _is_plain(text: bytes) -> bool:
    """True when bytes are characters, so that an expression means the same on both."""
    return text.isascii() and b"\0" not in text
