"""Deadlines that a crowded machine makes longer: who waits for a core is late, and not stuck."""

from __future__ import annotations

import os
import time

MOST_TIMES = 4.0
"""How much longer a deadline becomes at most."""
LOOK_S = 0.25
"""A waiter looks so often how crowded it is."""


class Patience:
    """A deadline in seconds of a machine that has a core for everyone who wants one.

    Where N want each core they are N times as long, at most :data:`MOST_TIMES`.
    """

    __slots__ = ("_left_s", "_then")

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds
        self._then = time.monotonic()

    def left_s(self) -> float:
        """Seconds that are left, at most :data:`LOOK_S` of them; 0 when the deadline has passed."""
        now = time.monotonic()
        self._left_s -= (now - self._then) / _crowd()
        self._then = now
        return min(LOOK_S, max(0.0, self._left_s))


def _crowd() -> float:
    """How many want each core at the moment; 1 where there are enough, or nobody can tell."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:
            running = int(file.read(64).split()[3].partition(b"/")[0])
        return min(MOST_TIMES, max(1.0, running / len(os.sched_getaffinity(0))))
    except (OSError, ValueError, IndexError):
        return 1.0
