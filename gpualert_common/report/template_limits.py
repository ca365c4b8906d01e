"""Time and memory that a user's template may take of this process."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
from collections.abc import Iterator
from types import FrameType

OWN_TEMPLATES_S = 5.0
"""For one template of the user; ours take some milliseconds."""
OWN_TEMPLATES_BYTES = 256 << 20
"""More than a thousand times the largest message."""
_AGAIN_S = 1.0


class TooSlowError(BaseException):
    """The time limit was reached.  Not an Exception, since Jinja handles some of those."""


@contextlib.contextmanager
def limit_rendering(seconds: float, room_bytes: int) -> Iterator[None]:
    """Raise TooSlowError in the block when it takes longer, MemoryError when it takes more.

    Only the main thread can be limited; a caller in another thread has to limit the process.  A
    timer of the caller starts anew when the block is left.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _memory(room_bytes), _time(seconds):
        yield


@contextlib.contextmanager
def _time(seconds: float) -> Iterator[None]:
    armed = True

    def ring(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise TooSlowError

    handler = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        try:
            yield
        finally:
            armed = False
    finally:  # outside the line above, in which the alarm may still fire
        armed = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def _memory(room_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = _address_space() + room_bytes
    bounds = [bound for bound in (most, *before) if bound != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
