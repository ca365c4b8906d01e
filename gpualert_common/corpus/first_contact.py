"""First contact: how the rules fared on logs of an origin before anybody looked at those logs.

A line of ``first_contact.jsonl`` is written when an origin is classified for the first time, and
never changed.  For an origin of the frozen split nothing but counts is told, so that nobody can
tune a rule to it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpualert_common._version import __version__
from gpualert_common.corpus.entries import read_origin
from gpualert_common.corpus.evaluate import Sample, Split, answer, answers_of
from gpualert_common.corpus.judged import read_log
from gpualert_common.corpus.similarity import groups_of
from gpualert_common.errors import CorpusError, UsageError
from gpualert_common.rule_files import rules_directory

FILE = "first_contact.jsonl"
_DIGEST_CHARS = 16


def read_contacts(corpus: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The contacts so far, oldest first."""
    try:
        lines = (Path(corpus) / FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise CorpusError(f"{Path(corpus) / FILE}: {error}") from error


def contact(
    corpus: str | os.PathLike[str], origins: Sequence[str], date: str
) -> list[dict[str, Any]]:
    """Classify the logs of *origins* that were never classified, and add a line for each origin.

    Returns those lines.  Raises :class:`UsageError`, before anything is classified, for an origin
    that has no logs or none that is new.
    """
    contacts = read_contacts(corpus)
    batch = 1 + max((one["batch"] for one in contacts), default=0)
    new = {origin: _new_samples(corpus, origin, contacts) for origin in dict.fromkeys(origins)}
    rules = rules_digest()
    lines = [_line(origin, samples, batch, date, rules) for origin, samples in new.items()]
    with (Path(corpus) / FILE).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return lines


def contacted(contacts: Sequence[Mapping[str, Any]]) -> set[str]:
    """The ids (``origin/name``) of all logs whose first contact is past."""
    return {f"{one['origin']}/{name}" for one in contacts for name in one["names"]}


def curve(contacts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each batch: what was right in it, and in all batches up to it.

    ``macro_f1`` is the mean over the origins of the batch, each weighing as many as its logs.
    """
    rows: list[dict[str, Any]] = []
    logs = right = 0
    for batch in sorted({one["batch"] for one in contacts}):
        lines = [one for one in contacts if one["batch"] == batch]
        here = sum(one["logs"] for one in lines)
        hits = sum(one["right"] for one in lines)
        logs, right = logs + here, right + hits
        rows.append(
            {
                "batch": batch,
                "date": max(one["date"] for one in lines),
                "origins": len(lines),
                "logs": here,
                "right": hits,
                "share": hits / here,
                "macro_f1": sum(one["macro_f1"] * one["logs"] for one in lines) / here,
                "share_so_far": right / logs,
            }
        )
    return rows


def rules_digest() -> str:
    """A digest of all rule files that are in use, by name and content."""
    digest = hashlib.sha256()
    for file in sorted(rules_directory().glob("*.toml")):
        digest.update(f"{file.name}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_DIGEST_CHARS]


def _new_samples(
    corpus: str | os.PathLike[str], origin: str, contacts: Sequence[Mapping[str, Any]]
) -> list[Sample]:
    entries = read_origin(corpus, origin)
    if not entries:
        raise UsageError(f"{origin}: no such origin below {os.fspath(corpus)}/logs")
    seen = contacted(contacts)
    new = [entry for entry in entries if entry.id not in seen]
    if not new:
        raise UsageError(f"{origin}: its first contact is past, and no log was added since")
    logs = [read_log(corpus, entry) for entry in new]
    groups = groups_of(logs, [entry.cause for entry in new])
    return [Sample(*one) for one in zip(new, logs, groups, strict=True)]


def _line(
    origin: str, samples: Sequence[Sample], batch: int, date: str, rules: str
) -> dict[str, Any]:
    answers = answer(samples)
    scores = answers_of(answers)
    frozen = samples[0].entry.frozen
    line: dict[str, Any] = {
        "batch": batch,
        "date": date,
        "origin": origin,
        "split": (Split.TEST if frozen else Split.DEV).value,
        "logs": len(answers),
        "right": sum(one.judged.right for one in answers),
        "macro_f1": round(scores.macro_f1(), 4),
        "version": __version__,
        "rules": rules,
        "names": [one.entry.name for one in answers],
    }
    if not frozen:
        line["wrong"] = {
            one.entry.name: [one.entry.cause, one.judged.cause]
            for one in answers
            if not one.judged.right
        }
    return line
