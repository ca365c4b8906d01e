"""Kinds of secrets as data: one TOML file per kind in ``rules/secrets``.

This module only reads and validates; matching is in :mod:`gpualert_common.redact.compiled_secrets`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpualert_common.errors import RuleError
from gpualert_common.rule_files import (
    Samples,
    read_samples,
    read_since,
    read_table,
    require_unique,
    rules_directory,
    shipped_directory,
)
from gpualert_common.toml_table import Table

KNOWN = "known"
"""The kind of the literal secrets that a :class:`Redactor` is given; no file has this name."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PART = re.compile(r"<<(\w+)>>")
_FOLDER = "secrets"


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """One form of a secret.  Parts that the file names are already put in.

    ``re`` is RE2 syntax over bytes: a class that excludes characters lets in every byte beyond
    ASCII.  What is masked are its named groups that begin with ``secret``; the whole match when
    there is none.  A match in which ``unless`` is found is left alone.  ``literals`` are in lower
    case; every match contains one of them, in any case.
    """

    name: str
    re: str
    unless: str | None = None
    literals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretKind:
    """A kind of secret and everything that is known of it.

    ``id`` is what a mask says, ``title`` says it to people.  Of several kinds that cover the same
    text the one of lowest ``order`` gives the mask.
    """

    id: str
    title: str
    order: int
    patterns: tuple[SecretPattern, ...]
    sources: tuple[str, ...]
    since: str
    file: str
    samples: Mapping[str, Samples]


def secrets_directory(rules: str | os.PathLike[str] | None = None) -> Path:
    """Where the kinds lie that belong to *rules* (or to the rules in use).

    A rules directory without a ``secrets`` folder leaves the shipped kinds in force.
    """
    own = (rules_directory() if rules is None else Path(rules)) / _FOLDER
    return own if own.is_dir() else shipped_directory() / _FOLDER


def load_secrets(
    directory: Path, *, samples: bool = False, broken: list[RuleError] | None = None
) -> tuple[SecretKind, ...]:
    """The kinds of all ``*.toml`` files in *directory*, ordered; samples only when asked for.

    A file that is wrong raises :class:`RuleError`; with *broken* given the error is appended there
    instead and the other files are used.
    """
    problems: list[RuleError] = []
    kinds = []
    files = sorted(directory.glob("*.toml")) if directory.is_dir() else []
    if not files:
        problems.append(RuleError(str(directory), "*.toml", "no rule files in this directory"))
    for file in files:
        try:
            kinds.append(_read_kind(file, samples))
        except RuleError as error:
            problems.append(error)
    if problems and broken is None:
        raise problems[0]
    if broken is not None:
        broken.extend(problems)
    return tuple(sorted(kinds, key=lambda kind: (kind.order, kind.id)))


def _read_kind(file: Path, samples: bool) -> SecretKind:
    top = read_table(file, samples=samples)
    kind = top.text("id")
    if kind != file.stem:
        raise RuleError(file.name, "id", f"is {kind!r}, the file is named {file.stem!r}")
    if not _NAME.fullmatch(kind) or kind == KNOWN:
        raise RuleError(file.name, "id", f"{kind!r}: use a-z, 0-9 and _, and not {KNOWN!r}")
    parts = _read_parts(top.table("parts", {}))
    patterns = tuple(_read_pattern(entry, parts) for entry in top.tables("patterns"))
    if not patterns:
        raise RuleError(file.name, "patterns", "there is none")
    names = [pattern.name for pattern in patterns]
    require_unique(names, file.name)
    read = SecretKind(
        id=kind,
        title=top.text("title"),
        order=top.integer("order"),
        patterns=patterns,
        sources=top.texts("sources"),
        since=read_since(top),
        file=file.name,
        samples=read_samples(top.table("samples", {}), names),
    )
    top.done()
    return read


def _read_parts(table: Table) -> dict[str, str]:
    """The parts of expressions by name; each may hold those that stand above it."""
    parts: dict[str, str] = {}
    for name in table.left():
        parts[name] = _put_in(table.text(name), parts, table.file, table.path + name)
    return parts


def _put_in(expression: str, parts: Mapping[str, str], file: str, key: str) -> str:
    """*expression* with each ``<<name>>`` replaced by that part."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise RuleError(file, key, f"{match[0]}: no part of this name stands above")
        return parts[match[1]]

    return _PART.sub(part, expression)


def _read_pattern(entry: Table, parts: Mapping[str, str]) -> SecretPattern:
    unless = entry.text("unless", None)
    pattern = SecretPattern(
        name=entry.text("name"),
        re=_put_in(entry.text("re"), parts, entry.file, f"{entry.path}re"),
        unless=unless and _put_in(unless, parts, entry.file, f"{entry.path}unless"),
        literals=entry.texts("literals", ()),
    )
    if not _NAME.fullmatch(pattern.name):
        raise RuleError(entry.file, f"{entry.path}name", f"{pattern.name!r}: use a-z, 0-9 and _")
    for literal in pattern.literals:
        if literal != literal.lower() or not literal.isascii():
            raise RuleError(entry.file, f"{entry.path}literals", f"{literal!r}: lower-case ASCII")
    for key, expression in (("re", pattern.re), ("unless", pattern.unless)):
        if expression is not None and not expression.isascii():
            raise RuleError(entry.file, f"{entry.path}{key}", "must be ASCII")
    entry.done()
    return pattern
