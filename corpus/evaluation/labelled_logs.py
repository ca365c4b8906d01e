"""Logs of the corpus with their labels and their groups of near-copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.entries import CorpusEntry, log_path, read_entries
from corpus.errors import CorpusError
from corpus.evaluation.similarity import group_near_copies


@dataclass(frozen=True, slots=True)
class LabelledLog:
    """A log, its entry, and the number of its group of near-copies."""

    entry: CorpusEntry
    content: bytes
    group: int


def read_labelled_logs(corpus: Path) -> list[LabelledLog]:
    """Return all logs of *corpus*.  Raises :class:`CorpusError`."""
    return load_logs(corpus, read_entries(corpus))


def load_logs(corpus: Path, entries: Sequence[CorpusEntry]) -> list[LabelledLog]:
    """Return the logs of *entries*, grouped among themselves.  Raises :class:`CorpusError`."""
    contents = [_read_log(log_path(corpus, entry)) for entry in entries]
    groups = group_near_copies(contents, [entry.cause for entry in entries])
    return [LabelledLog(*one) for one in zip(entries, contents, groups, strict=True)]


def near_copies(logs: Sequence[LabelledLog]) -> list[list[LabelledLog]]:
    """Return the groups with more than one log, largest first."""
    groups: dict[int, list[LabelledLog]] = {}
    for log in logs:
        groups.setdefault(log.group, []).append(log)
    found = [members for members in groups.values() if len(members) > 1]
    return sorted(found, key=lambda members: (-len(members), members[0].entry.id))


def _read_log(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}, but an entry names it") from error
