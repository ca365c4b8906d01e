"""The directory of a record: its lock, and files that are written as a whole or appended to."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time

from gpualert_common.codec import require_schema
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.record.files import (
    OPEN_FLAGS,
    is_held_by_others,
    open_directory,
    open_lock,
    read_file,
    read_part,
    remove_all,
    try_lock,
    write_all,
)
from gpualert_common.record.private_directory import find_other_writers, keep_out_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

encode = json.JSONEncoder(ensure_ascii=False).encode
"""One encoder for all: ``json.dumps`` with an argument makes a new one each time."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
MOST_JSON_BYTES = 16 << 20
"""Limit for reading: several times the longest command that a kernel starts."""
_MOST_NUMBER_BYTES = 32
_TRIES = 20
_TRY_S = 0.005
"""A process that checks whether a record is held holds its lock for some microseconds."""


class Directory:
    """Directory of one record, open for reading, and for writing by the process that created it."""

    __slots__ = ("_dir_fd", "_lock_fd", "_sync", "path", "run_id")

    def __init__(self, path: str, dir_fd: int, *, sync: bool = True) -> None:
        self.path = path
        self.run_id = os.path.basename(path)
        self._dir_fd = dir_fd
        self._lock_fd = -1
        self._sync = sync

    # -- making and opening one ------------------------------------------------------------

    @classmethod
    def create(cls, path: str, *, sync: bool = True) -> Self:
        """Return a new, empty record that this process holds.  Raises OSError."""
        os.mkdir(path, 0o700)
        record = cls(path, open_directory(path), sync=sync)
        record._lock_fd = open_directory(path)
        fcntl.flock(record._lock_fd, fcntl.LOCK_EX)
        return record

    @classmethod
    def open(cls, path: str) -> Self:
        """Return the record at ``path``.  Raises RecordError if it is missing or not trusted."""
        try:
            dir_fd = open_directory(path)
        except OSError as error:
            raise RecordError(f"{path}: no run record here: {error.strerror}") from None
        problem = find_other_writers(keep_out_group(dir_fd))
        if problem:
            os.close(dir_fd)
            raise RecordError(f"{path}: this record {problem}, so it is not trusted")
        return cls(os.path.abspath(path), dir_fd)

    def close(self) -> None:
        """Close the descriptors; release the record if this process holds it."""
        for fd in (self._dir_fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._dir_fd = self._lock_fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_lock_fd"):  # an exception of the caller may have interrupted __init__
            self.close()

    def release_own_lock(self) -> None:
        """Release the lock for this process only; a process that shares it by fork keeps it."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def discard(self) -> None:
        """Remove the record, if the run cannot be prepared here."""
        self.release_own_lock()  # if no descriptor is left, listing the directory needs this one
        remove_all(self._dir_fd)
        os.rmdir(self.path)
        self.close()

    # -- the lock --------------------------------------------------------------------------

    @property
    def is_removed(self) -> bool:
        """True if this directory was removed; there may be a new one of the same name."""
        return os.fstat(self._dir_fd).st_nlink == 0

    def take(self) -> bool:
        """Take the lock of this record; False if its supervisor is alive."""
        fd = open_directory(self.path)
        for _try in range(_TRIES):
            if try_lock(fd):
                self._lock_fd = fd
                return True
            time.sleep(_TRY_S)
        os.close(fd)
        return False

    def share_lock(self) -> int:
        """Return a descriptor that holds the lock, too, for a process that inherits it.

        Raises OSError if this process does not hold the lock.
        """
        return os.dup(self._lock_fd)

    def adopt_lock(self, fd: int) -> None:
        """Hold the record by a descriptor that this process inherited."""
        self._lock_fd = fd

    @property
    def is_held(self) -> bool:
        """True while a supervisor holds this record, even if the record was removed."""
        if self._lock_fd >= 0:
            return True
        fd = os.open(f"/proc/self/fd/{self._dir_fd}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return is_held_by_others(fd)

    def try_lock(self, name: str) -> int:
        """Return a descriptor that holds the lock file ``name``; -1 if another process holds it.

        Raises OSError if the filesystem supports no lock.
        """
        fd = open_lock(name, dir_fd=self._dir_fd)
        try:
            held = try_lock(fd)
        except BaseException:
            os.close(fd)
            raise
        if not held:
            os.close(fd)
        return fd if held else -1

    def is_locked(self, name: str) -> bool:
        """True while a process holds the lock file ``name``."""
        try:
            fd = os.open(name, os.O_RDONLY | OPEN_FLAGS, dir_fd=self._dir_fd)
        except OSError:
            return False
        return is_held_by_others(fd)

    # -- whole files -----------------------------------------------------------------------

    def write_json(self, name: str, value: Mapping[str, Any], *, sync: bool = False) -> None:
        """Replace file ``name`` as a whole; with ``sync`` its bytes are synced before that."""
        temporary = f".{name}.{os.getpid()}"
        self._write_to(temporary, os.O_TRUNC, value, sync=sync)
        os.rename(temporary, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def create_json(self, name: str, value: Mapping[str, Any], *, sync: bool = False) -> bool:
        """Write file ``name`` as a whole; False if it exists.  True for exactly one caller.

        Raises OSError.
        """
        temporary = f".{name}.{os.getpid()}.{time.monotonic_ns()}"
        try:
            self._write_to(temporary, os.O_EXCL, value, sync=sync)
            os.link(temporary, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return self._create_without_links(name, value, sync=sync)
        finally:
            self.remove(temporary)
        return True

    def _create_without_links(self, name: str, value: Mapping[str, Any], *, sync: bool) -> bool:
        try:
            self._write_to(name, os.O_EXCL, value, sync=sync)
        except FileExistsError:
            return False
        return True

    def _write_to(self, name: str, how: int, value: Mapping[str, Any], *, sync: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | how | OPEN_FLAGS
        fd = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
        try:
            write_all(fd, _lines(value))
            if sync and self._sync:
                os.fsync(fd)
        except OSError:
            self.remove(name)
            raise
        finally:
            os.close(fd)

    def write_into_spare(self, spare: str, name: str, value: dict[str, Any], *, sync: bool) -> None:
        """Write the object into the space of file ``spare``, and rename that to ``name``.

        Raises OSError, FileNotFoundError if there is no file ``spare``.
        """
        data = _lines(value)
        fd = os.open(spare, os.O_WRONLY | OPEN_FLAGS, dir_fd=self._dir_fd)
        try:
            write_all(fd, data)
            os.ftruncate(fd, len(data))
            if sync and self._sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(spare, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def set_aside(self, name: str) -> None:
        """Rename a damaged file, so that it is kept but not read.  Raises OSError."""
        aside = f".{name}.damaged"
        os.rename(name, aside, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def has(self, name: str) -> bool:
        """True if there is a file of that name, also one that cannot be examined."""
        try:
            os.stat(name, dir_fd=self._dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def stored_at(self, name: str) -> float | None:
        """Return when file ``name`` was written, in seconds since the epoch; None if unknown."""
        try:
            return os.stat(name, dir_fd=self._dir_fd, follow_symlinks=False).st_mtime
        except OSError:
            return None

    def read_json(self, name: str, most_bytes: int = MOST_JSON_BYTES) -> dict[str, Any] | None:
        """Return the object in file ``name``; None if there is no file.

        Raises DamagedFileError if it is not a JSON object, RecordError if it is larger than
        ``most_bytes``, cannot be read, or was written by a newer release.
        """
        where = os.path.join(self.path, name)
        data = read_file(self._dir_fd, name, where, most_bytes)
        if data is None:
            return None
        try:
            value = json.loads(data.decode("utf-8", "replace"))
            if b"\\ud" in data.lower():  # maybe half of a pair, which is no text
                value = json.loads(encode(value).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise DamagedFileError(f"{where}: not valid JSON: {error}") from None
        require_schema(value, where)
        return dict(value)

    def read_part(self, name: str, offset: int, most_bytes: int) -> bytes | None:
        """Return at most ``most_bytes`` of file ``name`` from ``offset`` on; None without a file.

        Raises DamagedFileError for what is no file, RecordError if it cannot be read.
        """
        where = os.path.join(self.path, name)
        return read_part(self._dir_fd, name, where, offset, most_bytes)

    def read_number(self, name: str) -> int:
        """Return the decimal number in file ``name``; 0 if there is none."""
        text = (self.read_part(name, 0, _MOST_NUMBER_BYTES) or b"").strip()
        return int(text) if text.isdigit() else 0

    def remove(self, name: str) -> None:
        """Remove file ``name`` if it exists."""
        try:
            os.unlink(name, dir_fd=self._dir_fd)
        except FileNotFoundError:
            pass

    def append(self, name: str, line: str) -> None:
        """Append one line to file ``name``.  Raises OSError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | OPEN_FLAGS
        fd = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
        try:
            write_all(fd, line.encode("utf-8", "replace") + b"\n")
        finally:
            os.close(fd)

    def sync_directory(self) -> None:
        """Sync the names in the record to disk."""
        if self._sync:
            os.fsync(self._dir_fd)


def _lines(value: Mapping[str, Any]) -> bytes:
    return encode(value).encode("utf-8", "replace") + b"\n"
