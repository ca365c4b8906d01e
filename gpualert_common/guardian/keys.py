"""From a task to its last run: one folder per key, and a lock that one attempt holds at a time.

``<state dir>/keys/<hash of the key>/lock`` is held by ``flock`` while an attempt decides what to do
about the run before it, and by the guardian that it starts until ``run.json`` there names the new
run.  So whoever holds the lock sees every run of the key that may have been launched.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time

from gpualert_common import store
from gpualert_common.errors import NoDurableLogError, RecordError
from gpualert_common.record.directory import Directory, make_directory, refuse_strangers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYS = "keys"
_LOCK = "lock"
_RUN = "run.json"
_POLL_S = 0.05


class Key:
    """The folder of one key, its lock held from :meth:`take` to :meth:`release`."""

    def __init__(self, key: Sequence[str], state_dir: str | None) -> None:
        self.key = tuple(key)
        text = json.dumps(self.key).encode("utf-8", "surrogatepass")
        self._name = hashlib.sha256(text).hexdigest()[:32]
        self._places = store.places(state_dir)
        self._chosen = self._places[0] if state_dir else None
        self.fd = -1
        self.path = ""

    def take(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Hold the lock; waits while another attempt has it.  Raises NoDurableLogError."""
        tried: list[tuple[str, str]] = []
        for place in self._places:
            path = os.path.join(place, KEYS, self._name)
            try:
                make_directory(path)
                for folder in (place, os.path.dirname(path), path):
                    refuse_strangers(folder, chosen=place == self._chosen)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self.fd = os.open(os.path.join(path, _LOCK), flags, 0o600)
                self._lock(on_wait)
            except OSError as error:
                tried.append((place, error.strerror or str(error)))
                self.release()
                continue
            self.path = path
            return
        raise NoDurableLogError(tried)

    def _lock(self, on_wait: Callable[[], None]) -> None:
        waited = False
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if not waited:
                    waited = True
                    on_wait()
                time.sleep(_POLL_S)

    def release(self) -> None:
        """Let go of it here; whoever inherited the descriptor still holds it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def runs(self) -> list[str]:
        """Paths of the records that the key names in any place; of one place only the newest."""
        found = []
        for place in self._places:
            value = read_pointer(os.path.join(place, KEYS, self._name))
            if value is not None:
                found.append(value)
        return sorted(found, key=os.path.basename)


def read_pointer(folder: str) -> str | None:
    """The path that the pointer in a key's folder names, or None.  Raises RecordError."""
    path = os.path.join(folder, _RUN)
    try:
        with open(path, "rb") as file:
            return str(json.load(file)["run"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{path}: damaged ({error}): which run came last is not known; end what is left of it "
            "(gpualert runs), then remove this file"
        ) from None


def point(folder: str, run: str) -> None:
    """Make the key of ``folder`` name this run, on the disk when this returns."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    directory = Directory(folder, fd)
    try:
        directory.write_json(_RUN, {"schema": 1, "run": run}, sync=True)
        directory.sync_directory()
    finally:
        directory.close()
