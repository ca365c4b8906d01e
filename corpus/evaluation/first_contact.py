"""First contact: the score of the rules on logs of an origin before anybody looks at those logs.

A line of ``first_contact.jsonl`` is written when an origin is classified for the first time, and
never changed.  For an origin of the frozen split it has only counts, so that nobody can tune a rule
to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from corpus.entries import Split, read_origin
from corpus.errors import CorpusError
from corpus.evaluation.classification import classify_logs
from corpus.evaluation.evaluation import predict_causes
from corpus.evaluation.labelled_logs import LabelledLog, load_logs
from gpualert_common._version import __version__
from gpualert_common.errors import UsageError
from gpualert_common.rule_files import rules_directory

FILE = "first_contact.jsonl"
_DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class FirstContact:
    """The first classification of some logs of one origin.

    ``rules`` is a digest of the rules at that time, ``names`` are the logs.  ``wrong`` has the
    label and the cause of each wrong log; None for a frozen origin.
    """

    batch: int
    date: str
    origin: str
    split: Split
    logs: int
    right: int
    macro_f1: float
    version: str
    rules: str
    names: tuple[str, ...]
    wrong: Mapping[str, tuple[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class ContactBatch:
    """All first contacts of one batch, and the share that is right in all batches so far.

    ``macro_f1`` is the mean over the origins of the batch, weighted by their logs.
    """

    batch: int
    date: str
    origins: int
    logs: int
    right: int
    share: float
    macro_f1: float
    share_so_far: float


def read_contacts(corpus: Path) -> list[FirstContact]:
    """Return the first contacts so far, oldest first.  Raises :class:`CorpusError`."""
    file = corpus / FILE
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    try:
        return [msgspec.json.decode(line, type=FirstContact) for line in lines]
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{file}: {error}") from error


def record_contacts(corpus: Path, origins: Sequence[str], date: str) -> list[FirstContact]:
    """Classify the logs of *origins* that are new, and add a line for each origin to the file.

    Returns the new lines.  Raises :class:`UsageError`, before anything is classified, for an origin
    without logs or without new ones.
    """
    contacts = read_contacts(corpus)
    batch = 1 + max((one.batch for one in contacts), default=0)
    met = contacted_ids(contacts)
    new = {origin: _read_new_logs(corpus, origin, met) for origin in dict.fromkeys(origins)}
    rules = digest_rules()
    found = [_score(origin, logs, batch, date, rules) for origin, logs in new.items()]
    with (corpus / FILE).open("a", encoding="utf-8") as file:
        file.writelines(contact_to_json(one) + "\n" for one in found)
    return found


def contact_to_json(contact: FirstContact) -> str:
    """Return the line of *contact*."""
    values = {key: value for key, value in asdict(contact).items() if value is not None}
    return json.dumps(values, ensure_ascii=False)


def contacted_ids(contacts: Sequence[FirstContact]) -> set[str]:
    """Return the ids (``origin/name``) of all logs that were classified in *contacts*."""
    return {f"{one.origin}/{name}" for one in contacts for name in one.names}


def group_batches(contacts: Sequence[FirstContact]) -> list[ContactBatch]:
    """Return the curve of first contacts: one point for each batch."""
    batches: list[ContactBatch] = []
    logs = right = 0
    for batch in sorted({one.batch for one in contacts}):
        members = [one for one in contacts if one.batch == batch]
        here = sum(one.logs for one in members)
        hits = sum(one.right for one in members)
        logs, right = logs + here, right + hits
        batches.append(
            ContactBatch(
                batch=batch,
                date=max(one.date for one in members),
                origins=len(members),
                logs=here,
                right=hits,
                share=hits / here,
                macro_f1=sum(one.macro_f1 * one.logs for one in members) / here,
                share_so_far=right / logs,
            )
        )
    return batches


def digest_rules() -> str:
    """Return a digest of the names and contents of all rule files in use."""
    digest = hashlib.sha256()
    for file in sorted(rules_directory().glob("*.toml")):
        digest.update(f"{file.name}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_DIGEST_CHARS]


def _read_new_logs(corpus: Path, origin: str, met: set[str]) -> list[LabelledLog]:
    entries = read_origin(corpus, origin)
    if not entries:
        raise UsageError(f"{origin}: no such origin below {corpus}/logs")
    new = [entry for entry in entries if entry.id not in met]
    if not new:
        raise UsageError(f"{origin}: already classified, and no log was added since")
    return load_logs(corpus, new)


def _score(
    origin: str, logs: Sequence[LabelledLog], batch: int, date: str, rules: str
) -> FirstContact:
    classified = classify_logs(logs)
    is_frozen = logs[0].entry.is_frozen
    wrong = {
        one.entry.name: (one.entry.cause, one.classification.cause)
        for one in classified
        if not one.is_correct
    }
    return FirstContact(
        batch=batch,
        date=date,
        origin=origin,
        split=Split.TEST if is_frozen else Split.DEV,
        logs=len(logs),
        right=sum(one.is_correct for one in classified),
        macro_f1=round(predict_causes(classified).macro_f1(), 4),
        version=__version__,
        rules=rules,
        names=tuple(one.entry.name for one in classified),
        wrong=None if is_frozen else wrong,
    )
