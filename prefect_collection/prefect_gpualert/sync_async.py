"""Methods and tasks that are called in synchronous code and awaited in an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from copy import copy
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

import anyio
from prefect import Task

from prefect_gpualert import suspicion
from prefect_gpualert.contexts import current
from prefect_gpualert.interrupts import Interrupts

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_interrupts: ContextVar[Interrupts] = ContextVar("interrupts")
"""The interrupts of an awaited call, in the thread that does its work."""


def in_event_loop() -> bool:
    """Return True if the caller awaits its results: in an event loop, but not in a sync flow."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    task, flow = current()
    if task is not None:
        return task.task.isasync
    return flow is None or flow.flow is None or flow.flow.isasync


def dispatches_to(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate a method: in an event loop it returns the coroutine of its *twin*."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (twin if in_event_loop() else method)(*args, **kwargs)

        return call

    return decorate


class SyncAsyncTask(Task[Parameters, Any]):
    """A task with a synchronous function; in an event loop a call returns a coroutine.

    ``.submit()`` and ``.map()`` run the function in threads.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As in Prefect's Task."""
        value_of = _itself if kwargs.get("return_state") else suspicion.unwrap_value
        if not in_event_loop():
            return value_of(super().__call__(*args, **kwargs))
        twin = copy(self)
        twin.fn, twin.isasync = _awaitable(self.fn), True
        return _then(Task.__call__(twin, *args, **kwargs), value_of)

    def with_options(self, **options: Any) -> SyncAsyncTask[Parameters]:
        """As in Prefect's Task."""
        other = copy(self)
        other.__dict__.update(super().with_options(**options).__dict__)
        return other


def _itself(result: Any) -> Any:
    return result


async def _then(coroutine: Coroutine[Any, Any, Any], value_of: Callable[[Any], Any]) -> Any:
    return value_of(await coroutine)


def _awaitable(function: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
    @functools.wraps(function)
    async def twin(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        return await run_in_thread(functools.partial(function, *args, **kwargs))

    return twin


def current_interrupts() -> Interrupts:
    """Return the interrupts of the current task or flow, in whichever thread it runs."""
    of_awaited_call = _interrupts.get(None)
    if of_awaited_call is not None:
        return of_awaited_call
    task, flow = current()
    limits = []
    if task is not None:
        limits.append((task.task.timeout_seconds, task.start_time))
    if flow is not None and flow.flow is not None:
        limits.append((flow.flow.timeout_seconds, flow.start_time))
    now = datetime.now(UTC)
    left = [(s, (now - at).total_seconds()) for s, at in limits if s is not None]
    if not left:
        return Interrupts(None)
    return Interrupts(*min(left, key=lambda one: one[0] - one[1]))


async def run_in_thread(work: Callable[[], Result], interrupts: Interrupts | None = None) -> Result:
    """Do the work in a thread.  A cancellation interrupts the work and waits for its end.

    ``interrupts`` are those that the work checks, where they outlive this call.
    """
    interrupts = interrupts or current_interrupts()
    context = copy_context()
    context.run(_interrupts.set, interrupts)
    # A new thread: the event loop has few, and a training occupies one for days.
    thread = ThreadPoolExecutor(1, thread_name_prefix="gpualert")
    working = asyncio.get_running_loop().run_in_executor(thread, context.run, work)
    try:
        return await asyncio.shield(working)
    except BaseException:
        interrupts.request()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([working])
        working.exception()  # retrieved, or the event loop logs an error
        raise
    finally:
        thread.shutdown(wait=False)
