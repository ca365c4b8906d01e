"""What must end a training although nobody raises it in the thread that follows it.

A task that was submitted runs in a thread.  Signals reach the main thread alone: Prefect turns
SIGTERM into an exception there and then waits, in the exit of the task runner, for the threads.  No
public name of Prefect tells a thread so (its cancel events are private, and are set too when a flow
merely ends before its tasks), and a handler of our own would take the place of Prefect's, which
Prefect checks for before it accepts a cancellation.  But Python tells which exception a thread is
handling: while the main thread handles one that is no Exception, the flow is being torn down.
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
    from gpualert_common.guardian.handle import Meaning

_TIMEOUT_SLACK_S = 1.0
"""Where Prefect itself can interrupt it comes first, and its message is the one told."""
_TIMEOUT_LEAD_S = 0.5
"""Prefect begins to count before we do."""
_CANCELLED_LOOKS = 4
"""A loop that cancels one of its tasks handles that in no time; a flow in whose exit the main
thread waits for us handles it for as long as we let it wait."""


class FlowEndedError(TerminationSignal):
    """Raised in a thread for what the main thread was told.  A crash for Prefect, not retried."""


class Interrupts:
    """Looked at by whoever follows a run, several times a second."""

    def __init__(self, timeout_s: float | None, passed_s: float = 0.0) -> None:
        self._timeout_s = timeout_s
        self._began = time.monotonic() - max(0.0, passed_s)
        self._asked = threading.Event()
        self._cancelled_looks = 0

    def ask(self) -> None:
        """Make the next :meth:`check` raise; from any thread."""
        self._asked.set()

    def check(self) -> None:
        """Raise TimeoutError or FlowEnded where the training must not go on."""
        if self._asked.is_set():
            raise FlowEndedError(SIGTERM)
        if threading.current_thread() is not threading.main_thread():
            handled = _handled_by_main_thread()
            if self._ends_the_flow(handled):
                raise FlowEndedError(SIGTERM) from handled
        if self._timeout_s is not None and self._passed_s > self._timeout_s + _TIMEOUT_SLACK_S:
            raise TimeoutError(f"timeout of {self._timeout_s:g} second(s) exceeded")

    def meaning(self, error: BaseException) -> tuple[Meaning, str]:
        """What it means that ``error`` ended the task, for the verdict: which stop, and why."""
        if self._timeout_s is not None and self._passed_s > self._timeout_s - _TIMEOUT_LEAD_S:
            return "timeout", f"its timeout of {self._timeout_s:g} s was over"
        told = (error, error.__cause__, _handled_by_main_thread())
        if any(isinstance(one, KeyboardInterrupt) for one in told):
            return "cancelled", "its flow was interrupted (SIGINT)"
        if _is_cancelled_by_runner():
            return "cancelled", "its flow run was cancelled"
        if any(type(one) is TerminationSignal for one in told):
            return "preempted", "its flow was told to end (SIGTERM)"
        if isinstance(error, FlowEndedError | CancelledError):
            return "cancelled", "nobody waited for it any more"
        return "cancelled", f"its task was ended by {type(error).__name__}"

    @property
    def left_s(self) -> float | None:
        """Until the task's time is over; None where it has no limit."""
        if self._timeout_s is None:
            return None
        return max(0.0, self._timeout_s - _TIMEOUT_LEAD_S - self._passed_s)

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._began

    def _ends_the_flow(self, handled: BaseException | None) -> bool:
        if not isinstance(handled, CancelledError):
            self._cancelled_looks = 0
            return handled is not None and not isinstance(handled, Exception | GeneratorExit)
        self._cancelled_looks += 1
        return self._cancelled_looks >= _CANCELLED_LOOKS


def _is_cancelled_by_runner() -> bool:
    """True when a runner said so before its SIGTERM; only Prefect's own listener is told.

    It is private and newer than the oldest Prefect that we support.  Without it a cancellation
    passes for what its signal says; nothing but a word of the verdict hangs on it.
    """
    listener = sys.modules.get("prefect._internal.control_listener")
    get_intent = getattr(listener, "get_intent", None)
    return get_intent is not None and get_intent() == "cancel"


def _handled_by_main_thread() -> BaseException | None:
    handled = sys._current_exceptions()  # noqa: SLF001 - documented, as its siblings are
    found = handled.get(threading.main_thread().ident or 0)
    # Python 3.11 gives what sys.exc_info() gives, later ones the exception.
    return found[1] if isinstance(found, tuple) else found
