"""What stood in the working directory after the launch, kept in the record."""

from __future__ import annotations

import os
from typing import NamedTuple

from gpualert_common.artifacts.search import SearchResult
from gpualert_common.errors import RecordError
from gpualert_common.record import Record

BASELINE = "baseline.json"
MOST_FILES = 20_000
"""About two megabytes.  Files beyond it are told from new ones by their times."""
_MOST_BYTES = 16 << 20


class DirectorySnapshot(NamedTuple):
    """What stood there after the launch: identities by path."""

    complete: bool
    files: dict[str, tuple[int, ...]]


def write_baseline(record: Record, found: SearchResult) -> None:
    """Keep what stood there after the launch.  Raises OSError."""
    files = {_to_text(file.path): file.identity for file in found.found}
    complete = found.complete and not found.beyond_cap
    record.write_json(BASELINE, {"schema": 1, "complete": complete, "files": files})


def read_baseline(record: Record) -> DirectorySnapshot | None:
    """What stood there after the launch; None where nobody looked, or the file is damaged."""
    try:
        value = record.read_json(BASELINE, _MOST_BYTES)
        if value is None:
            return None
        files = {_to_path(text): tuple(numbers) for text, numbers in value["files"].items()}
        return DirectorySnapshot(value["complete"] is True, files)
    except (RecordError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _to_text(path: str) -> str:
    """A path as text that any bytes survive: JSON holds no lone surrogates."""
    return os.fsencode(path).decode("latin-1")


def _to_path(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))
