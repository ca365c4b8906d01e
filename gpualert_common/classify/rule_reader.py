"""Reader of rule files: one TOML file for each cause, checked key by key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpualert_common.causes import CAUSES, FAMILIES, FAULT_CLASSES, NO_CAUSES
from gpualert_common.classify.rules import RaisedIn, Rule, RulePattern, RuleSet, RuleText, Scope
from gpualert_common.errors import RuleError
from gpualert_common.model import Attribution, Retry, Role
from gpualert_common.rule_files import (
    read_samples,
    read_since,
    read_table,
    require_unique,
    rules_directory,
)
from gpualert_common.toml_table import REQUIRED, Table

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ROLES = tuple(Role)
_SCOPES = tuple(Scope)


def load_rules(
    directory: str | os.PathLike[str] | None = None,
    *,
    own: str | os.PathLike[str] | None = None,
    samples: bool = False,
    broken: list[RuleError] | None = None,
) -> RuleSet:
    """Return the rules of all ``*.toml`` files in *directory*, then the user's *own*, in order.

    *own* is a directory, or one file.  A rule in it adds to the shipped one of the same cause, and
    has precedence over all others; all keys but ``id`` default to the shipped ones.  Sample lines
    are read only with *samples*: they are most of the text, and only checks and documentation need
    them.  A wrong file raises :class:`RuleError`; with *broken* the error is appended there
    instead, and the other files are used, so that one bad file never costs a run its verdict.
    Patterns are compiled later, by the scanner.
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
    ordered = sorted(found, key=lambda rule: (not rule.is_own, rule.order, rule.file))
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
    """Return the rules of *files*: the shipped ones, or those that a user adds to *shipped*."""
    found: list[Rule] = []
    patterns = {one.id: rule.file for rule in shipped.values() for one in rule.patterns}
    for file in files:
        try:
            rule = _read_rule(file, samples, shipped)
            for other in () if rule.is_own else found:
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
    # A user's own file is read whole: it may have tables behind the samples.
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
        """Return the default of a key: the value of the shipped rule, if there is one."""
        return REQUIRED if base is None else getattr(base, key)

    fault_class = None if cause in NO_CAUSES else without("fault_class")
    verdict = top.table("verdict", REQUIRED if base is None else {})
    cases = tuple(_read_case(entry) for entry in verdict.tables("cases"))
    rule = Rule(
        id=cause,
        order=order,
        family=top.choice("family", FAMILIES, base.family if base else None),
        fault_class=top.choice("fault_class", FAULT_CLASSES, fault_class),
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
        is_own=bool(shipped),
    )
    top.done()
    return rule


def _read_pattern(entry: Table, cause: str, order: int) -> RulePattern:
    pattern = RulePattern(
        order=order,
        file=entry.file,
        cause=cause,
        name=entry.text("name"),
        role=Role(entry.choice("role", _ROLES)),
        re=entry.text("re"),
        literal=entry.text("literal", None),
        raised_in=entry.text("raised_in", None),
        where=Scope(entry.choice("where", _SCOPES, Scope.ANYWHERE)),
        exceptions=entry.texts("exceptions", ()),
    )
    if not _NAME.fullmatch(pattern.name):
        raise RuleError(entry.file, f"{entry.path}name", f"{pattern.name!r}: use a-z, 0-9 and _")
    weak = f'where = "{pattern.where}"'
    if pattern.where.is_weak and pattern.role is not Role.ROOT:
        raise RuleError(entry.file, f"{entry.path}role", f'must be "root" with {weak}')
    if pattern.where is Scope.MESSAGE and not pattern.exceptions:
        raise RuleError(entry.file, f"{entry.path}exceptions", f"is missing, with {weak}")
    if pattern.exceptions and pattern.where not in (Scope.MESSAGE, Scope.WORDING):
        raise RuleError(entry.file, f"{entry.path}exceptions", f"has no effect with {weak}")
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
    verdict: Table, when: tuple[tuple[str, str], ...], base: RuleText | None = None
) -> RuleText:
    """Return the text of a case, or of a rule, with defaults from *base*."""

    def without(key: str) -> Any:
        if base is not None:
            return getattr(base, key)
        return () if when else REQUIRED

    attribution = retry = None
    if when:
        attribution = verdict.choice("attribution", tuple(Attribution), None)
        retry = verdict.choice("retry", tuple(Retry), None)
    words = RuleText(
        headline=verdict.texts("headline", without("headline")),
        implies=verdict.texts("implies", without("implies")),
        cannot_decide=verdict.texts("cannot_decide", base.cannot_decide if base else ()),
        do=verdict.texts("do", without("do")),
        when=when,
        attribution=None if attribution is None else Attribution(attribution),
        retry=None if retry is None else Retry(retry),
    )
    verdict.done()
    return words


def _read_case(entry: Table) -> RuleText:
    when = entry.table("when")
    conditions = tuple((key, when.text(key)) for key in when.left())
    if not conditions:
        raise RuleError(entry.file, f"{entry.path}when", "names no detail")
    return _read_words(entry, conditions)
