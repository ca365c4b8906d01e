"""Probes: the quick searches that decide which lines of a log are compared with which patterns.

A probe is a pattern's literal, or its expression where it has none.  A filter over all probes
finds in one pass over a megabyte which of them may occur; an automaton over the expressions
themselves has so many states that building them takes longer than any search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpualert_common.classify.rules import RulePattern
from gpualert_common.regex import RegexError, RegexFilter, compile_bytes, escape

_GROUP_NAME = re.compile(r"\(\?P<\w+>")
_ANCHOR = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\\\]])*\])|[\^$]", re.DOTALL)
"""An anchor, or, in the group, an escape or a class, which may hold the same character."""


class Probe:
    """Stands for one or more patterns; without patterns it marks lines for the traceback parser."""

    def __init__(self, literal: bytes | None, expression: bytes) -> None:
        self.literal = literal
        self.expression = expression
        self.patterns: list[RulePattern] = []
        self._regex: re.Pattern[bytes] | None = None

    def find_line_starts(self, text: bytes) -> Iterator[int]:
        """Yield the start of every line of *text* that may hold a match, ascending."""
        literal = self.literal
        if literal is not None and literal not in text:
            return
        if literal is not None and not (self.patterns and _is_plain(text)):
            yield from _find_lines_with(literal, text)
        else:
            yield from self._find_matching_lines(text)

    def _find_matching_lines(self, text: bytes) -> Iterator[int]:
        if self._regex is None:
            loose = [loosen(pattern) for pattern in self.patterns]
            self._regex = compile_bytes(b"|".join(loose) or self.expression)
        match = self._regex.search(text)
        while match is not None:
            yield text.rfind(b"\n", 0, match.start()) + 1
            end = text.find(b"\n", match.start())
            if end < 0:
                return
            match = self._regex.search(text, end + 1)


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


def loosen(pattern: RulePattern) -> bytes:
    """Return the expression of *pattern* for lines as they stand in the log, without its anchors.

    With a prefix in front, or blanks at its end, a line is not where anchors expect it.
    """
    return b"(?:%s)" % _GROUP_NAME.sub("(?:", _ANCHOR.sub(r"\1", pattern.re)).encode()


class ProbeFilter:
    """Probes, and the filters that find which of them may occur in a text.

    One filter holds a limited number of strings; for more probes there are several.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._parts = _split_into_parts(list(probes))

    @property
    def probes(self) -> list[Probe]:
        """All of them, except those whose expression does not compile."""
        return [probe for part in self._parts for probe in part.probes]

    def select(self, text: bytes) -> list[Probe]:
        """Return the probes that may occur in *text*, each once; never too few."""
        ended = text if b"\n" in text else text + b"\n"
        return [probe for part in self._parts for probe in part.select(ended)]


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
            return [probe for probe in self.probes if next(probe.find_line_starts(text), -1) >= 0]
        return [self.probes[index] for index in found]


def _split_into_parts(probes: list[Probe]) -> list[_Part]:
    try:
        return [_Part(probes)]
    except RegexError:
        half = len(probes) // 2
        if not half:
            return []
        return [*_split_into_parts(probes[:half]), *_split_into_parts(probes[half:])]


def _find_lines_with(literal: bytes, text: bytes) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at)
        if end < 0:
            return
        at = text.find(literal, end + 1)


def _is_plain(text: bytes) -> bool:
    """True when bytes are characters, so that an expression means the same on both."""
    return text.isascii() and b"\0" not in text
