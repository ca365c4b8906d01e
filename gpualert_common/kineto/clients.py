"""Processes of PyTorch that ask the daemon, by their process numbers."""

from __future__ import annotations

import time

POLL_S = 5.0
"""Time between two questions of a process; the first comes when it loads PyTorch."""
LATE_S = 2.0
"""A process that is later than this has stopped, or its machine is overloaded."""
_MOST_CLIENTS = 4096


class Client:
    """A process that asks; ``asked_at`` is the monotonic time of its last question.

    ``is_skipped`` says that its next question gets no answer, ``is_idle`` that it recorded no trace
    when it asked.
    """

    __slots__ = ("asked_at", "is_idle", "is_skipped")

    def __init__(self, asked_at: float) -> None:
        self.is_skipped = False
        self.is_idle = True
        self.asked_at = asked_at

    def next_at(self, now: float) -> float | None:
        """Return the time of the next question that is answered; None if that is overdue."""
        due = self.asked_at + (2 * POLL_S if self.is_skipped else POLL_S)
        return due if now < due + LATE_S else None


class Clients:
    """The processes that asked, each with its last question.

    ``complete_at`` is the monotonic time by which each process that asks has done so.
    """

    def __init__(self, complete_at: float = 0.0) -> None:
        self._complete_at = complete_at
        self._by_pid: dict[int, Client] = {}

    def await_all(self) -> None:
        """Return once each process that asks has done so."""
        time.sleep(max(0.0, self._complete_at - time.monotonic()))

    def note(self, pid: int, now: float, *, is_idle: bool = True) -> Client:
        """Return the process that asks; the one that was silent for longest may be forgotten."""
        client = self._by_pid.pop(pid, None) or Client(now)
        client.asked_at = now
        client.is_idle = is_idle
        self._by_pid[pid] = client
        if len(self._by_pid) > _MOST_CLIENTS:
            del self._by_pid[next(iter(self._by_pid))]
        return client

    def skip_all(self) -> None:
        """Leave the next question of each process without an answer."""
        for client in self._by_pid.values():
            client.is_skipped = True

    def __contains__(self, pid: object) -> bool:
        """True for a process that has asked."""
        return pid in self._by_pid

    def find(self, pid: int) -> Client | None:
        """Return the client of that number; None if it never asked."""
        return self._by_pid.get(pid)
