"""Calls that may hang, made by a separate thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """A thread that makes one call on request, for a caller that can continue without the result.

    Nothing can end a call into a driver that hangs, not even a signal.  Such a thread is abandoned
    and ends with the process.
    """

    def __init__(self, work: Callable[[], Result], name: str) -> None:
        self._work = work
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._results: SimpleQueue[Result | Exception] = SimpleQueue()
        self.requested_at: float | None = None
        """Time of the request without a result, by ``time.monotonic``; None if there is none."""
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def request(self) -> None:
        """Request a call, unless one is in progress."""
        if self.requested_at is None:
            self.requested_at = time.monotonic()
            self._requests.put(True)

    def wait(self, deadline: float) -> Result:
        """Return the result of the last request; raise the error of the call.

        Raises TimeoutError if there is no result by ``deadline``, a time of ``time.monotonic``.
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
        """Stop the thread, at once or when its call returns."""
        self._requests.put(False)

    def _serve(self) -> None:
        while self._requests.get():
            try:
                self._results.put(self._work())
            except Exception as error:  # noqa: BLE001 - raised again by wait
                self._results.put(error)
