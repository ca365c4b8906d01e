"""The guardian's ownership policy: what it observes of a run's followers, and what follows."""

from __future__ import annotations

import os

from gpualert_common.guardian.follower import open_follower
from gpualert_common.processes.pidfd import is_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpualert_common.guardian.ownership import Events, Ownership


class GuardianPolicy:
    """Ownership of a run, with a pidfd of the process that follows it."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._owner = ""
        self._pid = 0
        self._superseded: set[int] = set()
        self.follower_fd = -1
        """Readable when the follower's process has ended; -1 while none can be seen."""

    def watch_follower(self, owner: str, follower: object) -> None:
        """Watch the process that ``follower`` describes, if it can be seen from here."""
        self._close()
        if self._pid:
            self._superseded.add(self._pid)
        self._pid, fd = open_follower(follower)
        self._superseded.discard(self._pid)
        if self._pid:
            self.follower_fd, self._owner = fd, owner

    def handle_follower_exit(self) -> Events:
        """Return the events that follow from the readable descriptor."""
        owner = self._owner
        self._close()
        return self._ownership.observe_follower_exit(owner)

    def handle_leases(self, leases: Mapping[str, int] | None, now: float) -> Events:
        """Return the events that follow from the leases in the record; None: it was removed."""
        is_alive = self.follower_fd >= 0 and not is_ready(self.follower_fd)
        if leases is None:
            self._ownership.observe_missing_record(now, alive=is_alive)
            return []
        return self._ownership.observe_leases(leases, now, alive=is_alive)

    def answer(self, request: Mapping[str, Any]) -> Events:
        """Return the events that answer a request of another kind than a stop."""
        events = self._ownership.answer(request)
        if events and events[0][0] == "adopted":
            self.watch_follower(str(request["owner"]), request.get("follower"))
        return events

    def may_stop(self, request: Mapping[str, Any]) -> bool:
        """False for an attempt that was superseded."""
        return self._ownership.may_stop(request)

    def may_signal(self, pid: int) -> bool:
        """False for a process that followed the run and was superseded."""
        return pid not in self._superseded

    def end_reason(self, now: float) -> str | None:
        """Return why the run must be ended now, or None."""
        self._ownership.observe_time(now)
        return self._ownership.end_reason

    def begin_stop(self) -> None:
        """Close the run: from now on nobody adopts it."""
        self._ownership.begin_stop()

    def _close(self) -> None:
        if self.follower_fd >= 0:
            os.close(self.follower_fd)
            self.follower_fd = -1
