"""Calls that may never come back, made by a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """A thread that does one thing whenever it is asked to, for one who can do without an result.

    A call into a driver that hangs cannot be ended, not even by a signal; the thread is then left
    to itself, and goes with the process.
    """

    def __init__(self, work: Callable[[], Result], name: str) -> None:
        self._work = work
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._results: SimpleQueue[Result | Exception] = SimpleQueue()
        self.requested_at: float | None = None
        """When it was asked for what it has not answered yet, by ``time.monotonic``."""
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def request(self) -> None:
        """Ask for an result, unless one is still owed."""
        if self.requested_at is None:
            self.requested_at = time.monotonic()
            self._requests.put(True)

    def wait(self, deadline: float) -> Result:
        """The result to the last question; raises what the work raised.

        Raises TimeoutError when it is not there by ``deadline``, which is of ``time.monotonic``.
        """
        try:
            result = self._results.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise TimeoutError from None
        self.requested_at = None
        if isinstance(result, Exception):
            raise result
        return result

    def stop(self) -> None:
        """Let the thread go, at once or when its call comes back."""
        self._requests.put(False)

    def _serve(self) -> None:
        while self._requests.get():
            try:
                self._results.put(self._work())
            except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
                self._results.put(error)
