"""The baseline: the files in the working directory right after the launch."""

from __future__ import annotations

import os
from typing import NamedTuple

from gpualert_common.artifacts.search import SearchResult
from gpualert_common.errors import RecordError
from gpualert_common.record import Record

BASELINE = "baseline.json"
MOST_FILES = 20_000
"""About two megabytes.  New files beyond this number are recognized by their times."""
_MOST_BYTES = 16 << 20


class DirectorySnapshot(NamedTuple):
    """The files after the launch: identities by path."""

    is_complete: bool
    files: dict[str, tuple[int, ...]]


def write_baseline(record: Record, found: SearchResult) -> None:
    """Store the baseline in the record.  Raises OSError."""
    files = {encode_path(file.path): file.identity for file in found.files}
    is_complete = found.is_complete and not found.beyond_cap
    record.write_json(BASELINE, {"schema": 1, "complete": is_complete, "files": files})


def read_baseline(record: Record) -> DirectorySnapshot | None:
    """Return the baseline of a record; None when there is none, or it is damaged."""
    try:
        value = record.read_json(BASELINE, _MOST_BYTES)
        if value is None:
            return None
        files = {decode_path(text): tuple(numbers) for text, numbers in value["files"].items()}
        return DirectorySnapshot(value["complete"] is True, files)
    except (RecordError, LookupError, TypeError, ValueError, AttributeError):
        return None


def encode_path(path: str) -> str:
    """Return a path as text that preserves any bytes: JSON allows no lone surrogates."""
    return os.fsencode(path).decode("latin-1")


def decode_path(text: str) -> str:
    """Return the path that :func:`encode_path` made *text* of."""
    return os.fsdecode(text.encode("latin-1"))
