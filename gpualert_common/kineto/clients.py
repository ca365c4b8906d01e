"""Processes of PyTorch that ask the daemon, by their process numbers."""

from __future__ import annotations

POLL_S = 5.0
"""Time between two questions of a process; the first comes when it loads PyTorch."""
LATE_S = 2.0
"""A process that is later than this has stopped, or its machine is overloaded."""
_MOST_CLIENTS = 4096


class Client:
    """A process that asks; ``asked_at`` is the monotonic time of its last question."""

    __slots__ = ("asked_at",)

    def __init__(self, asked_at: float) -> None:
        self.asked_at = asked_at

    def next_at(self, now: float) -> float | None:
        """Return the time of its next question; None if that is overdue."""
        due = self.asked_at + POLL_S
        return due if now < due + LATE_S else None


class Clients:
    """The processes that asked, each with its last question."""

    def __init__(self) -> None:
        self._by_pid: dict[int, Client] = {}

    def note(self, pid: int, now: float) -> None:
        """Note a question; the process that was silent for longest is forgotten for a new one."""
        self._by_pid.pop(pid, None)
        self._by_pid[pid] = Client(now)
        if len(self._by_pid) > _MOST_CLIENTS:
            del self._by_pid[next(iter(self._by_pid))]

    def find(self, pid: int) -> Client | None:
        """Return the client of that number; None if it never asked."""
        return self._by_pid.get(pid)
