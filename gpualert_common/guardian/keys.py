"""The last run of a task: one folder per key, with a lock that one attempt holds at a time.

``<state dir>/keys/<hash of the key>/lock`` is held by ``flock`` while an attempt decides what to do
about the run before it, and by the guardian that it starts until ``run.json`` there names the new
run.  So the holder of the lock sees every run of the key that may have been launched.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time

from gpualert_common import record_locations
from gpualert_common.errors import NoDurableLogError, RecordError
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import (
    make_directory,
    open_directory,
    refuse_foreign_directory,
    try_lock,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYS = "keys"
_LOCK = "lock"
_RUN = "run.json"
_POLL_S = 0.05
_NO_PLACE = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENOENT, errno.ENOTDIR, errno.ELOOP),
)
"""Errors of an unusable place; any other error says nothing about the place."""


class Key:
    """The folder of one key, its lock held from :meth:`take` to :meth:`release`."""

    def __init__(self, key: Sequence[str], state_dir: str | None) -> None:
        text = json.dumps(tuple(key)).encode("utf-8", "surrogatepass")
        self._name = hashlib.sha256(text).hexdigest()[:32]
        self._places = record_locations.list_state_dirs(state_dir)
        self._chosen = self._places[0] if state_dir else None
        self.fd = -1
        self.path = ""

    def take(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Take the lock; calls ``on_wait`` again and again while another attempt has it.

        Raises NoDurableLogError, and OSError for an error that says nothing about the places.
        """
        tried: list[tuple[str, str]] = []
        for place in self._places:
            path = os.path.join(place, KEYS, self._name)
            try:
                self._take_at(place, path, on_wait)
            except OSError as error:
                self.release()
                if error.errno not in _NO_PLACE:
                    raise  # it may pass; another place would be another lock
                tried.append((place, error.strerror or str(error)))
                continue
            self.path = path
            return
        raise NoDurableLogError(tried)

    def _take_at(self, place: str, path: str, on_wait: Callable[[], None]) -> None:
        lock = os.path.join(path, _LOCK)
        while True:
            make_directory(path)
            self._refuse_foreign_directory(place, path)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self.fd = os.open(lock, flags, 0o600)
            while not try_lock(self.fd):
                on_wait()
                time.sleep(_POLL_S)
            if _names(lock, self.fd):
                return
            self.release()  # the folder was replaced meanwhile, and its lock with it

    def _refuse_foreign_directory(self, place: str, path: str) -> None:
        for folder in (place, os.path.dirname(path), path):
            refuse_foreign_directory(folder, chosen=place == self._chosen)

    def release(self) -> None:
        """Release the lock here; a guardian that inherited the descriptor still holds it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def runs(self) -> list[str]:
        """Return the paths of the records that the key names, one for each place."""
        found = []
        for place in self._places:
            folder = os.path.join(place, KEYS, self._name)
            try:
                self._refuse_foreign_directory(place, folder)
            except OSError as error:
                if error.errno is None:
                    raise
                continue  # not there, or not ours: we never wrote a pointer into it
            value = read_pointer(folder)
            if value is not None:
                found.append(value)
        return sorted(found, key=os.path.basename)


def read_pointer(folder: str) -> str | None:
    """Return the path that the pointer in a key's folder names, or None.  Raises RecordError."""
    directory = Directory(folder, open_directory(folder))
    try:
        value = directory.read_json(_RUN)
    except RecordError as error:
        raise RecordError(
            f"{error}: the last run of the task is not known; stop its processes "
            "(gpualert runs), then remove this file"
        ) from None
    finally:
        directory.close()
    return None if value is None else str(value.get("run"))


def _names(path: str, fd: int) -> bool:
    """True while the path still names the open file."""
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(fd))


def write_pointer(folder: str, run: str) -> None:
    """Make the key of ``folder`` name this run; it is on the disk when this returns."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    directory = Directory(folder, fd)
    try:
        directory.write_json(_RUN, {"schema": 1, "run": run}, sync=True)
        directory.sync_directory()
    finally:
        directory.close()
