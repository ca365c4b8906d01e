"""The outbox of a record: one file per alert and channel, written before anything is sent.

=============  ==========================================================================
pending        to be sent; transient faults so far, and the next attempt's time
held           another attempt at the task may make it superfluous
sent           accepted by the channel
failed         given up: a permanent fault, or transient ones for too long
dropped        a person did not want it
superseded     a later attempt took its place
=============  ==========================================================================

A lock beside each file is held by whoever sends it.  A name in ``undelivered/`` of the state
directory says that a record has something pending or held, so that later runs need not look at all.
"""

from __future__ import annotations

import errno
import os
import time

from gpualert_common.errors import RecordError
from gpualert_common.notify.decide import HOLD, SEND, SKIP, WAIT, Step, decide
from gpualert_common.notify.targets import WITHHELD, undelivered
from gpualert_common.record import OUTBOX, OUTCOME, SUCCESSOR, VERDICT, Record
from gpualert_common.record.directory import Directory, make_directory, open_directory
from gpualert_common.spec import SCHEMA, message_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

EVENT = "ended"
WATCH = ".watch"
"""Locked for as long as a guardian sees to the alerts, also once it has become their sender."""

PENDING, HELD, SENT = "pending", "held", "sent"
FAILED, DROPPED, SUPERSEDED = "failed", "dropped", "superseded"
OPEN = (PENDING, HELD)
"""States that something may yet come of by itself."""

_LOCK_POLL_S = 0.05


class Entry:
    """One alert for one channel.  ``fields`` is its file; changes are saved by :meth:`save`."""

    def __init__(self, outbox: Outbox, name: str, fields: dict[str, Any]) -> None:
        self._outbox = outbox
        self._lock_fd = -1
        self.name = name
        self.fields = fields

    @property
    def channel(self) -> str:
        """Name of the channel."""
        return str(self.fields["channel"]["name"])

    @property
    def state(self) -> str:
        """One of the states above."""
        return str(self.fields["state"])

    @property
    def due(self) -> float:
        """When the next attempt is due, in seconds since the epoch."""
        return float(self.fields.get("due") or 0.0)

    def save(self, **changes: Any) -> bool:
        """Change it on the disk too, as a whole; False when the disk does not take it."""
        self.fields.update(changes)
        return self._outbox.write(self.name, self.fields)

    def revive(self) -> None:
        """Have it sent after all; what was sent stays sent."""
        if self.state != SENT:
            self.save(state=PENDING, due=0.0, queued_at=time.time())

    def reload(self) -> None:
        """Read it again: somebody else may have sent it meanwhile."""
        self.fields = self._outbox.read(self.name) or self.fields

    def lock(self, timeout_s: float) -> bool:
        """Become the one who sends it; False when somebody else is at it for so long."""
        deadline = time.monotonic() + timeout_s
        try:
            while (fd := self._outbox.try_lock(self.name)) < 0:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_LOCK_POLL_S)
        except OSError:
            return True  # on a disk that takes no file there can be no lock, and alerts go first
        self._lock_fd = fd
        self.reload()
        return True

    def can_be_sent_with(self, secrets: Mapping[str, Mapping[str, str]]) -> bool:
        """False where a secret was given in person, and is not among these."""
        settings = self.fields["channel"].get("settings") or {}
        withheld = {key for key, value in settings.items() if value == WITHHELD}
        return withheld <= set(secrets.get(self.channel, {}))

    @property
    def locked(self) -> bool:
        """True while somebody sends it."""
        return self._outbox.is_locked(self.name)


class Outbox:
    """The alerts of one record."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._directory: Directory | None = None
        path = os.path.join(record.path, OUTBOX)
        try:
            self._directory = Directory(path, open_directory(path))
        except OSError:
            pass

    # -- what is there ---------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """Every alert that was queued; what cannot be read is left out."""
        found = []
        for name in self._names():
            fields = self.read(name)
            if fields is not None:
                found.append(Entry(self, name, fields))
        return found

    def _names(self) -> Iterator[str]:
        try:
            names = os.listdir(os.path.join(self.record.path, OUTBOX))
        except OSError:
            return
        yield from sorted(n for n in names if n.endswith(".json") and not n.startswith("."))

    def read(self, name: str) -> dict[str, Any] | None:
        """The fields of an entry, None when there are none that make sense."""
        try:
            fields = None if self._directory is None else self._directory.read_json(name)
        except (OSError, RecordError):
            return None
        is_entry = fields is not None and isinstance(fields.get("channel"), dict)
        return fields if is_entry and "state" in (fields or {}) else None

    # -- queueing --------------------------------------------------------------------------

    def queue(self, channel: Mapping[str, Any], state: str, due: float = 0.0) -> Entry:
        """The entry for a channel, new or as it stands; with ``due`` the end of a hold.

        On a disk that does not take it the entry lives in this process alone; the record still
        says that an alert is due.
        """
        name = f"{EVENT}.{_file_name(channel['name'])}.json"
        fields = self.read(name)
        if fields is not None:
            return Entry(self, name, fields)
        fields = {
            "schema": SCHEMA,
            "event": EVENT,
            "message_id": message_id(self.record.run_id),
            "channel": dict(channel),
            "state": state,
            "due": due,
            "queued_at": time.time(),
            "attempts": 0,
            "arrived": [],
        }
        self.write(name, fields)
        return Entry(self, name, fields)

    def write(self, name: str, fields: dict[str, Any]) -> bool:
        """Write an entry, on the disk when this returns True."""
        try:
            if self._directory is None:
                path = os.path.join(self.record.path, OUTBOX)
                make_directory(path)
                self._directory = Directory(path, open_directory(path))
            self._directory.write_json(name, fields, sync=True)
            self._directory.sync_directory()
        except OSError:
            return False
        return True

    def try_lock(self, name: str) -> int:
        """A descriptor that holds an entry, -1 while somebody else does.  Raises OSError."""
        if self._directory is None:
            raise FileNotFoundError(errno.ENOENT, "there is no outbox")
        return self._directory.try_lock(f".{name}.lock")

    def is_locked(self, name: str) -> bool:
        """True while somebody holds that entry."""
        return self._directory is not None and self._directory.is_locked(f".{name}.lock")

    # -- finding it again ------------------------------------------------------------------

    def mark(self) -> None:
        """Have later runs look at this record, or not any more."""
        marker = os.path.join(undelivered(self.record.path), self.record.run_id)
        try:
            if any(entry.state in OPEN for entry in self.entries()):
                make_directory(os.path.dirname(marker))
                os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            else:
                os.unlink(marker)
        except OSError:
            pass  # `gpualert outbox list` looks at every record


def bundle_file(channel: str) -> str:
    """Name in the record of the manifest of a channel's message."""
    return f"bundle.{_file_name(channel)}.json"


def step_of(record: Record, now: float | None = None) -> Step:
    """What is to be done about the end of this run.  Raises RecordError."""
    spec = record.spec
    wanted = (spec.get("alerts") or {}).get("on")
    ending = record.ending
    if ending is None:
        kind = SKIP if wanted is None else WAIT
        return Step(kind, "it has not ended", float("inf"))
    verdict = record.read_json(VERDICT)
    well = verdict is not None and verdict.get("cause") == "none"
    if verdict is not None and verdict.get("disposition") == "unknown":
        well = False  # nothing bad stands in its log, and nobody knows how it ended
    if verdict is None:  # the classifier failed: the status alone says
        well = ending.exit_code == 0 and ending.signal is None
    return decide(
        time.time() if now is None else now,
        wanted=wanted,
        ended_at=ending.ended_at or ending.started_at,
        well=well,
        custody=spec.get("custody"),
        outcome=record.read_json(OUTCOME),
        succeeded=record.read_json(SUCCESSOR) is not None,
    )


def bring_up_to_date(
    record: Record,
    others: Sequence[Mapping[str, Any]] = (),
    *,
    now: bool = False,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Step, list[Entry]]:
    """Queue what is due, release or retire what was held; what is to be done, and every entry.

    ``others`` are channels beside the record's own; ``now`` sends whatever the engine may still do,
    but for what only the guardian has the ``secrets`` for.  Raises RecordError.
    """
    outbox = Outbox(record)
    step = step_of(record)
    own = (record.spec.get("alerts") or {}).get("channels", [])
    if step.kind == SKIP:
        own = []  # whoever asks does so for channels of their own
    if now and record.ending is not None:
        step = Step(SEND, "it was asked for")
    channels = [] if step.kind in (SKIP, WAIT) else [*own, *others]
    state = PENDING if step.kind == SEND else HELD
    queued = [outbox.queue(channel, state, step.until) for channel in channels]
    entries = {entry.name: entry for entry in [*outbox.entries(), *queued]}
    for entry in entries.values():
        mine = entry.can_be_sent_with(secrets or {}) or not record.is_locked(WATCH)
        if entry.state == HELD and (mine or not now):
            _settle_held(entry, step)
    outbox.mark()
    return step, list(entries.values())


def _settle_held(entry: Entry, step: Step) -> None:
    if step.kind == SEND:
        entry.save(state=PENDING, due=0.0)
    elif step.kind == SKIP:
        entry.save(state=SUPERSEDED, because=step.because)
    elif step.kind == HOLD and entry.due != step.until:
        entry.save(due=step.until)


def _file_name(channel: str) -> str:
    import hashlib

    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in channel)[:40]
    if plain == channel:
        return plain
    return f"{plain}-{hashlib.sha256(channel.encode('utf-8', 'replace')).hexdigest()[:8]}"
