"""Rules as data: one TOML file per cause.

A rule says what a cause is (family, attribution, retry), in which words it is told, and by which
patterns it is seen.  This module only reads and validates; matching is in
:mod:`gpualert_common.classify.compiled_rules`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from gpualert_common.causes import CAUSES, FAMILIES
from gpualert_common.errors import RuleError
from gpualert_common.model import Attribution, Retry, Role
from gpualert_common.rule_files import (
    Samples,
    read_samples,
    read_since,
    read_table,
    require_unique,
    rules_directory,
)
from gpualert_common.toml_table import REQUIRED, Table

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Scope(StrEnum):
    """Where a pattern counts: on any line, or only in the text of an exception."""

    ANYWHERE = "anywhere"
    EXCEPTION = "exception"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing a cause is seen by, on one line of a log.

    ``re`` is RE2 syntax over the line without its prefixes and escape sequences; ``^`` is the
    start of that line.  ``literal`` is a string that every match contains, if there is one.  Named
    groups of ``re`` become details of the verdict; a name ending in ``_bytes`` is a size.
    With ``where`` = exception only the line that names an exception, type included, and the
    further lines of its message are searched; with ``raised_in`` one of its frames
    ("path:function") must fit that, too.  ``order`` and ``file`` are those of its rule.
    """

    cause: str
    name: str
    role: Role
    re: str
    literal: str | None = None
    where: Scope = Scope.ANYWHERE
    raised_in: str | None = None
    order: int = 0
    file: str = ""

    @property
    def id(self) -> str:
        """``cause/name``, unique over all rules."""
        return f"{self.cause}/{self.name}"


@dataclass(frozen=True, slots=True)
class Words:
    """What is told of a cause.  Alternatives: the first whose placeholders are all known is taken.

    ``when`` are the details for which these words hold; empty for the words that always hold.
    """

    headline: tuple[str, ...]
    implies: tuple[str, ...]
    cannot_decide: tuple[str, ...]
    do: tuple[str, ...]
    when: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RaisedIn:
    """Exceptions that mean the rule's cause when one of their innermost frames fits.

    ``exceptions`` are types without modules, ``file`` is RE2 syntax over ``path:function``,
    ``source`` over the line of source that the traceback quotes last (both must fit).  It goes
    behind everything that the exception's message says.
    """

    exceptions: tuple[str, ...]
    file: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause and everything that is known of it.

    ``id`` is the cause's name.  ``order`` settles which cause a line names when several match: the
    lowest.  ``exceptions`` are Python types that mean this cause when the message says nothing
    better; ``signals`` and ``exit_codes`` the statuses that mean it when the log says nothing.
    ``cases`` are words for certain details and go before ``words``.  ``found`` are details that
    other evidence than the log gives.  ``own`` is True for a rule that a user has added to the
    shipped one of that cause.
    """

    id: str
    order: int
    family: str | None
    fault_class: str | None
    attribution: Attribution
    retry: Retry
    words: Words
    cases: tuple[Words, ...]
    patterns: tuple[Pattern, ...]
    exceptions: tuple[str, ...]
    raised_in: tuple[RaisedIn, ...]
    signals: tuple[int, ...]
    exit_codes: tuple[int, ...]
    sources: tuple[str, ...]
    since: str
    file: str
    samples: Mapping[str, Samples]
    found: tuple[str, ...] = ()
    own: bool = False


@dataclass(frozen=True, eq=False)
class RuleSet:
    """All rules, in their order.  ``directory`` is where the shipped ones were read from."""

    rules: tuple[Rule, ...]
    directory: Path

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def by_cause(self) -> Mapping[str, Rule]:
        """The shipped rule of each cause that has one."""
        return {rule.id: rule for rule in self if not rule.own}

    def of_pattern(self, pattern: Pattern) -> Rule | None:
        """The rule that *pattern* stands in; None when it is of another set."""
        return next((rule for rule in self if pattern in rule.patterns), None)

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of all rules, in the order of the rules."""
        return tuple(pattern for rule in self for pattern in rule.patterns)


def load_rules(
    directory: str | os.PathLike[str] | None = None,
    *,
    own: str | os.PathLike[str] | None = None,
    samples: bool = False,
    broken: list[RuleError] | None = None,
) -> RuleSet:
    """The rules of all ``*.toml`` files in *directory*, then the user's *own*, ordered.

    *own* is a directory, or one file.  A rule in it adds to the one of the same cause and goes
    before all others; what it leaves out (everything but ``id``) is that one's.  Sample lines are
    left out unless *samples*: they are most of the text, and only checks and documentation need
    them.  A file that is wrong raises :class:`RuleError`; with *broken* given the error is
    appended there instead and the other files are used, so that a run never loses its verdict to
    one bad file.  Patterns are compiled later, by the scanner.
    """
    place = rules_directory() if directory is None else Path(directory)
    problems: list[RuleError] = []
    found = _read_files(_files_in(place, problems), samples, {}, problems)
    if own is not None:
        mine = Path(own)
        files = [mine] if mine.is_file() else _files_in(mine, problems)
        found += _read_files(files, samples, {rule.id: rule for rule in found}, problems)
    if problems and broken is None:
        raise problems[0]
    if broken is not None:
        broken.extend(problems)
    ordered = sorted(found, key=lambda rule: (not rule.own, rule.order, rule.file))
    return RuleSet(tuple(ordered), place)


def _files_in(place: Path, problems: list[RuleError]) -> list[Path]:
    files = sorted(place.glob("*.toml")) if place.is_dir() else []
    if not files:
        what = "no rule files in this directory" if place.is_dir() else "no such directory"
        problems.append(RuleError(str(place), "*.toml", what))
    return files


def _read_files(
    files: list[Path], samples: bool, shipped: Mapping[str, Rule], problems: list[RuleError]
) -> list[Rule]:
    """The rules of *files*: the shipped ones, or those that a user adds to what is *shipped*."""
    found: list[Rule] = []
    patterns = {one.id: rule.file for rule in shipped.values() for one in rule.patterns}
    for file in files:
        try:
            rule = _read_rule(file, samples, shipped)
            for other in () if rule.own else found:
                if rule.id == other.id:
                    raise RuleError(file.name, "id", f"also in {other.file}")
                if rule.order == other.order:
                    raise RuleError(file.name, "order", f"{rule.order} also in {other.file}")
            for one in rule.patterns:
                if one.id in patterns:
                    problem = f"{one.id} is also in {patterns[one.id]}"
                    raise RuleError(file.name, f"patterns.{one.name}.name", problem)
        except RuleError as error:
            problems.append(error)
        else:
            found.append(rule)
            patterns |= {one.id: rule.file for one in rule.patterns}
    return found


def _read_rule(file: Path, samples: bool, shipped: Mapping[str, Rule]) -> Rule:
    # Of a user's own file everything is read: tables may stand behind the samples there.
    top = read_table(file, samples=samples or bool(shipped))
    cause = top.choice("id", CAUSES)
    base = shipped.get(cause)
    if not shipped and cause != file.stem:
        raise RuleError(file.name, "id", f"is {cause!r}, the file is named {file.stem!r}")
    order = top.integer("order", REQUIRED if base is None else 0)
    patterns = [_read_pattern(entry, cause, order) for entry in top.tables("patterns")]
    names = [pattern.name for pattern in patterns]
    require_unique(names, file.name)

    def without(key: str) -> Any:
        """What the rule has when it does not say: of the shipped one, if that is there."""
        return REQUIRED if base is None else getattr(base, key)

    verdict = top.table("verdict", REQUIRED if base is None else {})
    cases = tuple(_read_case(entry) for entry in verdict.tables("cases"))
    rule = Rule(
        id=cause,
        order=order,
        family=top.choice("family", FAMILIES, base.family if base else None),
        fault_class=top.text("fault_class", base.fault_class if base else None),
        attribution=Attribution(
            top.choice("attribution", tuple(Attribution), without("attribution"))
        ),
        retry=Retry(top.choice("retry", tuple(Retry), without("retry"))),
        cases=(*cases, *(base.cases if base else ())),
        words=_read_words(verdict, (), base.words if base else None),
        patterns=tuple(patterns),
        exceptions=top.texts("exceptions", ()),
        raised_in=tuple(_read_raised_in(entry) for entry in top.tables("raised_in")),
        signals=top.integers("signals"),
        exit_codes=top.integers("exit_codes"),
        sources=top.texts("sources", without("sources")),
        since=read_since(top) if base is None or "since" in top.left() else base.since,
        file=file.name,
        samples=read_samples(top.table("samples", {}), names),
        found=top.texts("found", base.found if base else ()),
        own=bool(shipped),
    )
    top.done()
    return rule


def _read_pattern(entry: Table, cause: str, order: int) -> Pattern:
    pattern = Pattern(
        order=order,
        file=entry.file,
        cause=cause,
        name=entry.text("name"),
        role=Role(entry.choice("role", tuple(Role))),
        re=entry.text("re"),
        literal=entry.text("literal", None),
        raised_in=entry.text("raised_in", None),
        where=Scope(entry.choice("where", tuple(Scope), Scope.ANYWHERE)),
    )
    if not _NAME.fullmatch(pattern.name):
        raise RuleError(entry.file, f"{entry.path}name", f"{pattern.name!r}: use a-z, 0-9 and _")
    entry.done()
    return pattern


def _read_raised_in(entry: Table) -> RaisedIn:
    found = RaisedIn(
        entry.texts("exceptions"),
        entry.text("file"),
        entry.text("source", None),
    )
    entry.done()
    return found


def _read_words(
    verdict: Table, when: tuple[tuple[str, str], ...], base: Words | None = None
) -> Words:
    """Words of a rule, where those of *base* are taken for what it leaves out, or of a case."""

    def without(key: str) -> Any:
        if base is not None:
            return getattr(base, key)
        return () if when else REQUIRED

    words = Words(
        headline=verdict.texts("headline", without("headline")),
        implies=verdict.texts("implies", without("implies")),
        cannot_decide=verdict.texts("cannot_decide", base.cannot_decide if base else ()),
        do=verdict.texts("do", without("do")),
        when=when,
    )
    verdict.done()
    return words


def _read_case(entry: Table) -> Words:
    when = entry.table("when")
    conditions = tuple((key, when.text(key)) for key in when.left())
    if not conditions:
        raise RuleError(entry.file, f"{entry.path}when", "names no detail")
    return _read_words(entry, conditions)
