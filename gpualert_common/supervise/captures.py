"""Captures of a run in progress, each taken by a program of its own.

A capture is a dump of its stacks, a profile or a trace.  The program stores it in the record.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from gpualert_common.spec import CaptureKind

STACKS: CaptureKind = "stacks"
LEAST_AGE_S = 10.0
"""A younger run has not hung, and is stopped at once."""
STOP_WAITS_S = 2.0
"""A stop waits so long for the dump: ten times what one of a node takes on an idle machine."""
_MOST_OUTPUT = 4096
_DEATH_S = 0.5
"""Deadline for the kernel to end a killed program."""
DUMP_DEADLINE_S = 30.0
"""For 256 processes of a busy machine.  A dump that is not complete by then is abandoned."""
PROFILE_DEADLINE_S = 300.0
"""The same of a profile or a trace, which is merged and analysed after it was recorded."""


class CaptureRequest:
    """A capture that is wanted, and the reason.

    ``is_pausing`` says that a dump may pause the processes, ``is_awaited`` that a stop waits for
    it.
    """

    __slots__ = ("is_awaited", "is_pausing", "kind", "reason")

    def __init__(
        self,
        reason: str,
        *,
        kind: CaptureKind = STACKS,
        is_pausing: bool = False,
        is_awaited: bool = False,
    ) -> None:
        self.kind: CaptureKind = kind
        self.reason = reason
        self.is_pausing = is_pausing
        self.is_awaited = is_awaited


class Captures:
    """Captures of one run, one at a time; ``start`` starts the program that takes one.

    It may raise OSError and RuntimeError.  A capture that takes longer than the deadline is
    abandoned.

    ``fd`` is readable when that program has exited; -1 while there is none.
    """

    def __init__(self, start: Callable[[CaptureRequest], Popen[bytes]], deadline_s: float) -> None:
        self._start = start
        self._deadline_s = deadline_s
        self._wanted: deque[CaptureRequest] = deque()
        self._running: CaptureRequest | None = None
        self._process: Popen[bytes] | None = None
        self._deadline = 0.0
        self.fd = -1

    @property
    def is_busy(self) -> bool:
        """True while a capture is being taken or wanted."""
        return self._running is not None or bool(self._wanted)

    def request(self, wanted: CaptureRequest) -> None:
        """Take a capture as soon as the one in progress, if any, is complete."""
        self._wanted.append(wanted)

    def update(self) -> list[tuple[CaptureRequest, str]]:
        """Start what is due; return the complete captures, each with its problem or ""."""
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
                self._abandon()
                continue
            self._running = wanted
            self._deadline = time.monotonic() + self._deadline_s
        return finished

    def stop(self, reason: str) -> list[tuple[CaptureRequest, str]]:
        """Abandon all captures; return them, each with its problem: the reason, if no other."""
        stopped = []
        if self._running is not None:
            problem = self._examine()
            stopped.append((self._running, reason if problem is None else problem))
        stopped += [(wanted, reason) for wanted in self._wanted]
        self._wanted.clear()
        self._abandon()
        return stopped

    def _abandon(self) -> None:
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
            return _read_output(process) or (f"the program exited with {status}" if status else "")
        if time.monotonic() < self._deadline:
            return None
        _kill(process)
        return f"not complete after {self._deadline_s:.0f} s"

    def _release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self._running, self._process, self.fd = None, None, -1


def _read_output(process: Popen[bytes]) -> str:
    """Return the text that a program that has exited printed, its problem; "" for none."""
    if process.stdout is None:
        return ""
    with process.stdout as file:
        os.set_blocking(file.fileno(), False)
        try:
            data = os.read(file.fileno(), _MOST_OUTPUT)
        except BlockingIOError:  # a child of it still has the pipe
            return ""
    return data.decode("utf-8", "replace").strip()


def _kill(process: Popen[bytes]) -> None:
    """Kill a program; one that waits for a disk is left to the kernel."""
    from subprocess import TimeoutExpired

    process.kill()
    with suppress(TimeoutExpired):
        process.wait(_DEATH_S)
    if process.stdout is not None:
        process.stdout.close()
