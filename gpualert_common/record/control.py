"""Parts of a record that other processes than its supervisor write: requests, leases, claim."""

from __future__ import annotations

import json
import os
import time

from gpualert_common.errors import RecordError
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import OPEN_FLAGS, write_all
from gpualert_common.spec import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROL = "control"
CLAIM = "claim.json"
_MOST_REQUEST_BYTES = 64 << 10
_LEASE = ".lease-"
_BEAT = ".beat"


class Control(Directory):
    """Requests to the holder of the record, leases of the owners, and the claim of the result."""

    __slots__ = ()

    # -- requests --------------------------------------------------------------------------

    def request(self, kind: str, **fields: Any) -> str:
        """Write a request to the supervisor, as a whole; return its name."""
        self._make_control()
        name = f"{time.time_ns()}.{os.getpid()}.{kind}"
        temporary = f"{CONTROL}/.{name}"
        value = {"schema": SCHEMA, "kind": kind, "at": time.time(), **fields}
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
        fd = os.open(temporary, flags, 0o600, dir_fd=self._dir_fd)
        try:
            write_all(fd, json.dumps(value).encode())
        finally:
            os.close(fd)
        os.rename(temporary, f"{CONTROL}/{name}", src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        return name

    def requests(self) -> list[dict[str, Any]]:
        """Return the pending requests, oldest first, each with its name under ``file``.

        A request that cannot be read is moved aside, and returned with the kind "unreadable".
        """
        requests = []
        for name in sorted(name for name in self._in_control() if not name.startswith(".")):
            try:
                value = self.read_json(f"{CONTROL}/{name}", _MOST_REQUEST_BYTES)
            except RecordError as error:
                value = {"kind": "unreadable", "problem": str(error)}
                self._set_aside(f"{CONTROL}/{name}")
            if value is not None:
                requests.append({**value, "file": name})
        return requests

    def forget(self, request: dict[str, Any]) -> None:
        """Remove a request that was passed on.  Raises OSError."""
        self.remove(f"{CONTROL}/{request['file']}")

    def is_pending(self, name: str) -> bool:
        """True while the request of that name has not been taken."""
        return name in self._in_control()

    def _set_aside(self, path: str) -> None:
        hidden = f"{CONTROL}/.{os.path.basename(path)}"
        try:
            os.rename(path, hidden, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        except OSError:
            pass

    # -- leases ----------------------------------------------------------------------------

    def renew_lease(self, owner: str) -> None:
        """Renew the lease of this owner.  Raises OSError."""
        self._make_control()
        self._touch(f"{CONTROL}/{_LEASE}{owner}")

    def end_lease(self, owner: str) -> None:
        """Remove the lease of this owner.  Raises OSError."""
        self.remove(f"{CONTROL}/{_LEASE}{owner}")

    def leases(self) -> dict[str, int]:
        """Return, by owner, a number that changes with each renewal; it is not a time."""
        found = {}
        for name in self._in_control():
            if name.startswith(_LEASE):
                found[name.removeprefix(_LEASE)] = self._read_change_time(f"{CONTROL}/{name}")
        return found

    def beat(self) -> None:
        """Show to processes on other hosts, which cannot see the lock, that the record is held."""
        self._touch(_BEAT)

    def last_beat(self) -> int:
        """Return a number that changes with each beat; 0 before the first."""
        return self._read_change_time(_BEAT)

    # -- the result ------------------------------------------------------------------------

    def claim(self, owner: str, number: int) -> bool:
        """Take the result of the run; True for exactly one caller.  Raises OSError."""
        value = {"schema": SCHEMA, "owner": owner, "number": number, "at": time.time()}
        if not self.create_json(CLAIM, value, sync=True):
            return False
        self.sync_directory()
        return True

    @property
    def claimed_by(self) -> str | None:
        """Owner that took the result; None if there is none."""
        value = self.read_json(CLAIM)
        return None if value is None else str(value.get("owner"))

    # -- files that are only touched -------------------------------------------------------

    def _make_control(self) -> None:
        try:
            os.mkdir(CONTROL, 0o700, dir_fd=self._dir_fd)
        except FileExistsError:
            pass

    def _in_control(self) -> list[str]:
        try:
            fd = os.open(CONTROL, os.O_RDONLY | os.O_DIRECTORY | OPEN_FLAGS, dir_fd=self._dir_fd)
        except FileNotFoundError:
            return []
        try:
            return os.listdir(fd)
        finally:
            os.close(fd)

    def _touch(self, name: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | OPEN_FLAGS
        fd = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
        try:
            os.utime(fd)
        finally:
            os.close(fd)

    def _read_change_time(self, name: str) -> int:
        try:
            return os.stat(name, dir_fd=self._dir_fd, follow_symlinks=False).st_mtime_ns
        except FileNotFoundError:
            return 0
