"""Entries of the corpus: what produced a log, and the cause that is its label.

The logs of one origin (one family of programs, or one generator) lie in one folder, together with
``entries.jsonl``, which has a line for each log.  ``python -m corpus produce`` and ``compose``
write both; the label is in the program or generator that made the log.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path

import msgspec

from corpus.errors import CorpusError
from gpualert_common.causes import CAUSES
from gpualert_common.diagnose.paper_classes import CLASSES, find_paper_class

CORPUS = Path(__file__).resolve().parent
ENTRIES = "entries.jsonl"
_FROZEN_OF = 3


class Provenance(StrEnum):
    """Origin of a log: produced by a program, or composed."""

    RAN_ON_CPU = "ran on CPU"
    RAN_ON_GPU = "ran on GPU"
    COMPOSED = "composed"


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """The label of one log.

    ``paper_class`` is the class of the paper, None where none fits.  ``exit_code`` is that of the
    process at the boundary: -n for signal n, None when it is unknown.  ``source`` is the program or
    generator, relative to the corpus.  ``basis`` names the documents that a composed log follows.
    ``why`` is the reason for a label that is hard to decide.
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
    def is_frozen(self) -> bool:
        """True if the origin belongs to the test split, which no rule is tuned to."""
        return is_frozen(self.origin)


class Split(StrEnum):
    """A choice of origins: all, those that rules may be tuned to, or the frozen ones."""

    ALL = "all"
    DEV = "dev"
    TEST = "test"

    def contains(self, entry: CorpusEntry) -> bool:
        """Return whether *entry* belongs to the split."""
        return self is Split.ALL or entry.is_frozen == (self is Split.TEST)


def is_frozen(origin: str) -> bool:
    """Return True for a third of all origins, which the digest of the name decides."""
    return hashlib.sha256(origin.encode()).digest()[0] % _FROZEN_OF == 0


def read_entries(corpus: Path) -> list[CorpusEntry]:
    """Return all entries below *corpus*/logs, by origin and name.  Raises :class:`CorpusError`."""
    logs = corpus / "logs"
    files = sorted(logs.glob(f"*/{ENTRIES}"))
    if not files:
        raise CorpusError(f"{logs}: no {ENTRIES} below it")
    return [entry for file in files for entry in _read_file(file)]


def read_origin(corpus: Path, origin: str) -> list[CorpusEntry]:
    """Return the entries of one origin, none of a new one.  Raises :class:`CorpusError`."""
    file = corpus / "logs" / origin / ENTRIES
    return _read_file(file) if file.exists() else []


def write_origin(corpus: Path, origin: str, entries: Iterable[CorpusEntry]) -> None:
    """Write the ``entries.jsonl`` of *origin*, sorted by name."""
    folder = corpus / "logs" / origin
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for entry in sorted(entries, key=lambda one: one.name):
        values = {key: value for key, value in asdict(entry).items() if value != ""}
        del values["origin"]
        lines.append(json.dumps(values, ensure_ascii=False) + "\n")
    (folder / ENTRIES).write_text("".join(lines), encoding="utf-8")


def log_path(corpus: Path, entry: CorpusEntry) -> Path:
    """Return the path of the log of *entry*."""
    return corpus / "logs" / entry.origin / f"{entry.name}.log"


def require_valid(entry: CorpusEntry) -> CorpusEntry:
    """Return *entry*.  Raises ValueError for an unknown cause or a class that contradicts it."""
    if entry.cause not in CAUSES:
        raise ValueError(f"cause {entry.cause!r} is not in the list of causes")
    label, implied = entry.paper_class, find_paper_class(entry.cause)
    if implied is not None and label != implied:
        raise ValueError(f"paper_class {label!r}: for cause {entry.cause!r} it is {implied!r}")
    if label is not None and label not in CLASSES:
        raise ValueError(f"paper_class {label!r} is not a class of the paper")
    return entry


def _read_file(file: Path) -> list[CorpusEntry]:
    entries = []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file}: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            values = msgspec.json.decode(line, type=dict[str, object])
            entries.append(_parse_entry(file.parent.name, values))
        except (ValueError, msgspec.MsgspecError) as error:
            raise CorpusError(f"{file}:{number}: {error}") from error
    return entries


def _parse_entry(origin: str, values: Mapping[str, object]) -> CorpusEntry:
    """Return the entry of a line.  The paper's class follows from the cause where it is absent."""
    unknown = values.keys() - {one.name for one in fields(CorpusEntry)}
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    implied = find_paper_class(str(values.get("cause")))
    given = {"origin": origin, "paper_class": implied, **values}
    return require_valid(msgspec.convert(given, CorpusEntry))
