"""Virtual time: processes that sleep in it, each a greenlet, in the order of their wake-ups.

The code of a process is plain code, such as that of a sender.  Between two calls of ``sleep`` it
takes no time.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from typing import Protocol

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

EPOCH = 1_800_000_000.0
"""Begin of virtual time, in seconds since the epoch."""


class ProcessKilled(BaseException):
    """End of a process by SIGKILL: no handler of the code under test catches it."""


class Clock(Protocol):
    """A time, and sleep in it."""

    def now(self) -> float:
        """Return the true time in seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Return after that time."""


class RealTime:
    """The time of this machine."""

    def now(self) -> float:
        """Return the time of this machine."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Sleep for that time."""
        time.sleep(max(0.0, seconds))


class VirtualTime:
    """A time that passes when all processes sleep."""

    def __init__(self) -> None:
        self._now = EPOCH
        self._heap: list[tuple[float, int, greenlet]] = []
        self._entries = 0
        self._hub = getcurrent()
        self._ends: dict[greenlet, float] = {}

    def now(self) -> float:
        """Return the true time in seconds since the epoch."""
        return self._now

    def start(self, at: float, action: Callable[[], None], killed_at: float | None = None) -> None:
        """Start a process at a time; it ends by SIGKILL at ``killed_at``."""
        process = greenlet(lambda: self._run(action), self._hub)
        if killed_at is not None:
            self._ends[process] = killed_at
        self._push(at, process)

    def kill_current(self, at: float) -> None:
        """End the process that runs now by SIGKILL, at that time."""
        self._ends[getcurrent()] = at

    def sleep(self, seconds: float) -> None:
        """Let that time pass for this process.  Raises ProcessKilled."""
        process = getcurrent()
        wakes_at = self._now + max(0.0, seconds)
        ends_at = self._ends.get(process)
        if ends_at is not None and ends_at <= wakes_at:
            wakes_at = max(ends_at, self._now)
        if self._heap and self._heap[0][0] <= wakes_at:
            self._push(wakes_at, process)
            self._hub.switch()
        else:
            self._now = wakes_at
        if ends_at is not None and ends_at <= self._now:
            raise ProcessKilled

    def run(self, until: float) -> None:
        """Run all processes to their ends, or to that time, at which the rest of them is killed."""
        while self._heap:
            at, _entry, process = heapq.heappop(self._heap)
            if at > until:
                process.throw(ProcessKilled)
                continue
            self._now = max(self._now, at)
            process.switch()

    def _push(self, at: float, process: greenlet) -> None:
        self._entries += 1
        heapq.heappush(self._heap, (at, self._entries, process))

    def _run(self, action: Callable[[], None]) -> None:
        try:
            action()
        except ProcessKilled:
            pass
        finally:
            self._ends.pop(getcurrent(), None)
