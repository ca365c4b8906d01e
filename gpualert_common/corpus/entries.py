"""Entries of the corpus: a log, what made it, and the name of what went wrong in it.

The logs of one origin (one family of programs, or one generator) lie in one folder with
``entries.jsonl`` beside them, a line for each log.  Both are written by ``corpus.produce`` and
``corpus.compose``; the label stands in the program or generator that made the log.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from gpualert_common.causes import CAUSES
from gpualert_common.diagnose.paper_classes import CLASSES, class_of_cause
from gpualert_common.errors import CorpusError

ENTRIES = "entries.jsonl"
_FROZEN_OF = 3


class Provenance(StrEnum):
    """How a log came to be."""

    RAN_ON_CPU = "ran on CPU"
    RAN_ON_GPU = "ran on GPU"
    COMPOSED = "composed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One labelled log.

    ``paper_class`` is the paper's label, None where none of its classes fits; ``exit_code`` that
    of the process at the boundary (-n for signal n, None when nobody saw it).  ``source`` is the
    program or generator, relative to the corpus; ``basis`` says what a composed log follows;
    ``why`` is the reason of a label at a border.
    """

    origin: str
    name: str
    cause: str
    paper_class: str | None
    exit_code: int | None
    provenance: Provenance
    source: str
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    basis: str = ""
    why: str = ""

    @property
    def id(self) -> str:
        """``origin/name``, unique in the corpus."""
        return f"{self.origin}/{self.name}"

    @property
    def frozen(self) -> bool:
        """True when the origin belongs to the test split, which rules are never tuned to."""
        return is_frozen(self.origin)


def is_frozen(origin: str) -> bool:
    """True for a third of all origins: decided by the name's digest, before anything is seen."""
    return hashlib.sha256(origin.encode()).digest()[0] % _FROZEN_OF == 0


def read_entries(corpus: str | os.PathLike[str]) -> list[Entry]:
    """All entries under *corpus*/logs, by origin and name.  Raises :class:`CorpusError`."""
    logs = Path(corpus) / "logs"
    found: list[Entry] = []
    for file in sorted(logs.glob(f"*/{ENTRIES}")):
        found += _read_file(file)
    if not found:
        raise CorpusError(f"{logs}: no {ENTRIES} below it")
    return found


def log_path(corpus: str | os.PathLike[str], entry: Entry) -> Path:
    """Where the log of *entry* lies."""
    return Path(corpus) / "logs" / entry.origin / f"{entry.name}.log"


def write_origin(corpus: str | os.PathLike[str], origin: str, entries: Iterable[Entry]) -> None:
    """Write the ``entries.jsonl`` of *origin*, sorted by name."""
    folder = Path(corpus) / "logs" / origin
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for entry in sorted(entries, key=lambda one: one.name):
        fields = {key: value for key, value in asdict(entry).items() if value != ""}
        del fields["origin"]
        lines.append(json.dumps(fields, ensure_ascii=False) + "\n")
    (folder / ENTRIES).write_text("".join(lines), encoding="utf-8")


def read_origin(corpus: str | os.PathLike[str], origin: str) -> list[Entry]:
    """The entries of one origin, none if it has none yet.  Raises :class:`CorpusError`."""
    file = Path(corpus) / "logs" / origin / ENTRIES
    return _read_file(file) if file.exists() else []


def _read_file(file: Path) -> list[Entry]:
    entries = []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file}: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entries.append(entry_of(file.parent.name, json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise CorpusError(f"{file}:{number}: {error}") from error
    return entries


def entry_of(origin: str, fields: Mapping[str, Any]) -> Entry:
    """The entry of *origin* with these *fields*.

    The paper's class follows from the cause where none is given.  Raises ValueError for a name
    that is none, TypeError for a key that is none.
    """
    cause = fields["cause"]
    if cause not in CAUSES:
        raise ValueError(f"cause {cause!r} is not in the list of causes")
    label = fields.get("paper_class", class_of_cause(cause))
    own = class_of_cause(cause)
    if own is not None and label != own:
        raise ValueError(f"paper_class {label!r}: of cause {cause!r} it is {own!r}")
    if label is not None and label not in CLASSES:
        raise ValueError(f"paper_class {label!r} is none of the paper's")
    known = {**fields, "paper_class": label, "provenance": Provenance(fields["provenance"])}
    return Entry(origin=origin, **known)
