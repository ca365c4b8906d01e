"""Interrupts of a training that are not raised in the thread that follows it.

A submitted task runs in a thread.  Signals reach the main thread only: Prefect turns SIGTERM into
an exception there and then waits, in the exit of the task runner, for the threads.  No public API
of Prefect reports this to a thread: its cancel events are private, and they are also set when a
flow ends before its tasks.  A signal handler of our own would replace Prefect's, and Prefect
requires its handler before it accepts a cancellation.  But Python shows the exception that a thread
is handling: while the main thread handles one that is not an Exception, the flow is ending.
"""

from __future__ import annotations

import sys
import threading
import time
from asyncio import CancelledError
from signal import SIGTERM
from typing import TYPE_CHECKING

from prefect.exceptions import TerminationSignal

if TYPE_CHECKING:
    from gpualert_common.guardian.handle import StopKind

_TIMEOUT_SLACK_S = 1.0
"""Delay in which Prefect can interrupt the task itself, with its own message."""
_TIMEOUT_LEAD_S = 0.5
"""Prefect starts its clock before we do."""
_CANCELLED_CHECKS = 4
"""An event loop handles the cancellation of one task within one check.  A flow whose exit waits for
us handles it for as long as it waits."""


class FlowEndedError(TerminationSignal):
    """The flow is ending, by a signal to the main thread.  Prefect takes it for a crash."""


class Interrupts:
    """The interrupts of one run; its follower checks them several times a second."""

    def __init__(self, timeout_s: float | None, passed_s: float = 0.0) -> None:
        self._timeout_s = timeout_s
        self._began = time.monotonic() - max(0.0, passed_s)
        self._is_requested = threading.Event()
        self._cancelled_checks = 0

    def request(self) -> None:
        """Make the next :meth:`check` raise; from any thread."""
        self._is_requested.set()

    def check(self) -> None:
        """Raise TimeoutError or FlowEndedError if the training must stop."""
        if self._is_requested.is_set():
            raise FlowEndedError(SIGTERM)
        if threading.current_thread() is not threading.main_thread():
            handled = _handled_by_main_thread()
            if self._ends_the_flow(handled):
                raise FlowEndedError(SIGTERM) from handled
        if self._timeout_s is not None and self._passed_s > self._timeout_s + _TIMEOUT_SLACK_S:
            raise TimeoutError(f"timeout of {self._timeout_s:g} second(s) exceeded")

    def stop_kind(self, error: BaseException) -> tuple[StopKind, str]:
        """Return the kind of stop that ``error`` means, and its reason, for the verdict."""
        if self._timeout_s is not None and self._passed_s > self._timeout_s - _TIMEOUT_LEAD_S:
            return "timeout", f"its timeout of {self._timeout_s:g} s was over"
        errors = (error, error.__cause__, _handled_by_main_thread())
        if any(isinstance(one, KeyboardInterrupt) for one in errors):
            return "cancelled", "its flow was interrupted (SIGINT)"
        if _is_cancelled_by_runner():
            return "cancelled", "its flow run was cancelled"
        if any(type(one) is TerminationSignal for one in errors):
            return "preempted", "its flow received SIGTERM"
        if isinstance(error, FlowEndedError | CancelledError):
            return "cancelled", "nothing waited for it any more"
        return "cancelled", f"its task was stopped by {type(error).__name__}"

    @property
    def left_s(self) -> float | None:
        """Seconds until the task's timeout; None where it has none."""
        if self._timeout_s is None:
            return None
        return max(0.0, self._timeout_s - _TIMEOUT_LEAD_S - self._passed_s)

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._began

    def _ends_the_flow(self, handled: BaseException | None) -> bool:
        if not isinstance(handled, CancelledError):
            self._cancelled_checks = 0
            return handled is not None and not isinstance(handled, Exception | GeneratorExit)
        self._cancelled_checks += 1
        return self._cancelled_checks >= _CANCELLED_CHECKS


def _is_cancelled_by_runner() -> bool:
    """Return True if a runner announced a cancellation to Prefect's listener before its SIGTERM.

    The listener is private and newer than the oldest Prefect that we support.  Without it the
    verdict says "preempted" in place of "cancelled"; nothing else depends on it.
    """
    listener = sys.modules.get("prefect._internal.control_listener")
    get_intent = getattr(listener, "get_intent", None)
    return get_intent is not None and get_intent() == "cancel"


def _handled_by_main_thread() -> BaseException | None:
    handled = sys._current_exceptions()  # noqa: SLF001 - documented, as its siblings are
    found = handled.get(threading.main_thread().ident or 0)
    # Python 3.11 returns a tuple as sys.exc_info() does, later versions the exception.
    return found[1] if isinstance(found, tuple) else found
