"""The outbox of a record: one file per alert and channel, written before anything is sent.

The process that sends an alert holds a lock next to its file.  A marker in ``undelivered/`` of the
state directory names each record with an open alert, so that later runs need not read all records.
Sent alerts are also among the record's events: where the outbox takes no file, that prevents a
second delivery.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from typing import Any

from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.entry import (
    OPEN,
    DeliveryAttempt,
    EntryFields,
    EntryState,
    OutboxEntry,
    is_entry,
)
from gpualert_common.record import OUTBOX, Event, Record
from gpualert_common.record.directory import Directory
from gpualert_common.record.events import ALERT_SENT
from gpualert_common.record.marks import UNDELIVERED
from gpualert_common.record.private_directory import open_folder
from gpualert_common.spec import ENDED, SCHEMA, message_id


class Outbox:
    """The alerts of one record."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._path = os.path.join(record.path, OUTBOX)
        self._opened: Directory | None = None

    @property
    def _directory(self) -> Directory | None:
        """The outbox's directory, None while there is none or it cannot be opened."""
        if self._opened is None:
            try:
                self._opened = Directory(self._path, open_folder(self.record.path, OUTBOX))
            except OSError:
                return None
        return self._opened

    # -- reading ---------------------------------------------------------------------------

    def entries(self) -> list[OutboxEntry]:
        """Return every readable entry on the disk."""
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
                continue  # a newer release wrote it, or the disk does not answer
        return [entry for entry in found if entry is not None]

    def warnings(self) -> list[OutboxEntry]:
        """Return the entries that are not about the run's end."""
        return [entry for entry in self.entries() if entry.about != ENDED]

    def find(self, name: str) -> OutboxEntry | None:
        """Return the entry in that file, None when there is no valid one.

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
        channel: ChannelConfig,
        state: EntryState,
        due: float = 0.0,
        *,
        about: str = ENDED,
        warning: dict[str, Any] | None = None,
        because: str = "",
    ) -> OutboxEntry:
        """Return the entry for a channel, as stored or as it would be queued; writes nothing.

        ``warning`` is the event of a warning, ``because`` the reason for which it is held.  Raises
        RecordError where a stored entry cannot be read.
        """
        name = f"{about}.{_file_name(channel['name'])}.json"
        found = self.find(name)
        if found is not None:
            return found
        fields: EntryFields = {
            "schema": SCHEMA,
            "event": about,
            "message_id": message_id(self.record.run_id, about),
            "channel": channel,
            "state": state,
            "due": due,
            "queued_at": time.time(),
            "attempts": 0,
            "arrived": [],
        }
        if warning is not None:
            fields["warning"] = warning
        if because:
            fields["because"] = because
        sent = self._sent_to(about).get(str(channel["name"]))
        if sent is not None:  # where the outbox took no file
            last: DeliveryAttempt = {"at": sent.at, "accepted": sent.fields.get("accepted")}
            fields |= {"state": EntryState.SENT, "attempts": 1, "last": last}
        return OutboxEntry(self, name, fields, stored=False)

    def add(self, entry: OutboxEntry) -> OutboxEntry:
        """Write a draft to the disk; return the stored entry, which another process may have made.

        If the disk rejects it, the entry exists in this process alone; the record still shows that
        an alert is due.
        """
        if entry.stored:
            return entry
        try:
            directory = self._make_directory()
            if not directory.create_json(entry.name, entry.fields, sync=True):
                found = self.find(entry.name)
                if found is not None:
                    return found
                directory.set_aside(entry.name)  # damaged: a second delivery is better than none
                directory.create_json(entry.name, entry.fields, sync=True)
            directory.sync_directory()
        except OSError:
            return entry
        entry.stored = True
        return entry

    def write(self, name: str, fields: EntryFields) -> bool:
        """Write an entry; it is on the disk when this returns True."""
        try:
            directory = self._make_directory()
            directory.write_json(name, fields, sync=True)
            directory.sync_directory()
        except OSError:
            return False
        return True

    def _make_directory(self) -> Directory:
        found = self._directory
        if found is None:
            found = Directory(self._path, open_folder(self.record.path, OUTBOX, create=True))
            self._opened = found
        return found

    def _sent_to(self, about: str) -> dict[str, Event]:
        """Return the events of accepted alerts about that, by channel."""
        try:
            events = list(self.record.events())
        except (OSError, RecordError):
            return {}
        tried = (event for event in events if event.name == ALERT_SENT)
        sent = (event for event in tried if event.fields.get("state") == EntryState.SENT)
        meant = (event for event in sent if event.fields.get("about", ENDED) == about)
        return {str(event.fields.get("channel")): event for event in meant}

    # -- locks and markers -----------------------------------------------------------------

    def try_lock(self, name: str) -> int:
        """Return a descriptor that locks an entry, -1 while another process does.

        Raises OSError.
        """
        directory = self._directory
        if directory is None:
            raise FileNotFoundError(errno.ENOENT, "there is no outbox")
        return directory.try_lock(f".{name}.lock")

    def is_locked(self, name: str) -> bool:
        """True while a process has locked that entry."""
        directory = self._directory
        return directory is not None and directory.is_locked(f".{name}.lock")

    def mark(self, entries: Iterable[OutboxEntry]) -> None:
        """Mark the record as undelivered if one of its entries is open."""
        try:
            if any(entry.state in OPEN and entry.about == ENDED for entry in entries):
                UNDELIVERED.add(self.record.path)
            else:
                UNDELIVERED.remove(self.record.path)
        except OSError:
            pass  # `gpualert outbox list` reads every record


def bundle_file(channel: str) -> str:
    """Return the name in the record of the manifest of a channel's message."""
    return f"bundle.{_file_name(channel)}.json"


def _file_name(channel: str) -> str:
    import hashlib

    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in channel)[:40]
    if plain == channel:
        return plain
    return f"{plain}-{hashlib.sha256(channel.encode('utf-8', 'replace')).hexdigest()[:8]}"
