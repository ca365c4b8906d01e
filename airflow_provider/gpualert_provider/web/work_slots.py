"""Limits for work that takes long: how much of it is done at once, and how long it is awaited."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class NoFreeSlotError(Exception):
    """All slots are taken by work that goes on."""


class WorkSlots:
    """Runs work in threads of its own, at most ``count`` at once.

    Work that hangs, as on a disk that does not answer, keeps its slot until it ends.  The threads
    are daemons, so that it does not block the exit of the process.
    """

    def __init__(self, count: int, *, wait_s: float, deadline_s: float) -> None:
        self._count = count
        self._wait_s = wait_s
        self._deadline_s = deadline_s
        self._free = threading.BoundedSemaphore(count)
        self._lock = threading.Lock()
        self._late: list[Future[Any]] = []

    def run(self, work: Callable[[], Result]) -> Result:
        """Return the value of *work*, or raise its exception.

        Raises NoFreeSlotError when no slot becomes free in ``wait_s``, and TimeoutError when the
        work is not done after ``deadline_s``, or when such work has all slots.
        """
        if self._is_stuck() or not self._free.acquire(timeout=self._wait_s):
            if self._is_stuck():
                raise TimeoutError("earlier work is not done")
            raise NoFreeSlotError
        future: Future[Result] = Future()
        try:
            threading.Thread(target=self._do, args=(work, future), daemon=True).start()
        except RuntimeError:  # no more threads
            self._free.release()
            raise
        try:
            return future.result(self._deadline_s)
        finally:
            if not future.done():
                with self._lock:
                    self._late.append(future)

    def _do(self, work: Callable[[], Any], future: Future[Any]) -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            future.set_exception(error)
        finally:
            self._free.release()

    def _is_stuck(self) -> bool:
        with self._lock:
            self._late = [one for one in self._late if not one.done()]
            return len(self._late) >= self._count


STORE_READS = WorkSlots(2, wait_s=3.0, deadline_s=20.0)
"""Limit for reports and verdicts that are read from outside of Airflow's database."""
