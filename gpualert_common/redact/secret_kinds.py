"""Kinds of secrets: one TOML file for each in ``rules/secrets``.

This module reads and validates the files; :mod:`gpualert_common.redact.compiled_secrets` matches.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
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
from gpualert_common.structs import Struct
from gpualert_common.toml_table import Table

KNOWN = "known"
"""Kind of the literal secrets given to a :class:`Redactor`; no file has this name."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PART = re.compile(r"<<(\w+)>>")
_FOLDER = "secrets"


class SecretPattern(Struct, frozen=True):
    """One form of a secret, with named parts inserted.

    ``re`` is RE2 syntax over bytes: a negated class matches every byte beyond ASCII.  The named
    groups that begin with ``secret`` are masked, or the whole match if there is none.  A match that
    contains ``unless`` is not masked.  ``literals`` are in lower case; every match contains one of
    them, in any case.
    """

    name: str
    re: str
    unless: str | None = None
    literals: tuple[str, ...] = ()


class SecretKind(Struct, frozen=True):
    """A kind of secret.

    Masks contain ``id``; ``title`` is its name for display.  Of several kinds that match the same
    text, the one with the lowest ``order`` names the mask.
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
    """Return the directory with the kinds of *rules* (by default the rules in use).

    For a rules directory without a ``secrets`` folder this is the shipped one.
    """
    own = (rules_directory() if rules is None else Path(rules)) / _FOLDER
    return own if own.is_dir() else shipped_directory() / _FOLDER


def load_secrets(
    directory: Path, *, samples: bool = False, broken: list[RuleError] | None = None
) -> tuple[SecretKind, ...]:
    """Return the kinds of all ``*.toml`` files in *directory* in order, with *samples* on request.

    Raises :class:`RuleError` for an invalid file; with *broken* the error is appended there
    instead, and the other files are used.
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
    """Return the parts of expressions by name; each can use the parts above it."""
    parts: dict[str, str] = {}
    for name in table.left():
        parts[name] = _insert_parts(table.text(name), parts, table.file, table.path + name)
    return parts


def _insert_parts(expression: str, parts: Mapping[str, str], file: str, key: str) -> str:
    """Return *expression* with each ``<<name>>`` replaced by that part."""

    def find_part(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise RuleError(file, key, f"{match[0]}: no part of this name is defined above")
        return parts[match[1]]

    return _PART.sub(find_part, expression)


def _read_pattern(entry: Table, parts: Mapping[str, str]) -> SecretPattern:
    unless = entry.text("unless", None)
    pattern = SecretPattern(
        name=entry.text("name"),
        re=_insert_parts(entry.text("re"), parts, entry.file, f"{entry.path}re"),
        unless=unless and _insert_parts(unless, parts, entry.file, f"{entry.path}unless"),
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
