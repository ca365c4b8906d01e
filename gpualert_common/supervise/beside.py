"""A process that looks at something beside the log once the run has lasted for a moment."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen

AFTER_S = 1.0
"""A shorter run needs no such look: all that it made is as new as it is."""


class Beside:
    """Started once, reaped when it ends, ended with the run; never waited for."""

    def __init__(self, start: Callable[[], Popen[bytes]]) -> None:
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

    def end(self) -> None:
        """Kill it if it still looks; a process that the kernel holds back is left to it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.poll()
