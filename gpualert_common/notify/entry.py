"""One alert for one channel, and the states it goes through."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Protocol, TypedDict, TypeGuard, Unpack

from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.channel_config import WITHHELD, is_channel
from gpualert_common.quantities import is_number, is_time
from gpualert_common.spec import ENDED


class DeliveryAttempt(TypedDict, total=False):
    """The last attempt at a delivery: the answer that accepted it, or the problem."""

    at: float
    accepted: str | None
    problem: str
    transient: bool


class EntryFields(TypedDict, total=False):
    """The content of an entry's file.

    ``arrived`` has the parts of the message that the channel took; ``because`` says why the alert
    is held or was superseded; ``warning`` is the event of a warning.
    """

    schema: int
    event: str
    message_id: str
    channel: ChannelConfig
    state: EntryState
    due: float | None
    queued_at: float
    attempts: int
    arrived: list[str]
    last: DeliveryAttempt
    because: str
    warning: dict[str, Any]


class EntryStorage(Protocol):
    """The outbox that an entry is kept in."""

    def find(self, name: str) -> OutboxEntry | None:
        """Return the entry in that file, None when there is no valid one."""

    def write(self, name: str, fields: EntryFields) -> bool:
        """Write an entry; False when the disk rejects it."""

    def try_lock(self, name: str) -> int:
        """Return a descriptor that locks an entry, -1 while another process does."""

    def is_locked(self, name: str) -> bool:
        """True while a process has locked that entry."""


class EntryState(StrEnum):
    """The state of an alert for one channel."""

    PENDING = "pending"
    """To be sent; earlier attempts failed with transient faults, if at all."""
    HELD = "held"
    """Not sent while another attempt at the task may follow, or another node of its job may send
    it."""
    SENT = "sent"
    """Accepted by the channel."""
    FAILED = "failed"
    """Given up: a permanent fault, or transient ones for too long."""
    DROPPED = "dropped"
    """Cancelled by a person."""
    SUPERSEDED = "superseded"
    """Replaced by the alert of a later attempt or of another node, or a warning by that of the
    end."""


OPEN = (EntryState.PENDING, EntryState.HELD)
"""States that the sender still changes by itself."""
UNSENT = (EntryState.PENDING, EntryState.HELD, EntryState.FAILED)
"""States that a person may change."""

_LOCK_POLL_S = 0.05


class OutboxEntry:
    """One alert for one channel.

    ``fields`` is the content of its file, changed under its lock only.  ``stored`` is False while
    the entry exists in this process alone.
    """

    def __init__(
        self, storage: EntryStorage, name: str, fields: EntryFields, *, stored: bool = True
    ) -> None:
        self._storage = storage
        self._lock_fd = -1
        self.name = name
        self.fields = fields
        self.stored = stored

    @property
    def channel(self) -> str:
        """Name of the channel."""
        return str(self.fields["channel"]["name"])

    @property
    def about(self) -> str:
        """The event that the alert is about: the run's end, or a kind of warning."""
        return str(self.fields.get("event", ENDED))

    @property
    def state(self) -> EntryState:
        """State of the alert."""
        return EntryState(self.fields["state"])

    @property
    def due(self) -> float:
        """When the next attempt is due, in seconds since the epoch."""
        return float(self.fields["due"] or 0.0)

    @property
    def is_locked(self) -> bool:
        """True while a process sends it."""
        return self._storage.is_locked(self.name)

    def can_be_sent_with(self, secrets: Mapping[str, Mapping[str, str]]) -> bool:
        """False if the user passed a secret directly that is not among these."""
        settings = self.fields["channel"]["settings"]
        withheld = {key for key, value in settings.items() if value == WITHHELD}
        return withheld <= set(secrets.get(self.channel, {}))

    # -- changing it -----------------------------------------------------------------------

    def lock(self, timeout_s: float) -> bool:
        """Lock it and read it again; False when another process holds the lock for so long."""
        deadline = time.monotonic() + timeout_s
        try:
            while (fd := self._storage.try_lock(self.name)) < 0:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_LOCK_POLL_S)
        except OSError:
            return True  # a disk that rejects files also rejects locks: send it without one
        self._lock_fd = fd
        self.reload()
        return True

    def unlock(self) -> None:
        """Release the lock."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def reload(self) -> None:
        """Read it again: another process may have sent it meanwhile."""
        again = self._storage.find(self.name)
        if again is not None:
            self.fields, self.stored = again.fields, True

    def save(self, **changes: Unpack[EntryFields]) -> bool:
        """Change it under its lock; False when the disk rejects the change."""
        self.fields.update(changes)
        self.stored = self._storage.write(self.name, self.fields)
        return self.stored

    def change(self, states: Collection[EntryState], **changes: Unpack[EntryFields]) -> bool:
        """Change it if it is in one of these states and no process is sending it."""
        if not self.lock(0.0):
            return False
        try:
            return self.state in states and self.save(**changes)
        finally:
            self.unlock()


def is_entry(fields: Mapping[str, Any]) -> TypeGuard[EntryFields]:
    """True for the fields of a valid entry; the file may be damaged."""
    channel = fields.get("channel")
    return (
        is_channel(channel)
        and fields.get("state") in tuple(EntryState)
        and isinstance(fields.get("message_id"), str)
        and isinstance(fields.get("arrived"), list)
        and is_number(fields.get("attempts"))
        and is_time(fields.get("queued_at"))
        and (fields.get("due") is None or is_time(fields["due"]))
        and isinstance(fields.get("last", {}), dict)
        and isinstance(fields.get("warning") or {}, dict)
    )
