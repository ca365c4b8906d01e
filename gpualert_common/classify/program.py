"""Rules made ready for matching: filters over all, one expression per pattern.

A filter (RE2's FilteredRE2) derives from each expression the strings that a match must contain
and looks for all of them in one pass over a megabyte; an automaton over the expressions
themselves has so many states that building them takes longer than any search.  A probe is a
pattern's literal, or its expression where it has none.  Only for probes that may occur are lines
looked up, normalised and confirmed by the pattern's own expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import Any, Final

import re2

from gpualert_common.classify.exceptions import HEADLESS, MARKERS, is_telling
from gpualert_common.classify.rules import Pattern, RaisedIn, RuleSet, Scope
from gpualert_common.model import Role

_NOTHING = r"[^\s\S]"
_NAME = re.compile(r"\(\?P<\w+>")
_ANCHOR = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\\\]])*\])|[\^$]", re.DOTALL)
"""Either of them, or, in the group, what holds one that is none: an escape, a class."""


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_nl = True  # no match across lines, whatever a class excludes
    options.log_errors = False
    return options


_BYTES: Final = _options()
_TEXT: Final = re2.Options()
_TEXT.log_errors = False


def compile_pattern(pattern: Pattern) -> Any:
    """The expression of *pattern*, searched in a normalised line.  Raises ``re2.error``."""
    return compile_expression(pattern.re)


@cache
def _regex_of(expression: str) -> Any:
    """*expression* compiled, when a line may match it for the first time.

    One that is wrong matches nothing: check_rules names it, and a live run goes on with the rest.
    """
    try:
        return compile_expression(expression)
    except re2.error:
        return compile_expression(_NOTHING)


def compile_expression(expression: str) -> Any:
    """*expression* compiled for text.  Raises ``re2.error``, and prints nothing."""
    return re2.compile(expression, _TEXT)


def latin1_regex(expression: bytes) -> Any:
    """*expression* compiled for bytes of any encoding.  Raises ``re2.error``."""
    return re2.compile(expression, _BYTES)


class Probe:
    """What stands for one or more patterns in the automaton.

    Without patterns it only marks lines that the traceback parser wants to see.
    """

    def __init__(self, literal: bytes | None, expression: bytes) -> None:
        self.literal = literal
        self.expression = expression
        self.patterns: list[Pattern] = []
        self._regex: Any = None

    def line_starts(self, text: bytes) -> Iterator[int]:
        """Start of every line of *text* that may hold a match, ascending."""
        if self.literal is not None and self.literal not in text:
            return
        find = self._finder(text)
        at = find(text, 0)
        while at >= 0:
            yield text.rfind(b"\n", 0, at) + 1
            end = text.find(b"\n", at)
            if end < 0:
                return
            at = find(text, end + 1)

    def _finder(self, text: bytes) -> Callable[[bytes, int], int]:
        if self.literal is not None and not (self.patterns and _is_plain(text)):
            return self._find_literal
        if self._regex is None:
            loose = [_loose(pattern) for pattern in self.patterns]
            self._regex = latin1_regex(b"|".join(loose) or self.expression)
        return self._find_match

    def _find_literal(self, text: bytes, start: int) -> int:
        return text.find(self.literal or b"", start)

    def _find_match(self, text: bytes, start: int) -> int:
        match = self._regex.search(text, start)
        return match.start() if match else -1


def _is_plain(text: bytes) -> bool:
    """True when bytes are characters, so that an expression means the same on both."""
    return text.isascii() and b"\0" not in text


def _loose(pattern: Pattern) -> bytes:
    """The expression of *pattern* for lines as they stand in the log.

    Behind a prefix, or with blanks at its end, a line is not where anchors expect it.
    """
    return b"(?:%s)" % _NAME.sub("(?:", _ANCHOR.sub(r"\1", pattern.re)).encode()


class Sieve:
    """Probes, and filters that tell which of them may occur in a text.

    A filter holds some 80 KB of strings.  Where that is not enough there are several.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._filters = _filters(list(probes))

    @property
    def probes(self) -> list[Probe]:
        """All of them, but for those whose expression is wrong."""
        return [probe for each in self._filters for probe in each.probes]

    def may_occur(self, text: bytes) -> list[Probe]:
        """The probes that may occur in *text*, each named once; never too few."""
        ended = text if b"\n" in text else text + b"\n"
        return [probe for each in self._filters for probe in each.may_occur(ended)]


class _Filter:
    """One filter.  Raises ``re2.error`` when the probes are too many for it."""

    def __init__(self, probes: list[Probe]) -> None:
        self.probes = []
        self._filter = re2.Filter()
        for probe in probes:
            try:
                self._filter.Add(probe.expression, _TEXT)  # its strings are UTF-8
            except re2.error:
                continue
            self.probes.append(probe)
        # The filter answers "nothing" also when it ran out of memory; of a text with a line end,
        # an answer without this is none.
        self._canary = self._filter.Add(rb"\n", _TEXT)
        self._filter.Compile()

    def may_occur(self, text: bytes) -> list[Probe]:
        found = self._filter.Match(text, potential=True)
        if not found or self._canary not in found:
            return [probe for probe in self.probes if next(probe.line_starts(text), -1) >= 0]
        return [self.probes[index] for index in sorted(found) if index != self._canary]


def _filters(probes: list[Probe]) -> list[_Filter]:
    try:
        return [_Filter(probes)]
    except re2.error:
        half = len(probes) // 2
        return [*_filters(probes[:half]), *_filters(probes[half:])] if half else []


class Program:
    """The probes of a rule set.  Safe to share between threads; costs some 0.1 s to make.

    What counts only in an exception's text is looked for only there.
    """

    def __init__(self, rules: RuleSet) -> None:
        self._raised_in = _raised_in(rules)
        in_lines = [one for one in rules.patterns if _counts_in_lines(one)]
        self.of_lines = Sieve([*_markers(rules), *_probes(in_lines)])
        self._of_exceptions = [one for one in rules.patterns if not _counts_in_lines(one)]

    @cached_property
    def of_exceptions(self) -> Sieve:
        """What counts only in an exception; made when there is the first."""
        return Sieve(_probes(self._of_exceptions))

    def in_exception(self, text: str, places: Iterable[str] = ()) -> list[tuple[Pattern, Any]]:
        """The patterns that match the text of an exception raised in *places*, with the match."""
        data = text.encode()
        probes = [*self.of_lines.may_occur(data), *self.of_exceptions.may_occur(data)]
        found = matches_of(probes, text, in_exception=True)
        frames = list(places)
        return [
            (pattern, match)
            for pattern, match in found
            if pattern.raised_in is None or any(map(_regex_of(pattern.raised_in).search, frames))
        ]

    def cause_by_place(
        self, exception: str | None, places: Iterable[str], source: str
    ) -> str | None:
        """The cause of an *exception* (None: of any) raised in *places* ("path:function")."""
        found = list(places)
        for cause, entry, regex, quoted in self._raised_in:
            fits = exception is None or exception in entry.exceptions
            if quoted is not None and not quoted.search(source):
                continue
            if fits and any(map(regex.search, found)):
                return cause
        return None


def matches_of(
    probes: Iterable[Probe], text: str, *, in_exception: bool
) -> list[tuple[Pattern, Any]]:
    """The patterns of *probes* that match *text*: only benign ones when there are any."""
    found = []
    for probe in probes:
        for pattern in probe.patterns:
            if in_exception or _counts_in_lines(pattern):
                match = _regex_of(pattern.re).search(text)
                if match:
                    found.append((pattern, match))
    benign = [entry for entry in found if entry[0].role is Role.BENIGN]
    return benign or found


def _counts_in_lines(pattern: Pattern) -> bool:
    return pattern.where is Scope.ANYWHERE and pattern.raised_in is None


def _markers(rules: RuleSet) -> list[Probe]:
    """What the traceback parser wants to see."""
    markers: dict[bytes, Probe] = {}
    for marker in MARKERS:
        literal = marker.encode()
        markers[re2.escape(literal)] = Probe(literal, re2.escape(literal))
    for expression in HEADLESS:
        markers[expression] = Probe(None, expression)
    for rule in rules:
        for name in rule.exceptions:
            literal = name.rpartition(".")[2].encode()
            if not is_telling(name):  # the others are looked for anyway
                markers[re2.escape(literal)] = Probe(literal, re2.escape(literal))
    return list(markers.values())


def _probes(patterns: Iterable[Pattern]) -> list[Probe]:
    probes: dict[bytes, Probe] = {}
    for pattern in patterns:
        wanted = pattern.literal.encode() if pattern.literal is not None else None
        expression = re2.escape(wanted) if wanted is not None else _loose(pattern)
        probe = probes.setdefault(expression, Probe(wanted, expression))
        probe.patterns.append(pattern)
    return list(probes.values())


def _raised_in(rules: RuleSet) -> list[tuple[str, RaisedIn, Any, Any]]:
    return [
        (
            rule.id,
            entry,
            _regex_of(entry.file),
            _regex_of(entry.source) if entry.source else None,
        )
        for rule in rules
        for entry in rule.raised_in
    ]


@lru_cache(maxsize=2)
def program_of(rules: RuleSet) -> Program:
    """The program of *rules*, made once."""
    return Program(rules)


def prepare(rules: RuleSet) -> None:
    """Make what the first scan with *rules* would have to make."""
    program_of(rules).of_exceptions  # noqa: B018 - cached
