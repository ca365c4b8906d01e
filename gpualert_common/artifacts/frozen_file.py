"""A file as it was frozen: the file itself while it is unchanged, else its copy in the record."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from gpualert_common.artifacts.safe_open import RefusedError, open_path, resolve_links
from gpualert_common.artifacts.search import identify

if TYPE_CHECKING:
    from gpualert_common.artifacts.changes import FileCandidate

COPIES = "artifacts"
"""Folder of the copies in a record."""
_CHUNK_BYTES = 1 << 20


class ChangedError(Exception):
    """The file is not as it was at the end of the run, and there is no copy of it."""


def open_frozen(candidate: FileCandidate, record_path: str) -> tuple[int, str]:
    """Return a read descriptor of a file as it was frozen, and a remark where it is a copy.

    Of a candidate without an identity the file is as it is.  Raises ChangedError, and what
    :func:`~.safe_open.open_path` raises.
    """
    try:
        fd = open_path(candidate.path)
    except (OSError, RefusedError) as error:
        copy = _open_copy(candidate, record_path)
        if copy < 0:
            raise
        is_gone = isinstance(error, FileNotFoundError)
        return copy, _explain_copy("removed" if is_gone else "replaced")
    try:
        is_same = _is_same(candidate, fd)
    except OSError:
        is_same = False
    if is_same:
        return fd, ""
    os.close(fd)
    copy = _open_copy(candidate, record_path)
    if copy < 0:
        raise ChangedError("it changed after the end of the run")
    return copy, _explain_copy("changed")


def _is_same(candidate: FileCandidate, fd: int) -> bool:
    """Return True for an unchanged file, also where only its times are new or it was moved here."""
    status = os.fstat(fd)
    if candidate.identity is None or identify(status) == tuple(candidate.identity):
        return True
    if candidate.sha256 is None or status.st_size != candidate.size:
        return False
    digest = hashlib.sha256()
    offset = 0
    while chunk := os.pread(fd, _CHUNK_BYTES, offset):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest() == candidate.sha256


def _open_copy(candidate: FileCandidate, record_path: str) -> int:
    """Return a read descriptor of the copy; -1 where there is none."""
    if candidate.copy is None:
        return -1
    name = os.path.basename(candidate.copy)
    try:
        return open_path(os.path.join(resolve_links(record_path), COPIES, name))
    except (OSError, RefusedError):
        return -1


def _explain_copy(change: str) -> str:
    verb = "changed" if change == "changed" else f"was {change}"
    return f"from the copy made at the end of the run: it {verb} since"
