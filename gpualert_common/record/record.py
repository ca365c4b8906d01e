"""The content of a record: request, logs, events, ending, verdict."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator

from gpualert_common.errors import RecordError
from gpualert_common.job_identity import find_job
from gpualert_common.quantities import is_number
from gpualert_common.record.control import Control
from gpualert_common.record.directory import encode
from gpualert_common.record.events import Event, parse_events
from gpualert_common.record.files import make_directory, open_directory, open_file
from gpualert_common.record.run_state import RunState, state_after
from gpualert_common.spec import SCHEMA, Ending, RunSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.end_record import EndRecord
    from gpualert_common.launch_record import LaunchRecord
    from gpualert_common.model import Verdict

SPEC = "spec.json"
EXIT = "exit.json"
VERDICT = "verdict.json"
EVENTS = "events.jsonl"
INDEX = "output.idx"
OUTCOME = "outcome.json"
SUCCESSOR = "successor.json"
OUTBOX = "outbox"
ALERTS_LOCK = ".watch"
"""Locked while a guardian takes care of the alerts, also once it has become their sender."""
SPARE_BYTES = {EXIT: 64 << 10, VERDICT: 192 << 10}
"""Space reserved for the last files of a run, in case the log fills the disk.

Several times the size of these files.  Each reserve is a file of its own that becomes the last file
by a rename: space that is released first could be taken by another process.
"""

_FULL = (errno.ENOSPC, errno.EDQUOT)

_MAX_EVENTS_BYTES = 8 << 20
"""Limit of one read; a run that writes more events repeats the same ones."""


class Record(Control):
    """One run record, open for reading, and for writing by the process that created it."""

    __slots__ = ()

    # -- logs ------------------------------------------------------------------------------

    def create_log(self, name: str, *, append: bool = True) -> int:
        """Return a descriptor that writes (by default: appends) to a new log.  Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        flags |= os.O_APPEND if append else 0
        return os.open(name, flags, 0o600, dir_fd=self._dir_fd)

    def open_log(self, name: str) -> int:
        """Return a descriptor that reads log ``name``.

        Raises OSError, also for what is not a regular file of this user.
        """
        return open_file(self._dir_fd, name)

    def log_status(self, name: str) -> os.stat_result | None:
        """Return the status of log ``name``; None if it is missing or not a regular file."""
        try:
            found = os.stat(name, dir_fd=self._dir_fd, follow_symlinks=False)
        except OSError:
            return None
        return found if stat.S_ISREG(found.st_mode) else None

    def log_path(self, name: str) -> str:
        """Return the absolute path of log ``name``."""
        return os.path.join(self.path, name)

    # -- events ----------------------------------------------------------------------------

    def append_event(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Append one event.  ``at`` is in seconds since the epoch; None means now."""
        value = {"at": time.time() if at is None else at, "event": event, **fields}
        self.append(EVENTS, encode(value))

    def events(self) -> Iterator[Event]:
        """Yield the events so far, in order, without a last line that is not complete."""
        yield from parse_events(self.read_part(EVENTS, 0, _MAX_EVENTS_BYTES) or b"")

    def events_from(self, offset: int) -> tuple[list[Event], int]:
        """Return the events from byte ``offset`` on, and the offset of the next one.

        If the offset is beyond the end, the file was created anew and is read from its start.
        """
        data = self.read_part(EVENTS, offset, _MAX_EVENTS_BYTES)
        if data is None or (not data and offset and not self.read_part(EVENTS, offset - 1, 1)):
            offset, data = 0, self.read_part(EVENTS, 0, _MAX_EVENTS_BYTES) or b""
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == _MAX_EVENTS_BYTES:
            whole = len(data)  # no event is as long as this line
        return list(parse_events(data)), offset + whole

    def event(self, name: str) -> Event | None:
        """Return the first event of that name, or None."""
        return next((event for event in self.events() if event.name == name), None)

    @property
    def recovered_at(self) -> float | None:
        """When the record was completed after its supervisor's death; None also if unreadable."""
        try:
            recovered = self.event("recovered")
        except (OSError, RecordError):
            return None
        return None if recovered is None else recovered.at

    @property
    def leader_pid(self) -> int | None:
        """Process number of the run's leader; None before its launch is recorded."""
        launched = self.event("launched")
        pid = None if launched is None else launched.fields.get("pid")
        return pid if is_number(pid) else None

    # -- request, state, ending, verdict ---------------------------------------------------

    @property
    def spec(self) -> LaunchRecord:
        """Launch record; a damaged value counts as missing.  Raises RecordError if it is absent."""
        from gpualert_common.codec import decode_valid
        from gpualert_common.launch_record import LaunchRecord  # not read before the launch

        return decode_valid(LaunchRecord, self.spec_fields(), os.path.join(self.path, SPEC))

    def spec_fields(self) -> dict[str, Any]:
        """Return the launch record as it was written.  Raises RecordError if there is none."""
        fields = self.read_json(SPEC)
        if fields is None:
            raise RecordError(f"{self.path}: no {SPEC}: this is not a run record")
        return fields

    @property
    def ending(self) -> Ending | None:
        """Ending of the run; None while there is none.  A damaged value counts as missing."""
        found = self.end_record
        if found is None:
            return None
        from gpualert_common.codec import encode as encode_fields

        return Ending.from_json(encode_fields(found))

    @property
    def end_record(self) -> EndRecord | None:
        """End record; None while there is none.  A damaged value counts as missing."""
        fields = self.read_json(EXIT)
        if fields is None:
            return None
        from gpualert_common.codec import decode_valid
        from gpualert_common.end_record import EndRecord  # there is none before the launch

        return decode_valid(EndRecord, fields, os.path.join(self.path, EXIT))

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the run; None while there is none.

        Raises DamagedFileError, which names the file and the key, for one that is damaged.
        """
        fields = self.read_json(VERDICT)
        if fields is None:
            return None
        from gpualert_common.codec import decode
        from gpualert_common.model import Verdict  # there is none before the launch

        return decode(Verdict, fields, os.path.join(self.path, VERDICT))

    def check_values(self) -> None:
        """Raise DamagedFileError for a damaged value in launch record, end record or verdict."""
        from gpualert_common.codec import decode
        from gpualert_common.end_record import EndRecord
        from gpualert_common.launch_record import LaunchRecord

        decode(LaunchRecord, self.spec_fields(), os.path.join(self.path, SPEC))
        fields = self.read_json(EXIT)
        if fields is not None:
            decode(EndRecord, fields, os.path.join(self.path, EXIT))
        _ = self.verdict

    @property
    def is_verdict_pending(self) -> bool:
        """True while a process makes the verdict of the run, which has ended."""
        try:
            return self.has(EXIT) and self.is_held and not self.has(VERDICT)
        except OSError as error:
            if error.errno is None:
                raise  # an engine's time-out
            return False  # the filesystem supports no lock

    @property
    def state(self) -> RunState:
        """State of the run."""
        if self.read_json(EXIT) is not None:
            return RunState.ENDED
        if not self.is_held:  # it may have ended meanwhile
            return RunState.LOST if self.read_json(EXIT) is None else RunState.ENDED
        return self.recorded_state

    @property
    def recorded_state(self) -> RunState:
        """State by the events so far, whether or not a process holds the record."""
        return state_after(event.name for event in self.events())

    @property
    def logs(self) -> list[str]:
        """Names of the logs in the launch record."""
        return list(self.spec.logs)

    @property
    def log_paths(self) -> tuple[str, ...]:
        """Paths of all logs: one, or those of stdout and stderr if the streams are apart."""
        return tuple(self.log_path(name) for name in self.logs)

    def store(self, name: str, value: dict[str, Any], *, sync: bool = False) -> bool:
        """Replace one of the last files as a whole; True if reserved space of a full disk was used.

        Raises OSError, also if the disk is full and no space was reserved.
        """
        try:
            self.write_json(name, value, sync=sync)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            try:
                self.write_into_spare(name_spare(name), name, value, sync=sync)
            except FileNotFoundError:
                raise error from None
            except OSError:  # it is larger than the reserve
                self.release_spare()
                self.write_json(name, value, sync=sync)
            return True
        return False

    def release_spare(self) -> None:
        """Release the reserved space that was not used."""
        for name in SPARE_BYTES:
            try:
                self.remove(name_spare(name))
            except OSError:
                pass  # a file of the record on a failing disk

    def restore(self, spec: dict[str, Any]) -> None:
        """Create the directory anew, if it was removed during the run."""
        make_directory(self.path)
        dir_fd = open_directory(self.path)
        os.close(self._dir_fd)
        self._dir_fd = dir_fd
        if self.read_json(SPEC) is None:
            self.write_json(SPEC, spec)


def name_spare(name: str) -> str:
    """Return the name of the file that reserves space for file ``name``."""
    return f".{name}.spare"


def describe(spec: RunSpec, record: Record, **facts: Any) -> dict[str, Any]:
    """Return the object stored as ``spec.json``, without values of variables and secrets."""
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
        "hang_timeout_s": spec.hang_timeout_s,
        "on_hang": spec.on_hang,
        "on_slowdown": spec.on_slowdown,
        "log_full": spec.log_full,
        "pty": spec.pty,
        "end_survivors": spec.end_survivors,
        "custody": spec.custody,
        "job": find_job(
            spec.command,
            os.environ if spec.env is None else spec.env,
            name=spec.job,
            owner=spec.custody,
            directory=spec.job_dir,
        ),
        "rules": spec.rules,
        "observe": spec.observe,
        "tracing": spec.tracing,
        "alerts": spec.alerts,
        **facts,
    }
