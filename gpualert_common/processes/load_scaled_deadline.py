"""Deadlines that grow with the load: a process that waits for a core is late, not stuck."""

from __future__ import annotations

import os
import time

from gpualert_common.processes.procfs import read

MAX_LOAD = 4.0
"""A deadline grows at most by this factor."""
CHECK_S = 0.25
"""Time between two readings of the load."""


class LoadScaledDeadline:
    """A deadline in seconds of a machine that has a free core for every runnable thread.

    Where N threads want each core the deadline is N times as long, at most :data:`MAX_LOAD` times.
    The whole machine counts, also for a process that may use only some of its cores.
    """

    __slots__ = ("_checked_at", "_left_s", "_load", "_read_at")

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds
        self._load = 1.0
        self._checked_at = time.monotonic()
        self._read_at = self._checked_at - CHECK_S

    def left_s(self) -> float:
        """Return the seconds left, at most :data:`CHECK_S` of them; 0 after the deadline."""
        now = time.monotonic()
        if now - self._read_at >= CHECK_S:
            self._load, self._read_at = read_load(), now
        self._left_s -= (now - self._checked_at) / self._load
        self._checked_at = now
        return min(CHECK_S, max(0.0, self._left_s))


def read_load() -> float:
    """Return the runnable threads per core, from 1 to :data:`MAX_LOAD`; 1 where it is unknown."""
    try:
        running = int(read("/proc/loadavg").split()[3].partition(b"/")[0])
    except (ValueError, IndexError):
        return 1.0
    return min(MAX_LOAD, max(1.0, running / (os.cpu_count() or 1)))
