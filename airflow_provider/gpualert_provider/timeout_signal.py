"""SIGALRM, by which Airflow enforces ``execution_timeout``, and log calls.

Airflow's handler of the signal writes to the task log.  The logger holds a lock that is not
reentrant, so a signal that arrives while the same thread logs a line would block the task for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_POSTPONED_S = 0.01
"""Time until an alarm that interrupted a log call is raised again."""

_LOGGING_PACKAGES = frozenset({"logging", "structlog"})


@contextmanager
def postpone_alarm_while_logging() -> Iterator[None]:
    """Within this context, call the handler of SIGALRM only between log calls.

    Outside the main thread, where Python runs no handlers, and without a handler it has no effect.
    """
    handler = signal.getsignal(signal.SIGALRM)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _is_logging(frame):
            signal.setitimer(signal.ITIMER_REAL, _POSTPONED_S)
        else:
            handler(number, frame)

    signal.signal(signal.SIGALRM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, handler)


def _is_logging(frame: FrameType | None) -> bool:
    """Return True if the frame, or one that called it, belongs to a logging package."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _LOGGING_PACKAGES:
            return True
        frame = frame.f_back
    return False
