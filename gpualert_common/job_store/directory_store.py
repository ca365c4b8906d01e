"""A store in a directory that the nodes share, by NFS, Lustre or another filesystem.

Files appear whole: they are written under a name that no list shows, then renamed or, where only
one process may have the name, linked.  Both are atomic on NFS, too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TypeVar

from gpualert_common.errors import StoreError
from gpualert_common.job_store.folder_access import (
    PRIVATE_FILE,
    SHARED_FILE,
    is_shared,
    name_hidden,
    open_folder,
)
from gpualert_common.job_store.store import StoredFile
from gpualert_common.job_store.store_path import is_plain_name, split_named, split_path
from gpualert_common.job_store.transient_errors import repeat_transient

MOST_FILES = 100_000
"""Files of a folder that are listed; a job has one digest for each node and restart."""

_TRANSIENT = frozenset(
    (errno.ESTALE, errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ETIMEDOUT, errno.EREMOTEIO)
)
_GONE = (FileNotFoundError, NotADirectoryError)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

Result = TypeVar("Result")


class DirectoryStore:
    """A store in the directory ``place``, whose last folder is made at need."""

    def __init__(self, place: str, *, deadline_s: float) -> None:
        self._place = place
        self._deadline_s = deadline_s
        self._requests = 0

    @property
    def requests(self) -> int:
        """Number of operations on files so far: each list, read, write and removal."""
        return self._requests

    # -- reading ---------------------------------------------------------------------------

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the regular files in a folder, those of trusted owners; none without a folder."""
        names = split_path(self._place, folder)

        def list_once() -> list[StoredFile]:
            with open_folder(self._place, names) as (fd, is_trusted):
                return [
                    StoredFile(name, status.st_size, status.st_mtime)
                    for name, status in _scan(fd)
                    if stat.S_ISREG(status.st_mode) and is_trusted(status)
                ]

        try:
            return self._call("list", folder, list_once)
        except _GONE:
            return []

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder; none where it does not exist."""
        names = split_path(self._place, folder)

        def list_once() -> list[str]:
            with open_folder(self._place, names) as (fd, is_trusted):
                return [
                    name
                    for name, status in _scan(fd)
                    if stat.S_ISDIR(status.st_mode) and (not names or is_trusted(status))
                ]

        try:
            return self._call("list", folder, list_once)
        except _GONE:
            return []

    def find_file(self, path: str) -> StoredFile | None:
        """Return a regular file of a trusted owner; None where there is none."""
        *folders, name = split_named(self._place, path)

        def find_once() -> StoredFile | None:
            with open_folder(self._place, folders) as (fd, is_trusted):
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode) or not is_trusted(status):
                    return None
                return StoredFile(name, status.st_size, status.st_mtime)

        try:
            return self._call("read", path, find_once)
        except _GONE:
            return None

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a regular file of a trusted owner, cut; None where there is none."""
        *folders, name = split_named(self._place, path)

        def read_once() -> bytes | None:
            with open_folder(self._place, folders) as (fd, is_trusted):
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
                if not stat.S_ISREG(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                    return None  # opening a device can already have an effect
                with open(os.open(name, flags, dir_fd=fd), "rb", buffering=0) as file:
                    status = os.fstat(file.fileno())
                    if not stat.S_ISREG(status.st_mode) or not is_trusted(status):
                        return None
                    return _read_all(file.fileno(), most_bytes)

        try:
            return self._call("read", path, read_once)
        except _GONE:
            return None

    # -- writing ---------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a file, whole or not at all."""
        *folders, name = split_named(self._place, path)

        def write_once() -> None:
            with self._write_hidden(folders, data) as (fd, hidden, status):
                try:
                    os.rename(hidden, name, src_dir_fd=fd, dst_dir_fd=fd)
                except FileNotFoundError:
                    # NFS repeats a request whose answer was lost, and then finds it done.
                    if not _is_same(fd, name, status):
                        raise

        self._call("write", path, write_once)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; False where it does, whoever made it."""
        *folders, name = split_named(self._place, path)

        def create_once() -> bool:
            with self._write_hidden(folders, data) as (fd, hidden, status):
                try:
                    os.link(hidden, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
                except OSError as error:
                    if _is_same(fd, name, status):
                        return True  # as for a rename
                    if error.errno == errno.EEXIST:
                        return False
                    if error.errno in _NO_LINKS:
                        raise StoreError(
                            f"{self._place}: this filesystem has no hard links, without which "
                            f"nodes cannot agree on one alert ({error.strerror}); use another one"
                        ) from None
                    raise
                return True

        return self._call("create", path, create_once)

    # -- removing --------------------------------------------------------------------------

    def remove_file(self, path: str) -> None:
        """Remove a file, if it exists."""
        *folders, name = split_named(self._place, path)

        def remove_once() -> None:
            with open_folder(self._place, folders) as (fd, _is_trusted):
                os.unlink(name, dir_fd=fd)

        with suppress(*_GONE):
            self._call("remove", path, remove_once)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that is in it, also unfinished files, if it exists."""
        *folders, name = split_named(self._place, folder)

        def remove_once() -> None:
            with open_folder(self._place, folders) as (fd, _is_trusted):
                _remove_tree(name, fd)

        with suppress(*_GONE):
            self._call("remove", folder, remove_once)

    # -- folders ---------------------------------------------------------------------------

    @contextmanager
    def _write_hidden(
        self, folders: list[str], data: bytes
    ) -> Iterator[tuple[int, str, os.stat_result]]:
        """Yield a folder and a new hidden file in it, with its status; it is removed at the end."""
        with open_folder(self._place, folders, make=True) as (fd, _is_trusted):
            hidden = name_hidden()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(hidden, flags, PRIVATE_FILE, dir_fd=fd)
            try:
                try:
                    status = os.fstat(file)
                    if is_shared(os.fstat(fd)):
                        os.fchmod(file, SHARED_FILE)
                    _write_all(file, data)
                finally:
                    os.close(file)  # where NFS reports a full disk
                yield fd, hidden, status
            finally:
                try:
                    os.unlink(hidden, dir_fd=fd)
                except OSError:
                    pass  # it was renamed, or the disk is gone

    def _call(self, operation: str, path: str, call: Callable[[], Result]) -> Result:
        """Return the result of a call, repeated after transient errors.

        Raises StoreError; or one of ``_GONE`` where only the file or folder does not exist.
        """

        def count() -> Result:
            self._requests += 1
            return call()

        try:
            return repeat_transient(count, _is_transient, self._deadline_s)
        except OSError as error:
            is_gone = isinstance(error, _GONE) and operation not in ("write", "create")
            if is_gone and os.path.isdir(self._place):
                raise
            text = error.strerror or str(error)
            raise StoreError(f"{self._place}: cannot {operation} {path or 'it'}: {text}") from None


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _TRANSIENT


def _scan(fd: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield name and status of each visible entry; of a link, that of itself."""
    with os.scandir(fd) as entries:
        for entry in islice(entries, MOST_FILES):
            if is_plain_name(entry.name):
                try:
                    yield entry.name, entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    pass  # it was removed meanwhile


def _is_same(fd: int, name: str, status: os.stat_result) -> bool:
    """True when the name is that of the file with *status*."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read_all(fd: int, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    while most_bytes > 0 and (part := os.read(fd, most_bytes)):
        parts.append(part)
        most_bytes -= len(part)
    return b"".join(parts)


def _remove_tree(name: str, fd: int) -> None:
    import shutil

    shutil.rmtree(name, dir_fd=fd)
