"""Stacks of the run's processes, merged by rank, taken from outside when the run seems to hang.

Python frames are read by py-spy from the memory of the processes (extra ``stacks``); the wait of
each thread (a lock, a child, a file, a socket and its peer, a debugger, a stop) is read from /proc,
also where py-spy is missing.  Nothing in the run is changed.  A dump is taken when the run prints
nothing or its GPUs are idle for long, and again 30 s later; at its time limit; before a stop by
``gpualert stop`` or an engine, which waits for it two seconds at most; and by ``gpualert stacks``.
Only the second dump of a run that seems to hang pauses its processes, each for some milliseconds.
A record has at most ten dumps, of 256 processes each, in ``stacks.jsonl``.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.stacks.py_spy import find_obstacle
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)


class Stacks(Source):
    """Availability of Python stacks; the dumps are taken on occasion, not by samples."""

    decides = (
        "hangs: which rank the others wait for, at which line, and on what it waits itself; tells "
        "a hang from slow work"
    )

    def __init__(self, _run: ObservedRun | None) -> None:
        why, remedy = find_obstacle()
        if why:
            raise SourceUnavailableError(f"{why}; only the waits in /proc are known", remedy)

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return nothing."""
        return ()


SOURCE: type[Source] = Stacks
