"""Blocking work in a thread of its own, awaited in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_in_daemon_thread(work: Callable[[], Result]) -> asyncio.Future[Result]:
    """Return the future result of *work*, or the exception that it raises.

    The thread is a daemon: work that hangs on a disk blocks neither another thread, nor the event
    loop, nor the exit of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def set_once(setter: Callable[[Any], None], value: object) -> None:
        if not future.done():
            setter(value)

    def call() -> None:
        try:
            answer = (future.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            answer = (future.set_exception, error)  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(set_once, *answer)
        except RuntimeError:
            pass  # the loop is closed

    threading.Thread(target=call, daemon=True).start()
    return future
