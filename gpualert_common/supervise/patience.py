"""Deadlines that a crowded machine makes longer: who waits for a core is late, and not stuck."""

from __future__ import annotations

import os
import time

MOST_TIMES = 4.0
"""How much longer a deadline becomes at most."""
LOOK_S = 0.25
"""So often a waiter looks how crowded it is."""


class Patience:
    """A deadline in seconds of a machine that has a core for everyone who wants one.

    Where N want each core they are N times as long, at most :data:`MOST_TIMES`.  The whole machine
    counts, also for those who may use only some of its cores.
    """

    __slots__ = ("_crowd", "_left_s", "_looked_at", "_then")

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds
        self._crowd = 1.0
        self._then = time.monotonic()
        self._looked_at = self._then - LOOK_S

    def left_s(self) -> float:
        """Seconds that are left, at most :data:`LOOK_S` of them; 0 when the deadline has passed."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._crowd, self._looked_at = _crowd(), now
        self._left_s -= (now - self._then) / self._crowd
        self._then = now
        return min(LOOK_S, max(0.0, self._left_s))


def _crowd() -> float:
    """How many want each core at the moment; 1 where there are enough, or nobody can tell."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:
            running = int(file.read(64).split()[3].partition(b"/")[0])
    except (OSError, ValueError, IndexError):
        return 1.0
    return min(MOST_TIMES, max(1.0, running / (os.cpu_count() or 1)))
