"""A process beside a run, started once that has lasted for a moment."""

from __future__ import annotations

import os
import select

from gpualert_common.processes.pidfd import open_pidfd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen

AFTER_S = 1.0
"""A shorter run needs no such look: all that it made is as new as it is."""
_DEATH_S = 0.5
"""For the kernel to end what was killed, which takes it milliseconds."""


class HelperProcess:
    """Started once, reaped when it ends, ended with the run.  ``name`` says what it does."""

    def __init__(self, name: str, start: Callable[[], Popen[bytes]]) -> None:
        self.name = name
        self._start: Callable[[], Popen[bytes]] | None = start
        self._process: Popen[bytes] | None = None

    def see_to(self, age_s: float) -> str:
        """To be called again and again while the run goes on; why it did not start, or ""."""
        if self._process is not None:
            self._process.poll()  # reaps it
        elif self._start is not None and age_s >= AFTER_S:
            start, self._start = self._start, None
            try:
                self._process = start()
            except (OSError, RuntimeError) as error:
                return str(error) or type(error).__name__
        return ""

    def end(self, patience_s: float = 0.0) -> None:
        """Kill it unless it ends by itself in that time."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        self._await_end(patience_s)
        if process.poll() is None:
            process.kill()

    def reap(self) -> None:
        """Return when what was killed is gone, or is held back by the kernel."""
        self._await_end(_DEATH_S)

    def _await_end(self, within_s: float) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        pidfd = open_pidfd(process.pid)
        if pidfd >= 0:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            poll.poll(within_s * 1000)
            os.close(pidfd)
        process.poll()
