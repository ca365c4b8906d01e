"""One alert for one channel, and the states it goes through.

=============  ==========================================================================
pending        to be sent; transient faults so far, and the next attempt's time
held           another attempt at the task may make it superfluous
sent           accepted by the channel
failed         given up: a permanent fault, or transient ones for too long
dropped        a person did not want it
superseded     a later attempt took its place, or the end of the run that of a warning
=============  ==========================================================================
"""

from __future__ import annotations

import os
import time

from gpualert_common.notify.channel_config import WITHHELD
from gpualert_common.spec import ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from gpualert_common.notify.outbox import Outbox

PENDING, HELD, SENT = "pending", "held", "sent"
FAILED, DROPPED, SUPERSEDED = "failed", "dropped", "superseded"
STATES = (PENDING, HELD, SENT, FAILED, DROPPED, SUPERSEDED)
OPEN = (PENDING, HELD)
"""States that something may yet come of by itself."""
UNSENT = (PENDING, HELD, FAILED)
"""States that a person may change: to be sent after all, or never."""

_LOCK_POLL_S = 0.05


class OutboxEntry:
    """``fields`` is its file.  It is changed under its lock only, by whoever sends it or settles
    that it is not to be sent.  ``stored`` is False while it lives in this process alone."""

    def __init__(
        self, outbox: Outbox, name: str, fields: dict[str, Any], *, stored: bool = True
    ) -> None:
        self._outbox = outbox
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
        """The run's end, or what people are warned of while it goes on."""
        return str(self.fields.get("event", ENDED))

    @property
    def state(self) -> str:
        """One of the states above."""
        return str(self.fields["state"])

    @property
    def due(self) -> float:
        """When the next attempt is due, in seconds since the epoch."""
        return float(self.fields["due"] or 0.0)

    @property
    def locked(self) -> bool:
        """True while somebody sends it."""
        return self._outbox.is_locked(self.name)

    def can_be_sent_with(self, secrets: Mapping[str, Mapping[str, str]]) -> bool:
        """False where a secret was given in person, and is not among these."""
        settings = self.fields["channel"]["settings"]
        withheld = {key for key, value in settings.items() if value == WITHHELD}
        return withheld <= set(secrets.get(self.channel, {}))

    # -- changing it -----------------------------------------------------------------------

    def lock(self, timeout_s: float) -> bool:
        """Become the one who changes it; False when somebody else is at it for so long."""
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

    def unlock(self) -> None:
        """Let others change it."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def reload(self) -> None:
        """Read it again: somebody else may have sent it meanwhile."""
        again = self._outbox.find(self.name)
        if again is not None:
            self.fields, self.stored = again.fields, True

    def save(self, **changes: Any) -> bool:
        """Change it, by whoever holds the lock; False when the disk does not take it."""
        self.fields.update(changes)
        self.stored = self._outbox.write(self.name, self.fields)
        return self.stored

    def change(self, states: Collection[str], **changes: Any) -> bool:
        """Change it if it is in one of these states, and nobody is sending it at this moment."""
        if not self.lock(0.0):
            return False
        try:
            return self.state in states and self.save(**changes)
        finally:
            self.unlock()


def is_entry(fields: Mapping[str, Any]) -> bool:
    """True for what can be an entry; its file is the user's own, and may be damaged."""
    channel = fields.get("channel")
    return (
        isinstance(channel, dict)
        and is_channel(channel)
        and fields.get("state") in STATES
        and isinstance(fields.get("message_id"), str)
        and isinstance(fields.get("arrived"), list)
        and all(_is_number(fields.get(name)) for name in ("queued_at", "attempts"))
        and (fields.get("due") is None or _is_number(fields["due"]))
        and isinstance(fields.get("last", {}), dict)
    )


def is_channel(channel: object) -> bool:
    """True for a channel as a record describes it."""
    return (
        isinstance(channel, dict)
        and all(isinstance(channel.get(name), str) for name in ("name", "kind"))
        and isinstance(channel.get("settings"), dict)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
