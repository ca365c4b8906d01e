"""Helper processes of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from gpualert_common.processes.pidfd import await_exit, is_ready, open_pidfd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

START_AFTER_S = 1.0
"""A shorter run needs no helper, as a rule: all that it made is as new as it is."""
_DEATH_S = 0.5
"""Deadline for the kernel to end a killed process, which takes it milliseconds."""
RESTART_PAUSES_S = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 3600.0)
"""The first are short against the silence by which a vanished node is known, 20 s or more.  Memory
that is short for hours costs eight starts."""


class StartedBefore:
    """A helper process that was started before the launch, and is no child of the recorder.

    Its exit can be seen, and its status cannot: it counts as a failure.
    """

    __slots__ = ("_fd", "pid", "returncode")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._fd = open_pidfd(pid)

    def poll(self) -> int | None:
        """Return 1 once it has exited, and None before."""
        if self.returncode is None and (self._fd < 0 or is_ready(self._fd)):
            self.returncode = 1
            self.close()
        return self.returncode

    def close(self) -> None:
        """Close the pidfd of a process that is watched no more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class HelperProcess:
    """A process that is started once the run has lasted for a moment, and ends with the run.

    ``name`` says what it does; ``start_after_s`` is the age of the run at which it is started.
    ``has_last_work`` says that it has something to do at the end of a run that failed.  One that
    fails is started again after each of ``restart_pauses_s``; one that exits with 0 has done its
    work.  ``running`` is one that was started before; with ``ends_itself`` it is not killed at the
    end of the run.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Popen[bytes]],
        start_after_s: float = START_AFTER_S,
        *,
        has_last_work: bool = True,
        restart_pauses_s: Iterable[float] = (),
        running: StartedBefore | None = None,
        ends_itself: bool = False,
    ) -> None:
        self.name = name
        self._has_last_work = has_last_work
        self._start = start
        self._start_at_s: float | None = start_after_s if running is None else None
        self._ends_itself = ends_itself
        self._pauses_s = iter(restart_pauses_s)
        self._process: Popen[bytes] | StartedBefore | None = running

    def update(self, age_s: float) -> str:
        """Start or reap it as due at this age of the run; return why it did not start, or ""."""
        if self._start_at_s is None:
            has_failed = self._process is not None and self._process.poll()  # reaps it
            if has_failed:
                self._process = None
                self._restart_later(age_s)
        elif age_s >= self._start_at_s:
            self._start_at_s = None
            try:
                self._process = self._start()
            except (OSError, RuntimeError) as error:
                self._restart_later(age_s)
                return str(error) or type(error).__name__
        return ""

    def _restart_later(self, age_s: float) -> None:
        """Set the next start, unless it was started often enough."""
        pause_s = next(self._pauses_s, None)
        self._start_at_s = None if pause_s is None else age_s + pause_s

    def stop(self, grace_s: float = 0.0) -> None:
        """Kill it unless it exits by itself in that time, which it gets if it has last work."""
        if self._ends_itself or isinstance(self._process, StartedBefore):
            return
        self._await_exit(grace_s if self._has_last_work else 0.0)
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def reap(self) -> None:
        """Return when a killed process is gone, or the kernel holds it back."""
        if isinstance(self._process, StartedBefore):
            self._process.close()
        if not self._ends_itself:
            self._await_exit(_DEATH_S)

    def _await_exit(self, deadline_s: float) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            await_exit(process.pid, deadline_s)
            process.poll()
