"""Dumps of a run's stacks, each taken by a program of its own, one at a time."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable

from gpualert_common.processes.pidfd import await_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen


LEAST_AGE_S = 10.0
"""A younger run has not hung, and is stopped at once."""
STOP_WAITS_S = 2.0
"""A stop waits so long for the dump: ten times what one of a node takes on an idle machine."""
_DEATH_S = 0.5
"""Deadline for the kernel to end a killed program."""
DEADLINE_S = 30.0
"""For 256 processes of a busy machine.  A dump that is not complete by then is abandoned."""


class DumpRequest:
    """A dump that is wanted: the reason, whether processes may be paused, and whether a stop waits
    for it."""

    __slots__ = ("is_awaited", "is_pausing", "reason")

    def __init__(self, reason: str, *, is_pausing: bool = False, is_awaited: bool = False) -> None:
        self.reason = reason
        self.is_pausing = is_pausing
        self.is_awaited = is_awaited


class StackDumps:
    """The dumps of one run; ``start`` starts the program that takes one and may raise OSError.

    ``fd`` is readable when that program has exited; -1 while there is none.
    """

    def __init__(self, start: Callable[[DumpRequest], Popen[bytes]]) -> None:
        self._start = start
        self._wanted: deque[DumpRequest] = deque()
        self._running: DumpRequest | None = None
        self._process: Popen[bytes] | None = None
        self._deadline = 0.0
        self.fd = -1

    @property
    def is_busy(self) -> bool:
        """True while a dump is being taken or wanted."""
        return self._running is not None or bool(self._wanted)

    def request(self, wanted: DumpRequest) -> None:
        """Take a dump as soon as the one in progress, if any, is complete."""
        self._wanted.append(wanted)

    def update(self) -> list[tuple[DumpRequest, str]]:
        """Start what is due; return the dumps that are complete, each with its problem or ""."""
        finished = []
        if self._running is not None and (problem := self._examine()) is not None:
            finished.append((self._running, problem))
            self._release()
        while self._running is None and self._wanted:
            wanted = self._wanted.popleft()
            try:
                self._process = self._start(wanted)
                self.fd = os.pidfd_open(self._process.pid)
            except (OSError, RuntimeError) as error:
                finished.append((wanted, str(error) or type(error).__name__))
                continue
            self._running = wanted
            self._deadline = time.monotonic() + DEADLINE_S
        return finished

    def stop(self) -> None:
        """Abandon the dump in progress."""
        self._wanted.clear()
        if self._process is not None:
            _kill(self._process)
        self._release()

    def _examine(self) -> str | None:
        """Return the problem of the program, "" if it succeeded; None while it is at work."""
        process = self._process
        if process is None:
            return ""
        status = process.poll()
        if status is not None:
            return "" if status == 0 else f"the program exited with {status}"
        if time.monotonic() < self._deadline:
            return None
        _kill(process)
        return f"not complete after {DEADLINE_S:.0f} s"

    def _release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self._running, self._process, self.fd = None, None, -1


def _kill(process: Popen[bytes]) -> None:
    """Kill a program; one that waits for a disk is left to the kernel."""
    process.kill()
    await_exit(process.pid, _DEATH_S)
    process.poll()
