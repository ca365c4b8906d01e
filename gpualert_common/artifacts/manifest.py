"""The bundle of a run: the files that its alert carries, and their manifest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gpualert_common.artifacts.changes import find_changes
from gpualert_common.artifacts.file_names import clean_path
from gpualert_common.artifacts.freeze import await_freeze, read_freeze
from gpualert_common.artifacts.packer import pack
from gpualert_common.artifacts.search import DEADLINE_S
from gpualert_common.codec import encode
from gpualert_common.model import SCHEMA, Artifact, Bundle
from gpualert_common.structs import replace

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor

SEARCH_SHARE = 1 / 2
"""Share of the available time for the search; the rest is for reading the files."""


def bundle(
    record: Record,
    redactor: Redactor,
    *,
    files_bytes: int,
    file_bytes: int,
    files: int,
    deadline_s: float,
) -> Bundle:
    """Return the files that an alert of this budget carries, and the manifest of all files.

    The files are those of the :mod:`~.freeze`, or what is known of them without one.  Writes
    nothing.  Takes little longer than ``deadline_s`` after the freeze, unless a folder or file does
    not answer at all (a dead network mount): call it from a process that can be stopped.  Raises
    RecordError when the launch record cannot be read.
    """
    await_freeze(record)
    began = time.monotonic()
    search_s = min(DEADLINE_S, deadline_s * SEARCH_SHARE)
    changes = read_freeze(record) or find_changes(record, deadline_s=search_s)
    packed = pack(
        changes.candidates,
        record.path,
        files_bytes=files_bytes,
        file_bytes=file_bytes,
        files=files,
        redactor=redactor,
        deadline_s=deadline_s - (time.monotonic() - began),
    )
    notes = tuple(clean_path(redactor, note) for note in changes.notes)
    return replace(packed, beyond_cap=changes.beyond_cap, notes=notes)


def encode_manifest(bundle: Bundle) -> dict[str, Any]:
    """Return the object stored as ``bundle.json``: every row, each attachment, the report."""
    return {
        "schema": SCHEMA,
        "artifacts": [_encode_row(artifact) for artifact in bundle.artifacts],
        "attachments": [
            {"name": file.name, "bytes": len(file.content), "media_type": file.media_type}
            for file in bundle.attachments
        ],
        "report": None if bundle.report is None else encode(bundle.report),
        "beyond_cap": bundle.beyond_cap,
        "notes": list(bundle.notes),
    }


def _encode_row(artifact: Artifact) -> dict[str, Any]:
    path = artifact.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return {**encode(artifact), "path": path}
