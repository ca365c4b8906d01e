"""The run record: the directory that everything else works from.  Only this module touches it.

==================  ==============================================================  ==============
file                content                                                         written
==================  ==============================================================  ==============
spec.json           what was asked, where, by whom; names of variables, no values   before launch
output.log          the child's bytes and nothing else (or stdout.log, stderr.log)  by the child
output.idx          "<seconds since start> <bytes of each log>" per line            while it runs
events.jsonl        what happened, one object a line                                while it runs
control/            requests to the supervisor, one file each                       by anyone of us
exit.json           how it ended                                                    at the end
verdict.json        why                                                             at the end
==================  ==============================================================  ==============

Files are written whole (temporary file, then rename) or appended to, so that a reader in another
process never sees half of one.  Directories have mode 0700, files 0600; a record that belongs to
somebody else is not trusted.  The supervisor holds a ``flock`` on the directory for as long as it
lives: that, and never a process id, says that a run is supervised.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time

from gpualert_common.errors import RecordError
from gpualert_common.spec import SCHEMA, Ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gpualert_common.spec import RunSpec

SPEC = "spec.json"
EXIT = "exit.json"
VERDICT = "verdict.json"
EVENTS = "events.jsonl"
INDEX = "output.idx"
CONTROL = "control"
SPARE = ".spare"
"""Holds space for the last files of a run, which a log that filled the disk would leave none."""

_encode = json.JSONEncoder(ensure_ascii=False).encode
"""Made once: ``json.dumps`` with an argument makes an encoder each time."""

_STATE_AFTER = {"launched": "running", "stopping": "stopping"}

_MAX_EVENTS_BYTES = 8 << 20
"""A run that writes more events than this is telling the same thing again and again."""


_TRIES = 20
_TRY_S = 0.005
"""Somebody who only looks whether a record is held holds it for some microseconds."""


class Record:
    """One run record, open for reading or, for whoever created it, for writing."""

    __slots__ = ("_dir_fd", "_lock_fd", "_sync", "path", "run_id")

    def __init__(self, path: str, dir_fd: int, *, sync: bool = True) -> None:
        self.path = path
        self.run_id = os.path.basename(path)
        self._dir_fd = dir_fd
        self._lock_fd = -1
        self._sync = sync

    # -- making and opening one ------------------------------------------------------------

    @classmethod
    def create(cls, path: str, *, sync: bool = True) -> Record:
        """A new, empty record that this process holds.  Raises OSError."""
        os.mkdir(path, 0o700)
        record = cls(path, _open_directory(path), sync=sync)
        record._lock_fd = _open_directory(path)
        fcntl.flock(record._lock_fd, fcntl.LOCK_EX)
        return record

    @classmethod
    def open(cls, path: str) -> Record:
        """The record at ``path``.  Raises RecordError when it is absent or not ours to trust."""
        try:
            dir_fd = _open_directory(path)
        except OSError as error:
            raise RecordError(f"{path}: no run record here: {error.strerror}") from None
        status = os.fstat(dir_fd)
        problem = ""
        if status.st_uid != os.geteuid():
            problem = f"belongs to user {status.st_uid}, not to you ({os.geteuid()})"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            problem = f"is writable by others (mode {stat.S_IMODE(status.st_mode):04o})"
        if problem:
            os.close(dir_fd)
            raise RecordError(f"{path}: this record {problem}, so it is not trusted")
        return cls(os.path.abspath(path), dir_fd)

    def close(self) -> None:
        """Give back the descriptors; lets go of the record if this process held it."""
        for fd in (self._dir_fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._dir_fd = self._lock_fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_lock_fd"):  # else an exception of the caller's cut __init__ short
            self.close()

    def disown(self) -> None:
        """Drop this process's hold; a process that it was inherited from, or by, keeps its own."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def discard(self) -> None:
        """Remove what was begun, when it turned out that the run cannot be prepared here."""
        self.disown()  # where descriptors ran out, listing needs this one
        for name in os.listdir(self._dir_fd):
            os.unlink(name, dir_fd=self._dir_fd)
        os.rmdir(self.path)
        self.close()

    def restore(self, spec: dict[str, Any]) -> None:
        """Make the directory anew where somebody removed it under a live run."""
        make_directory(self.path)
        dir_fd = _open_directory(self.path)
        os.close(self._dir_fd)
        self._dir_fd = dir_fd
        if self.read_json(SPEC) is None:
            self.write_json(SPEC, spec)

    # -- who holds it ----------------------------------------------------------------------

    def take(self) -> bool:
        """Hold this record, if nobody does.  False when its supervisor is alive."""
        fd = _open_directory(self.path)
        for _try in range(_TRIES):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_TRY_S)
                continue
            self._lock_fd = fd
            return True
        os.close(fd)
        return False

    @property
    def held(self) -> bool:
        """True while a supervisor lives that holds this record."""
        if self._lock_fd >= 0:
            return True
        fd = _open_directory(self.path)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    # -- whole files -----------------------------------------------------------------------

    def write_json(self, name: str, value: dict[str, Any], *, sync: bool = False) -> None:
        """Replace file ``name`` as a whole; with ``sync`` its bytes are on the disk first."""
        temporary = f".{name}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(temporary, flags, 0o600, dir_fd=self._dir_fd)
        try:
            _write_all(fd, _encode(value).encode("utf-8", "replace") + b"\n")
            if sync and self._sync:
                os.fsync(fd)
        except OSError:
            self.remove(temporary)
            raise
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def read_json(self, name: str) -> dict[str, Any] | None:
        """The object in file ``name``; None when there is none.

        Raises RecordError when the file is damaged or was written by a newer release.
        """
        data = self._read(name)
        if data is None:
            return None
        where = os.path.join(self.path, name)
        try:
            value = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{where}: not valid JSON: {error}") from None
        schema = value.get("schema") if isinstance(value, dict) else None
        if not isinstance(schema, int):
            raise RecordError(f"{where}: not a file of a run record: no schema number")
        if schema > SCHEMA:
            raise RecordError(
                f"{where}: schema {schema} was written by a newer gpualert; this one reads "
                f"up to {SCHEMA}: upgrade gpualert-common"
            )
        return dict(value)

    def _read(self, name: str) -> bytes | None:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._dir_fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordError(f"{os.path.join(self.path, name)}: {error.strerror}") from None
        with open(fd, "rb") as file:
            return file.read()

    def read_number(self, name: str) -> int:
        """The decimal number in file ``name``; 0 when there is none."""
        text = (self._read(name) or b"").strip()
        return int(text) if text.isdigit() else 0

    def remove(self, name: str) -> None:
        """Remove file ``name`` if it is there."""
        try:
            os.unlink(name, dir_fd=self._dir_fd)
        except FileNotFoundError:
            pass

    # -- the log ---------------------------------------------------------------------------

    def create_log(self, name: str, *, append: bool = True) -> int:
        """A descriptor that writes (by default: appends) to a new log file.  Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        flags |= os.O_APPEND if append else 0
        return os.open(name, flags, 0o600, dir_fd=self._dir_fd)

    def open_log(self, name: str) -> int:
        """A descriptor that reads log ``name``.  Raises OSError."""
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._dir_fd)

    def log_path(self, name: str) -> str:
        """Absolute path of log ``name``."""
        return os.path.join(self.path, name)

    def sync_directory(self) -> None:
        """Put the names in the record on the disk."""
        if self._sync:
            os.fsync(self._dir_fd)

    # -- what happened ---------------------------------------------------------------------

    def append(self, name: str, line: str) -> None:
        """Append one line to file ``name``.  Raises OSError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
        try:
            _write_all(fd, line.encode("utf-8", "replace") + b"\n")
        finally:
            os.close(fd)

    def append_event(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Append one event.  ``at`` is in seconds since the epoch; None means now."""
        value = {"at": time.time() if at is None else at, "event": event, **fields}
        self.append(EVENTS, _encode(value))

    def events(self) -> Iterator[dict[str, Any]]:
        """The events so far, in order; a last line that is still being written is left out."""
        data = self._read(EVENTS) or b""
        for line in data[:_MAX_EVENTS_BYTES].split(b"\n")[:-1]:
            try:
                value = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value

    def event(self, name: str) -> dict[str, Any] | None:
        """The first event of that name, or None."""
        for value in self.events():
            if value.get("event") == name:
                return value
        return None

    # -- requests --------------------------------------------------------------------------

    def request(self, kind: str, **fields: Any) -> str:
        """Ask the supervisor for something; the request appears whole.  Returns its file name."""
        try:
            os.mkdir(CONTROL, 0o700, dir_fd=self._dir_fd)
        except FileExistsError:
            pass
        name = f"{CONTROL}/{time.time_ns()}.{os.getpid()}.{kind}"
        temporary = f"{CONTROL}/.{os.getpid()}"
        value = {"schema": SCHEMA, "kind": kind, "at": time.time(), **fields}
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(temporary, flags, 0o600, dir_fd=self._dir_fd)
        try:
            _write_all(fd, json.dumps(value).encode())
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        return name

    def take_requests(self) -> list[dict[str, Any]]:
        """The requests that nobody took yet, oldest first; each is handed out once."""
        try:
            fd = os.open(CONTROL, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._dir_fd)
        except FileNotFoundError:
            return []
        try:
            names = sorted(name for name in os.listdir(fd) if not name.startswith("."))
        finally:
            os.close(fd)
        requests = []
        for name in names:
            path = f"{CONTROL}/{name}"
            try:
                value = self.read_json(path)
                self.remove(path)
            except RecordError as error:
                value = {"kind": "unreadable", "problem": str(error)}
                self._set_aside(path)
            except OSError:
                continue  # a directory, or on a full or failing disk: the others still count
            if value is not None:
                requests.append({**value, "file": name})
        return requests

    def _set_aside(self, path: str) -> None:
        hidden = f"{CONTROL}/.{os.path.basename(path)}"
        try:
            os.rename(path, hidden, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        except OSError:
            pass

    # -- what it says ----------------------------------------------------------------------

    @property
    def spec(self) -> dict[str, Any]:
        """The launch record.  Raises RecordError when there is none."""
        spec = self.read_json(SPEC)
        if spec is None:
            raise RecordError(f"{self.path}: no {SPEC}: this is not a run record")
        return spec

    @property
    def ending(self) -> Ending | None:
        """How the run ended, or None while nothing has been recorded."""
        fields = self.read_json(EXIT)
        return None if fields is None else Ending.from_json(fields)

    @property
    def state(self) -> str:
        """starting, running, stopping, ended, or lost (no supervisor and no known end)."""
        if self.read_json(EXIT) is not None:
            return "ended"
        if not self.held:
            return "lost"
        state = "starting"
        for value in self.events():
            state = _STATE_AFTER.get(value.get("event", ""), state)
        return state

    @property
    def logs(self) -> list[str]:
        """Names of the logs that the launch record names."""
        return [str(name) for name in self.spec.get("logs", ())]


def describe(spec: RunSpec, record: Record, **facts: Any) -> dict[str, Any]:
    """The object stored as ``spec.json``: no values of variables, nothing secret of ours."""
    return {
        "schema": SCHEMA,
        "run_id": record.run_id,
        "command": spec.command,
        "cwd": spec.cwd,
        "name": spec.name,
        "logs": spec.logs,
        "streams": spec.streams,
        "timeout_s": spec.timeout_s,
        "grace_s": spec.grace_s,
        "log_full": spec.log_full,
        "end_survivors": spec.end_survivors,
        **facts,
    }


def make_directory(path: str) -> None:
    """Make ``path`` and what is missing above it for the owner alone.  Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if os.path.dirname(path) in (path, ""):
            raise
        make_directory(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass  # another run was quicker


def _open_directory(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise OSError(errno.EIO, "write returned 0")
        view = view[written:]
