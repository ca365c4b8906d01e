"""The outbox of a record: one file per alert and channel, written before anything is sent.

A lock beside each file is held by whoever sends it.  A name in ``undelivered/`` of the state
directory says that a record has something open, so that later runs need not look at all of them.
What was sent stands in the record's events, too: where the outbox takes no file, it is not sent
again because of that.
"""

from __future__ import annotations

import errno
import os
import time

from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.notify.channel_config import undelivered
from gpualert_common.notify.entry import OPEN, SENT, OutboxEntry, is_entry
from gpualert_common.record import OUTBOX, Record
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import make_directory, open_directory
from gpualert_common.spec import ENDED, SCHEMA, message_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SENT_EVENT = "alert"
"""Event of the record: what became of one attempt."""


class Outbox:
    """The alerts of one record."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._path = os.path.join(record.path, OUTBOX)
        self._opened: Directory | None = None

    @property
    def _directory(self) -> Directory | None:
        """None while there is none, or nobody can make one."""
        if self._opened is None:
            try:
                self._opened = Directory(self._path, open_directory(self._path))
            except OSError:
                return None
        return self._opened

    # -- what is there ---------------------------------------------------------------------

    def entries(self) -> list[OutboxEntry]:
        """Every alert that is on the disk; what cannot be read is left out."""
        try:
            names = sorted(os.listdir(self._path))
        except OSError:
            return []
        plain = (name for name in names if name.endswith(".json") and not name.startswith("."))
        found = []
        for name in plain:
            try:
                found.append(self.find(name))
            except RecordError:
                continue  # of a newer release, or on a disk that does not answer
        return [entry for entry in found if entry is not None]

    def warnings(self) -> list[OutboxEntry]:
        """Those of them that are not about the run's end."""
        return [entry for entry in self.entries() if entry.about != ENDED]

    def find(self, name: str) -> OutboxEntry | None:
        """The entry in that file, None when there is none that makes sense.

        Raises RecordError where there may be one that we cannot read.
        """
        directory = self._directory
        if directory is None:
            return None
        try:
            fields = directory.read_json(name)
        except DamagedFileError:
            return None
        return OutboxEntry(self, name, fields) if fields is not None and is_entry(fields) else None

    # -- queueing --------------------------------------------------------------------------

    def draft(
        self,
        channel: Mapping[str, Any],
        state: str,
        due: float = 0.0,
        *,
        about: str = ENDED,
        **facts: Any,
    ) -> OutboxEntry:
        """The entry for a channel as it stands, or as it would be queued: nothing is written.

        ``facts`` are kept in one that is new.  Raises RecordError where there is one that we cannot
        read.
        """
        name = f"{about}.{_file_name(channel['name'])}.json"
        found = self.find(name)
        if found is not None:
            return found
        fields = {
            "schema": SCHEMA,
            "event": about,
            "message_id": message_id(self.record.run_id, about),
            "channel": dict(channel),
            "state": state,
            "due": due,
            "queued_at": time.time(),
            "attempts": 0,
            "arrived": [],
            **facts,
        }
        sent = self._sent_to(about).get(str(channel["name"]))
        if sent is not None:  # where the outbox took no file
            last = {"at": sent.get("at"), "accepted": sent.get("accepted")}
            fields |= {"state": SENT, "attempts": 1, "last": last}
        return OutboxEntry(self, name, fields, stored=False)

    def add(self, entry: OutboxEntry) -> OutboxEntry:
        """Put a draft on the disk; the entry that stands there, which may be somebody else's.

        On a disk that does not take it, it lives in this process alone; the record still says that
        an alert is due.
        """
        if entry.stored:
            return entry
        try:
            directory = self._made()
            if not directory.create_json(entry.name, entry.fields, sync=True):
                found = self.find(entry.name)
                if found is not None:
                    return found
                directory.set_aside(entry.name)  # damaged: rather twice than not at all
                directory.create_json(entry.name, entry.fields, sync=True)
            directory.sync_directory()
        except OSError:
            return entry
        entry.stored = True
        return entry

    def write(self, name: str, fields: dict[str, Any]) -> bool:
        """Write an entry, on the disk when this returns True."""
        try:
            directory = self._made()
            directory.write_json(name, fields, sync=True)
            directory.sync_directory()
        except OSError:
            return False
        return True

    def _made(self) -> Directory:
        if self._directory is None:
            make_directory(self._path)
            self._opened = Directory(self._path, open_directory(self._path))
        assert self._opened is not None
        return self._opened

    def _sent_to(self, about: str) -> dict[str, dict[str, Any]]:
        """By channel, the event that says it accepted the alert about that."""
        try:
            events = list(self.record.events())
        except (OSError, RecordError):
            return {}
        sent = (e for e in events if e.get("event") == SENT_EVENT and e.get("state") == SENT)
        meant = (event for event in sent if event.get("about", ENDED) == about)
        return {str(event.get("channel")): event for event in meant}

    # -- locks and markers -----------------------------------------------------------------

    def try_lock(self, name: str) -> int:
        """A descriptor that holds an entry, -1 while somebody else does.  Raises OSError."""
        directory = self._directory
        if directory is None:
            raise FileNotFoundError(errno.ENOENT, "there is no outbox")
        return directory.try_lock(f".{name}.lock")

    def is_locked(self, name: str) -> bool:
        """True while somebody holds that entry."""
        directory = self._directory
        return directory is not None and directory.is_locked(f".{name}.lock")

    def mark(self, entries: Iterable[OutboxEntry]) -> None:
        """Have later runs look at this record, if one of its entries is open."""
        marker = os.path.join(undelivered(self.record.path), self.record.run_id)
        try:
            if any(entry.state in OPEN and entry.about == ENDED for entry in entries):
                make_directory(os.path.dirname(marker))
                os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            else:
                os.unlink(marker)
        except OSError:
            pass  # `gpualert outbox list` looks at every record


def bundle_file(channel: str) -> str:
    """Name in the record of the manifest of a channel's message."""
    return f"bundle.{_file_name(channel)}.json"


def _file_name(channel: str) -> str:
    import hashlib

    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in channel)[:40]
    if plain == channel:
        return plain
    return f"{plain}-{hashlib.sha256(channel.encode('utf-8', 'replace')).hexdigest()[:8]}"
