"""Checks of the rule files of secrets, for their authors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpualert_common.errors import RuleError
from gpualert_common.redact.compiled_secrets import CompiledSecrets
from gpualert_common.redact.redactor import Redactor
from gpualert_common.redact.samples import SecretSample, expand_sample
from gpualert_common.redact.secret_kinds import (
    SecretKind,
    SecretPattern,
    load_secrets,
    secrets_directory,
)

_PREFIXES = ("", "[rank3]: ", "[default1]:", "(Worker pid=71, ip=10.0.0.2) ", "\x1b[31m")
"""Prefixes of log lines: a secret must be found after each of them."""


def check_secrets(rules: str | os.PathLike[str] | None = None) -> list[RuleError]:
    """Return the problems of the kinds of secrets in *rules* (by default the rules in use).

    Each problem names file and key: schema errors, expressions that RE2 cannot compile, patterns
    without samples, hits that are not masked exactly as marked (with all kinds in use, after the
    prefixes of launchers, and unchanged by a second masking), and near misses that match.
    """
    directory = secrets_directory(rules)
    problems: list[RuleError] = []
    for kind in load_secrets(directory, samples=True, broken=problems):
        for pattern in kind.patterns:
            problems += _check_pattern(pattern, kind, directory)
    return problems


def _check_pattern(
    pattern: SecretPattern, kind: SecretKind, directory: Path
) -> Iterator[RuleError]:
    key = f"samples.{pattern.name}"
    alone = CompiledSecrets([_isolate(pattern, kind)])
    if alone.broken:
        yield from alone.broken
        return
    samples = kind.samples.get(pattern.name)
    if samples is None or not samples.hits or not samples.near_misses:
        yield RuleError(kind.file, key, "needs a hit and a near miss")
        return
    try:
        hits = [expand_sample(sample) for sample in samples.hits]
        near_misses = [expand_sample(sample).text for sample in samples.near_misses]
    except ValueError as error:
        yield RuleError(kind.file, key, str(error))
        return
    for hit in hits:
        yield from _check_hit(hit, pattern, kind, alone, directory)
    for near in near_misses:
        if any(True for _ in alone.find_spans(near.encode())):
            yield RuleError(kind.file, f"{key}.near_misses", f"hits: {near!r}")


def _check_hit(
    hit: SecretSample,
    pattern: SecretPattern,
    kind: SecretKind,
    alone: CompiledSecrets,
    directory: Path,
) -> Iterator[RuleError]:
    key = f"samples.{pattern.name}.hits"
    if not hit.secrets:
        yield RuleError(kind.file, key, f"marks no secret: {hit.text!r}")
        return
    lower = hit.text.lower()
    if pattern.literals and not any(literal in lower for literal in pattern.literals):
        yield RuleError(kind.file, key, f"holds none of the literals: {hit.text!r}")
    if not any(True for _ in alone.find_spans(hit.text.encode())):
        yield RuleError(kind.file, key, f"no hit: {hit.text!r}")
    redactor = Redactor(directory=directory)
    for prefix in _PREFIXES:
        masked = redactor.mask_text(prefix + hit.text)
        if masked != prefix + hit.mask(kind.id):
            yield RuleError(kind.file, key, f"{prefix + hit.text!r} becomes {masked!r}")
            return
        if redactor.mask_text(masked) != masked:
            yield RuleError(kind.file, key, f"masked twice: {masked!r}")
            return


def _isolate(pattern: SecretPattern, kind: SecretKind) -> SecretKind:
    return SecretKind(
        id=kind.id,
        title=kind.title,
        order=kind.order,
        patterns=(pattern,),
        sources=kind.sources,
        since=kind.since,
        file=kind.file,
        samples={},
    )
