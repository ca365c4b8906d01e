"""What a record says of its run: its logs, what happened, how it ended."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator

from gpualert_common.errors import RecordError
from gpualert_common.record.control import Control
from gpualert_common.record.directory import encode
from gpualert_common.record.files import make_directory, open_directory
from gpualert_common.spec import SCHEMA, Ending, RunSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.model import Verdict

SPEC = "spec.json"
EXIT = "exit.json"
VERDICT = "verdict.json"
EVENTS = "events.jsonl"
INDEX = "output.idx"
OUTCOME = "outcome.json"
SUCCESSOR = "successor.json"
OUTBOX = "outbox"
SPARE_BYTES = {EXIT: 64 << 10, VERDICT: 192 << 10}
"""Kept for the last files of a run, to which a log that filled the disk would leave nothing.

Several times what they take; each has its own file, whose space is never given back before it is
used: whoever fills the disk would be quicker.
"""

_FULL = (errno.ENOSPC, errno.EDQUOT)

_STATE_AFTER = {
    "launched": "running",
    "orphaned": "orphaned",
    "resumed": "running",
    "adopted": "running",
    "stopping": "stopping",
}

_MAX_EVENTS_BYTES = 8 << 20
"""A run that writes more events than this is telling the same thing again and again."""


class Record(Control):
    """One run record, open for reading or, for whoever created it, for writing."""

    __slots__ = ()

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

    # -- what happened ---------------------------------------------------------------------

    def append_event(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Append one event.  ``at`` is in seconds since the epoch; None means now."""
        value = {"at": time.time() if at is None else at, "event": event, **fields}
        self.append(EVENTS, encode(value))

    def events(self) -> Iterator[dict[str, Any]]:
        """The events so far, in order; a last line that is still being written is left out."""
        yield from _parse((self._read(EVENTS) or b"")[:_MAX_EVENTS_BYTES])

    def events_from(self, offset: int) -> tuple[list[dict[str, Any]], int]:
        """The events that begin at byte ``offset`` or later, and where the next one will begin.

        An offset beyond the end means that the file was made anew: it is read from its start.
        """
        data = self._read(EVENTS, offset)
        if data is None or (not data and offset and not self._read(EVENTS, offset - 1)):
            offset, data = 0, self._read(EVENTS) or b""
        return list(_parse(data)), offset + data.rfind(b"\n") + 1

    def event(self, name: str) -> dict[str, Any] | None:
        """The first event of that name, or None."""
        for value in self.events():
            if value.get("event") == name:
                return value
        return None

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
    def verdict(self) -> Verdict | None:
        """The cause of the run's end; None while there is no verdict.

        Raises DamagedFileError, which names the file and the key, for one that is damaged.
        """
        fields = self.read_json(VERDICT)
        if fields is None:
            return None
        from gpualert_common.codec import decode
        from gpualert_common.model import Verdict  # there is none before the launch

        return decode(Verdict, fields, os.path.join(self.path, VERDICT))

    @property
    def state(self) -> str:
        """starting, running, orphaned (it runs, and whoever followed it is gone), stopping,
        ended, or lost (no supervisor and no known end).
        """
        if self.read_json(EXIT) is not None:
            return "ended"
        if not self.held:  # it may have ended while we looked
            return "lost" if self.read_json(EXIT) is None else "ended"
        return self.recorded_state

    @property
    def recorded_state(self) -> str:
        """The state by what happened so far, whether or not anybody holds the record."""
        state = "starting"
        for value in self.events():
            event = value.get("event", "")
            if (
                event != "launched" or state == "starting"
            ):  # told again when a recorder was replaced
                state = _STATE_AFTER.get(event, state)
        return state

    @property
    def logs(self) -> list[str]:
        """Names of the logs that the launch record names."""
        return [str(name) for name in self.spec.get("logs", ())]

    def store(self, name: str, value: dict[str, Any], *, sync: bool = False) -> bool:
        """Replace one of the last files as a whole; True when the disk was full, and it is there.

        Raises OSError, also when the disk is full and no space was kept.
        """
        try:
            self.write_json(name, value, sync=sync)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            try:
                self.write_over(spare_of(name), name, value, sync=sync)
            except FileNotFoundError:
                raise error from None
            except OSError:  # it is larger than what was kept for it
                self.release_spare()
                self.write_json(name, value, sync=sync)
            return True
        return False

    def release_spare(self) -> None:
        """Give back the space that was kept and not needed."""
        for name in SPARE_BYTES:
            try:
                self.remove(spare_of(name))
            except OSError:
                pass  # a disk that cannot even give back goes with the record

    def restore(self, spec: dict[str, Any]) -> None:
        """Make the directory anew where somebody removed it under a live run."""
        make_directory(self.path)
        dir_fd = open_directory(self.path)
        os.close(self._dir_fd)
        self._dir_fd = dir_fd
        if self.read_json(SPEC) is None:
            self.write_json(SPEC, spec)


def spare_of(name: str) -> str:
    """The file that holds the space kept for file ``name``."""
    return f".{name}.spare"


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
        "custody": spec.custody,
        "rules": spec.rules,
        "observe": spec.observe,
        "alerts": spec.alerts,
        **facts,
    }


def _parse(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n")[:-1]:
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
