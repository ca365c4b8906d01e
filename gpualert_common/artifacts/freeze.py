"""The freeze: the files of a run as they were at its end.

:func:`freeze` writes ``artifacts.json`` into the record, with every candidate, its size, times and
digest, and copies what an alert may carry into the folder ``artifacts/`` there, within limits.  An
alert that is sent later carries nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from typing import TYPE_CHECKING

from gpualert_common.artifacts.changes import Changes, FileCandidate, find_changes
from gpualert_common.artifacts.file_kinds import AttachMode, find_kind
from gpualert_common.artifacts.frozen_file import COPIES
from gpualert_common.artifacts.safe_open import RefusedError, open_path
from gpualert_common.artifacts.search import DEADLINE_S, identify
from gpualert_common.artifacts.snapshot import decode_path, encode_path
from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.record.files import OPEN_FLAGS, make_directory, open_directory, write_all
from gpualert_common.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpualert_common.record import Record

FREEZE = "artifacts.json"
LOCK = ".freeze"
READING_S = 10.0
"""Time for digests and copies, after the search: a busy disk takes seconds for a small file, and
an alert that is sent late has no other copy."""
AWAIT_S = 4.0
"""Time that an alert waits for the freeze; without it, the files themselves are read."""
MOST_READ_BYTES = 16 << 20
"""A longer file has no digest; nobody gets it whole."""
MOST_COPIED_BYTES = 8 << 20
"""For each run, and at most this part of the free space of the disk: a mail takes hardly more."""
FREE_SHARE = 1 / 100
MOST_COPIES = 50
_POLL_S = 0.02


def freeze(record: Record) -> None:
    """Freeze the files of a run that has ended; return at once where that was done or is going on.

    It takes little longer than the search and ``READING_S``.  Raises RecordError and OSError.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # without locks it may be made twice, with equal results
            lock = record.try_lock(LOCK)
            if lock < 0:
                return
            held.callback(os.close, lock)
        if not record.has(FREEZE):
            changes = find_changes(record, deadline_s=DEADLINE_S)
            _write(record, _Freezer(record).freeze(changes))


def await_freeze(record: Record) -> None:
    """Wait while another process freezes the files, for at most ``AWAIT_S``."""
    until = time.monotonic() + AWAIT_S
    with contextlib.suppress(OSError):  # the filesystem supports no lock
        while record.is_locked(LOCK) and not record.has(FREEZE) and time.monotonic() < until:
            time.sleep(_POLL_S)


def read_freeze(record: Record) -> Changes | None:
    """Return the freeze of a record; None when there is none, or it is damaged."""
    try:
        value = record.read_json(FREEZE)
        if value is None:
            return None
        changes = decode(Changes, value, os.path.join(record.path, FREEZE))
        candidates = tuple(_with_paths(one, decode_path) for one in changes.candidates)
        return replace(changes, candidates=candidates)
    except (RecordError, ValueError):
        return None


def _write(record: Record, changes: Changes) -> None:
    candidates = tuple(_with_paths(one, encode_path) for one in changes.candidates)
    record.write_json(FREEZE, encode(replace(changes, candidates=candidates)))


def _with_paths(candidate: FileCandidate, convert: Callable[[str], str]) -> FileCandidate:
    away = candidate.unavailable
    return replace(
        candidate,
        path=convert(candidate.path),
        name=convert(candidate.name),
        unavailable=None if away is None else away._replace(path=convert(away.path)),
    )


class _Freezer:
    """Digests and copies under construction."""

    def __init__(self, record: Record) -> None:
        self._until = time.monotonic() + READING_S
        self._folder = os.path.join(record.path, COPIES)
        self._folder_fd = -1
        self._copies: dict[tuple[int, int], str] = {}
        space = os.statvfs(record.path)
        self._left = min(MOST_COPIED_BYTES, int(space.f_bavail * space.f_frsize * FREE_SHARE))

    def freeze(self, changes: Changes) -> Changes:
        """Return the changes with digests and copies, those first that an alert takes first."""
        ordered = sorted(changes.candidates, key=lambda one: one.priority)
        try:
            frozen = tuple(self._freeze_file(one) for one in ordered)
        finally:
            if self._folder_fd >= 0:
                os.close(self._folder_fd)
        return replace(changes, candidates=frozen)

    def _freeze_file(self, candidate: FileCandidate) -> FileCandidate:
        if not self._is_worth_reading(candidate):
            return candidate
        try:
            fd = open_path(candidate.path)
        except (OSError, RefusedError):
            return candidate  # it was removed or replaced since: found out when it is packed
        try:
            return self._freeze_open(candidate, fd)
        except OSError:
            return candidate
        finally:
            os.close(fd)

    def _is_worth_reading(self, candidate: FileCandidate) -> bool:
        kind = find_kind(os.path.basename(candidate.path))
        return (
            candidate.unavailable is None
            and not candidate.late_because
            and 0 < (candidate.size or 0) <= MOST_READ_BYTES
            and (kind is None or kind.mode is not AttachMode.NAMED)
            and time.monotonic() < self._until
        )

    def _freeze_open(self, candidate: FileCandidate, fd: int) -> FileCandidate:
        """Return the candidate with its digest, and with a copy if there is room for one."""
        content = _read_whole(fd, candidate.size or 0)
        status = os.fstat(fd)
        if identify(status) != candidate.identity or len(content) != status.st_size:
            return candidate  # it changed since the search
        digest = hashlib.sha256(content).hexdigest()
        return replace(
            candidate, sha256=digest, copy=self._copy((status.st_dev, status.st_ino), content)
        )

    def _copy(self, file: tuple[int, int], content: bytes) -> str | None:
        """Return the name of the copy of a file; None where there is no room for it."""
        if file in self._copies:
            return self._copies[file]
        if len(content) > self._left or len(self._copies) >= MOST_COPIES:
            return None
        name = f"{len(self._copies) + 1:02}"
        try:
            self._write_copy(name, content)
        except OSError:  # the disk is full: what is there already is kept
            self._left = 0
            return None
        self._left -= len(content)
        self._copies[file] = name
        return name

    def _write_copy(self, name: str, content: bytes) -> None:
        if self._folder_fd < 0:
            make_directory(self._folder)
            self._folder_fd = open_directory(self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS
        fd = os.open(name, flags, 0o600, dir_fd=self._folder_fd)
        try:
            write_all(fd, content)
        except OSError:
            os.unlink(name, dir_fd=self._folder_fd)
            raise
        finally:
            os.close(fd)


def _read_whole(fd: int, most: int) -> bytes:
    """Return at most one byte more than ``most``, so that growth shows."""
    data = b""
    while len(data) <= most and (chunk := os.pread(fd, most + 1 - len(data), len(data))):
        data += chunk
    return data
