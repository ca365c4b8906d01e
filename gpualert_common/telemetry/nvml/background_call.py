"""Calls that may never come back, made by a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class BackgroundCall(Generic[Answer]):
    """A thread that does one thing whenever it is asked to, for one who can do without an answer.

    A call into a driver that hangs cannot be ended, not even by a signal; the thread is then left
    to itself, and goes with the process.
    """

    def __init__(self, work: Callable[[], Answer], name: str) -> None:
        self._work = work
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._answers: SimpleQueue[Answer | Exception] = SimpleQueue()
        self.asked_at: float | None = None
        """When it was asked for what it has not answered yet, by ``time.monotonic``."""
        threading.Thread(target=self._answer, name=name, daemon=True).start()

    def ask(self) -> None:
        """Ask for an answer, unless one is still owed."""
        if self.asked_at is None:
            self.asked_at = time.monotonic()
            self._asked.put(True)

    def wait(self, deadline: float) -> Answer:
        """The answer to the last question; raises what the work raised.

        Raises TimeoutError when it is not there by ``deadline``, which is of ``time.monotonic``.
        """
        try:
            answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise TimeoutError from None
        self.asked_at = None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """Let the thread go, at once or when its call comes back."""
        self._asked.put(False)

    def _answer(self) -> None:
        while self._asked.get():
            try:
                self._answers.put(self._work())
            except Exception as error:  # noqa: BLE001 - raised again where the answer is awaited
                self._answers.put(error)
