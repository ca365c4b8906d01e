"""A rule set compiled for matching: probes over all patterns, one expression per pattern.

Only the lines that a probe selects are normalised and matched by the pattern's own expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from typing import Final, NamedTuple

from gpualert_common.classify.probes import Probe, ProbeFilter, probe_literals, probe_patterns
from gpualert_common.classify.rules import RaisedIn, RulePattern, RuleSet, Scope
from gpualert_common.classify.tracebacks.exception_names import is_exception_name
from gpualert_common.classify.tracebacks.lines import MARKER_EXPRESSIONS, MARKERS
from gpualert_common.model import Role
from gpualert_common.regex import NEVER, RegexError, compile_text

_ADDRESS: Final = re.compile(r"\b(\w{2,9})://\S+")
"""An address, and in the group its scheme."""

_TOPIC_WORDS = 2
"""Different words of a topic that show it."""


class PatternMatch(NamedTuple):
    """A pattern and its match in a text."""

    pattern: RulePattern
    match: re.Match[str]


class _PlaceRule(NamedTuple):
    """A place in source code, compiled, and the cause that exceptions raised there mean."""

    cause: str
    exceptions: tuple[str, ...]
    location: re.Pattern[str]
    source: re.Pattern[str] | None

    def fits(self, exception: str | None, locations: Iterable[str], source: str) -> bool:
        if exception is not None and exception not in self.exceptions:
            return False
        if self.source is not None and not self.source.search(source):
            return False
        return any(map(self.location.search, locations))


class CompiledRules:
    """The patterns of a rule set.  Safe to share between threads; takes some 0.1 s to make."""

    def __init__(self, rules: RuleSet) -> None:
        self._place_rules = [
            _compile_place(rule.id, entry) for rule in rules for entry in rule.raised_in
        ]
        in_lines = [one for one in rules.patterns if _counts_in_lines(one)]
        weak = [one for one in rules.patterns if one.where.is_weak]
        self._weak = [one for one in weak if one.where is not Scope.TOPIC]
        self._topics = [one for one in weak if one.where is Scope.TOPIC]
        others = (one for one in rules.patterns if not one.where.is_weak)
        self._in_exceptions = [one for one in others if not _counts_in_lines(one)]
        self.line_probes = ProbeFilter([*_probe_markers(rules), *probe_patterns(in_lines)])

    @cached_property
    def exception_probes(self) -> ProbeFilter:
        """The probes that count only in an exception; made for the first exception."""
        return ProbeFilter(probe_patterns(self._in_exceptions))

    def compile(self) -> None:
        """Compile what the first lines and exceptions would have to compile."""
        self.line_probes.compile()
        self.exception_probes.compile()
        for pattern in self._weak:
            _compile_or_never(pattern.re)

    def match_exception(self, text: str, locations: Iterable[str] = ()) -> list[PatternMatch]:
        """Return the patterns that match the text of an exception raised in *locations*."""
        data = text.encode()
        probes = [*self.line_probes.select(data), *self.exception_probes.select(data)]
        frames = list(locations)
        return [
            found
            for found in match_patterns(probes, text, in_exception=True)
            if _is_raised_in(found.pattern, frames)
        ]

    def find_cause_by_place(
        self, exception: str | None, locations: Iterable[str], source: str
    ) -> str | None:
        """Return the cause of an *exception* (None: of any) raised in *locations*.

        A location is "path:function".
        """
        found = list(locations)
        rules = self._place_rules
        return next((one.cause for one in rules if one.fits(exception, found, source)), None)

    def match_message(self, message: str, exception: str | None) -> list[PatternMatch]:
        """Return the weak patterns that match the *message* of an *exception*, its type without
        the module; None for a message of which the type is not known."""
        types = (None,) if exception is None else ()
        fitting = (one for one in self._weak if exception in (*types, *one.exceptions))
        return _search(fitting, message)

    def match_wordings(self, text: str) -> list[PatternMatch]:
        """Return the wordings that match *text*, a line."""
        return _search((one for one in self._weak if one.where is Scope.WORDING), text)

    def match_words(self, topic: RulePattern, text: str) -> list[re.Match[str]]:
        """Return the words of *topic* in *text*."""
        return list(_compile_or_never(topic.re).finditer(text))

    def match_topic(self, texts: Iterable[str]) -> RulePattern | None:
        """Return the topic of *texts*: at least two words of it, and fewer of every other one.

        The words in an address do not count.
        """
        lines = [_ADDRESS.sub(r"\1", text) for text in texts]
        counts = [(one, len(_find_words(one, lines))) for one in self._topics]
        ranked = sorted(counts, key=lambda one: -one[1])
        first, second = [*ranked, (None, 0), (None, 0)][:2]
        return first[0] if first[1] >= max(_TOPIC_WORDS, second[1] + 1) else None


def match_patterns(probes: Iterable[Probe], text: str, *, in_exception: bool) -> list[PatternMatch]:
    """Return the patterns of *probes* that match *text*: only benign ones when there are any."""
    found = []
    for probe in probes:
        for pattern in probe.patterns:
            if in_exception or _counts_in_lines(pattern):
                match = _compile_or_never(pattern.re).search(text)
                if match:
                    found.append(PatternMatch(pattern, match))
    benign = [one for one in found if one.pattern.role is Role.BENIGN]
    return benign or found


def _search(patterns: Iterable[RulePattern], text: str) -> list[PatternMatch]:
    matches = ((one, _compile_or_never(one.re).search(text)) for one in patterns)
    return [PatternMatch(pattern, match) for pattern, match in matches if match]


def _find_words(pattern: RulePattern, texts: Iterable[str]) -> set[str]:
    """Return the different words of *pattern* in *texts*; a plural is no other word."""
    expression = _compile_or_never(pattern.re)
    found = (match.group() for text in texts for match in expression.finditer(text))
    return {word.lower().rstrip("s") for word in found}


@lru_cache(maxsize=2)
def compile_rules(rules: RuleSet) -> CompiledRules:
    """Return *rules* compiled, which is done once."""
    return CompiledRules(rules)


@cache
def _compile_or_never(expression: str) -> re.Pattern[str]:
    """Return *expression* compiled, at its first use; a wrong one matches nothing.

    ``gpualert rules check`` reports it, and a live run goes on with the other patterns.
    """
    try:
        return compile_text(expression)
    except RegexError:
        return compile_text(NEVER)


def _compile_place(cause: str, entry: RaisedIn) -> _PlaceRule:
    source = None if entry.source is None else _compile_or_never(entry.source)
    return _PlaceRule(cause, entry.exceptions, _compile_or_never(entry.file), source)


def _counts_in_lines(pattern: RulePattern) -> bool:
    return pattern.where is Scope.ANYWHERE and pattern.raised_in is None


def _is_raised_in(pattern: RulePattern, locations: list[str]) -> bool:
    if pattern.raised_in is None:
        return True
    return any(map(_compile_or_never(pattern.raised_in).search, locations))


def _probe_markers(rules: RuleSet) -> list[Probe]:
    """Return the probes for the lines that the traceback parser needs."""
    markers = [marker.encode() for marker in MARKERS]
    names = (name for rule in rules for name in rule.exceptions)
    unmarked = [name.rpartition(".")[2].encode() for name in names if not is_exception_name(name)]
    expressions = [Probe(None, expression) for expression in MARKER_EXPRESSIONS]
    return [*probe_literals(markers), *expressions, *probe_literals(dict.fromkeys(unmarked))]
