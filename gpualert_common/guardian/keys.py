"""The last run of a task: one folder per key, with a lock that one attempt holds at a time.

``<state dir>/keys/<hash of the key>/lock`` is held by ``flock`` while an attempt decides what to do
about the run before it, and by the guardian that it starts until ``run.json`` there names the new
run.  So the holder of the lock sees every run of the key that may have been launched.
"""

from __future__ import annotations

import errno
import json
import os
import time

from gpualert_common import record_locations
from gpualert_common.errors import NoDurableLogError, RecordError
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import open_lock, try_lock
from gpualert_common.record.private_directory import (
    make_folder,
    open_folder,
    open_private,
    resolve_state_dir,
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
        import hashlib  # the guardian, which only writes the pointer, starts without it

        text = json.dumps(tuple(key)).encode("utf-8", "surrogatepass")
        self.name = hashlib.sha256(text).hexdigest()[:32]
        """Digest of the key, and name of its folder."""
        self._state_dirs = list(record_locations.list_state_dirs(state_dir))
        self.fd = -1
        self.path = ""

    def take(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Take the lock; calls ``on_wait`` again and again while another attempt has it.

        Raises NoDurableLogError, and OSError for an error that says nothing about the places.
        """
        tried: list[tuple[str, str]] = []
        for state_dir in self._state_dirs:
            try:
                self.path = self._take_at(resolve_state_dir(state_dir), on_wait)
            except OSError as error:
                self.release()
                if error.errno not in _NO_PLACE:
                    raise  # it may pass; another place would be another lock
                tried.append((state_dir, error.strerror or str(error)))
                continue
            return
        raise NoDurableLogError(tried)

    def _take_at(self, place: str, on_wait: Callable[[], None]) -> str:
        while True:
            path = make_folder(place, KEYS, self.name)
            lock = os.path.join(path, _LOCK)
            self.fd = open_lock(lock)
            while not try_lock(self.fd):
                on_wait()
                time.sleep(_POLL_S)
            if _names(lock, self.fd):
                return path
            self.release()  # the folder was replaced meanwhile, and its lock with it

    def release(self) -> None:
        """Release the lock here; a guardian that inherited the descriptor still holds it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def runs(self) -> list[str]:
        """Return the paths of the records that the key names, one for each place.

        Raises RecordError for a damaged pointer, and OSError for an error that says nothing about
        the places.
        """
        found = []
        for state_dir in self._state_dirs:
            try:
                place = resolve_state_dir(state_dir)
                dir_fd = open_folder(place, KEYS, self.name)
            except OSError as error:
                if error.errno not in _NO_PLACE:
                    raise  # it may pass; the run that the pointer names may live
                continue  # not there, or not ours: we never wrote a pointer into it
            value = _read_pointer(Directory(os.path.join(place, KEYS, self.name), dir_fd))
            if value is not None:
                found.append(value)
        return sorted(found, key=os.path.basename)


def _read_pointer(directory: Directory) -> str | None:
    """Return the path that the pointer in a key's folder names, or None.  Raises RecordError."""
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
    directory = Directory(folder, open_private(folder))
    try:
        directory.write_json(_RUN, {"schema": 1, "run": run}, sync=True)
        directory.sync_directory()
    finally:
        directory.close()
