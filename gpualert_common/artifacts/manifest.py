"""From a run record to the files that its message carries, and their manifest."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from gpualert_common.artifacts.changes import changed
from gpualert_common.artifacts.file_names import shown
from gpualert_common.artifacts.packer import pack
from gpualert_common.artifacts.search import DEADLINE_S
from gpualert_common.model import SCHEMA, Bundle

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor

SEARCH_SHARE = 1 / 2
"""Of the time there is, at most so much goes to the search; the rest is for reading."""


def bundle(
    record: Record,
    redactor: Redactor,
    *,
    files_bytes: int,
    file_bytes: int,
    files: int,
    deadline_s: float,
) -> Bundle:
    """What a message of this budget carries of the run's files, and the manifest of all.

    Writes nothing.  Takes ``deadline_s`` and a little more, unless a folder or file does not answer
    at all (a dead network mount): call it where that can be given up.  Raises RecordError when the
    launch record cannot be read.
    """
    began = time.monotonic()
    changes = changed(record, deadline_s=min(DEADLINE_S, deadline_s * SEARCH_SHARE))
    packed = pack(
        changes.candidates,
        files_bytes=files_bytes,
        file_bytes=file_bytes,
        files=files,
        redactor=redactor,
        deadline_s=deadline_s - (time.monotonic() - began),
    )
    notes = tuple(shown(redactor, note) for note in changes.notes)
    return dataclasses.replace(packed, beyond_cap=changes.beyond_cap, notes=notes)


def manifest_json(bundle: Bundle) -> dict[str, Any]:
    """The object stored as ``bundle.json``: every row, and what each attachment weighs."""
    return {
        "schema": SCHEMA,
        "artifacts": [_row(artifact) for artifact in bundle.artifacts],
        "attachments": [
            {"name": file.name, "bytes": len(file.content), "media_type": file.media_type}
            for file in bundle.attachments
        ],
        "beyond_cap": bundle.beyond_cap,
        "notes": list(bundle.notes),
    }


def _row(artifact: Any) -> dict[str, Any]:
    row = dataclasses.asdict(artifact)
    path = artifact.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return {**row, "path": path, "fate": artifact.fate.value}
