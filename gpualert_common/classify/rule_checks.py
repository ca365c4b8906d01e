"""Checks of rule files for their authors: everything a live run would silently do without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from gpualert_common.classify.closing_lines import match_denied_topics, match_last_words
from gpualert_common.classify.compiled_rules import compile_rules
from gpualert_common.classify.details import DERIVED, GENERAL, placeholders
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.platforms import PLATFORM_CAUSES, PLATFORM_WORDS
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.classify.rules import Rule, RulePattern, RuleSet, RuleText, Scope
from gpualert_common.classify.scanner import Scanner
from gpualert_common.classify.tracebacks.exception_names import find_bare_exception
from gpualert_common.errors import RuleError
from gpualert_common.regex import RegexError, compile_text

_PREFIXES = ("", "[rank3]: ", "[default1]:", "(Worker pid=71, ip=10.0.0.2) ", "\x1b[31m")
"""Every sample must hit behind each of these as it does without."""


def check_rules(
    directory: str | os.PathLike[str] | None = None,
    *,
    own: str | os.PathLike[str] | None = None,
) -> list[RuleError]:
    """Return the problems of the rules in *directory*, by default of those in use.

    With *own* (a directory, or one file) only the user's rules in it are checked, in force
    together with the others.

    Each problem names file and key: schema, expressions that RE2 cannot compile, patterns without
    samples, samples that do not hit or near misses that do (through the real scanner, with all
    rules in force, behind the prefixes launchers add), and placeholders that nothing fills.
    """
    problems: list[RuleError] = []
    rules = load_rules(directory, own=own, samples=True, broken=problems)
    for rule in rules:
        if own is not None and not rule.is_own:
            continue
        problems += _word_problems(rule, rules)
        for pattern in rule.patterns:
            problems += _pattern_problems(pattern, rule, rules)
        problems += _place_problems(rule)
    return problems


def require_sound(own: str | os.PathLike[str]) -> None:
    """Raise :class:`RuleError` for the first problem that a run meets in the user's *own* rules.

    Their samples are not tried.
    """
    rules = load_rules(own=own)
    for rule in rules:
        if not rule.is_own:
            continue
        for problem in _word_problems(rule, rules):
            raise problem
        for problem in _place_problems(rule):
            raise problem
        for pattern in rule.patterns:
            for problem in _expression_problems(pattern, rule):
                raise problem


def _place_problems(rule: Rule) -> Iterator[RuleError]:
    for number, entry in enumerate(rule.raised_in):
        for name in ("file", "source"):
            try:
                compile_text(getattr(entry, name) or "")
            except RegexError as error:
                key = f"raised_in[{number}].{name}"
                yield RuleError(rule.file, key, f"not an RE2 expression: {error}")


def _expression_problems(pattern: RulePattern, rule: Rule) -> Iterator[RuleError]:
    for name, expression in (("re", pattern.re), ("raised_in", pattern.raised_in or "")):
        try:
            compile_text(expression)
        except RegexError as error:
            key = f"patterns.{pattern.name}.{name}"
            yield RuleError(rule.file, key, f"not an RE2 expression: {error}")


def _word_problems(rule: Rule, rules: RuleSet) -> Iterator[RuleError]:
    known = GENERAL | set(DERIVED.get(rule.id, ())) | set(rule.found)
    known |= PLATFORM_WORDS if rule.id in PLATFORM_CAUSES else set()
    for pattern in (one for other in rules if other.id == rule.id for one in other.patterns):
        try:
            known |= set(compile_text(pattern.re).groupindex)
        except RegexError:
            continue  # reported by _pattern_problems
    for number, words in enumerate((rule.words, *rule.cases)):
        key = f"verdict.cases[{number - 1}]" if number else "verdict"
        for name, _ in words.when:
            if name not in known:
                yield RuleError(rule.file, f"{key}.when.{name}", "no pattern captures this detail")
        yield from _template_problems(rule.file, key, words, known)


def _template_problems(
    file: str, key: str, words: RuleText, known: AbstractSet[str]
) -> Iterator[RuleError]:
    for part in ("headline", "implies", "cannot_decide", "do"):
        for template in getattr(words, part):
            try:
                unknown = placeholders(template) - known
            except ValueError as error:
                yield RuleError(file, f"{key}.{part}", f"{template!r}: {error}")
                continue
            for name in sorted(unknown):
                yield RuleError(file, f"{key}.{part}", f"nothing fills {{{name}}}")
    if not words.when and "{" in words.headline[-1]:
        yield RuleError(file, f"{key}.headline", "the last alternative must need no placeholder")


def _pattern_problems(pattern: RulePattern, rule: Rule, rules: RuleSet) -> Iterator[RuleError]:
    key = f"patterns.{pattern.name}"
    wrong = list(_expression_problems(pattern, rule))
    yield from wrong
    if wrong:
        return
    samples = rule.samples.get(pattern.name)
    if samples is None or not samples.hits or not samples.near_misses:
        yield RuleError(rule.file, f"samples.{pattern.name}", "needs a hit and a near miss")
        return
    for sample in samples.hits:
        if pattern.literal is not None and pattern.literal not in sample:
            yield RuleError(rule.file, f"{key}.literal", f"is not in the hit {sample!r}")
        for prefix in _PREFIXES:
            if pattern.id not in _find_matches(prefix + sample, rules, pattern):
                shown = prefix + sample
                yield RuleError(rule.file, f"samples.{pattern.name}.hits", f"no hit: {shown!r}")
                break
    for sample in samples.near_misses:
        if pattern.id in _find_matches(sample, rules, pattern):
            yield RuleError(rule.file, f"samples.{pattern.name}.near_misses", f"hits: {sample!r}")


def _find_matches(sample: str, rules: RuleSet, pattern: RulePattern) -> set[str]:
    if pattern.where is Scope.MESSAGE:
        exception = find_bare_exception(strip_prefixes(canonicalize(sample.encode())).text)
        type_name, message = exception or ("", "")
        found = compile_rules(rules).match_message(message, type_name.rpartition(".")[2])
        return {one.pattern.id for one in found}
    if pattern.where is Scope.WORDING:
        line = strip_prefixes(canonicalize(sample.encode())).text
        return {found.pattern.id for found in match_last_words(compile_rules(rules), line)}
    if pattern.where is Scope.TOPIC:
        line = strip_prefixes(canonicalize(sample.encode())).text
        return {found.pattern.id for found in match_denied_topics(compile_rules(rules), line)}
    if pattern.raised_in is not None:  # a sample has no frames
        return {pattern.id} if compile_text(pattern.re).search(sample) else set()
    scanner = Scanner(rules, "sample")
    scanner.feed(sample.encode() + b"\n", 0)
    return set(scanner.finish().counts)
