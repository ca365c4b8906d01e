"""One name for callers in an event loop and for all others, as Prefect's own blocks have it."""

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

_awaited: ContextVar[Interrupts] = ContextVar("awaited")
"""Set in the thread of something that is awaited, which may be interrupted from outside."""


def in_event_loop() -> bool:
    """True where a caller awaits what it is given: in an event loop, and in no sync flow there."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    task, flow = current()
    if task is not None:
        return task.task.isasync
    return flow is None or flow.flow is None or flow.flow.isasync


def dispatches_to(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """In an event loop the method gives what its twin does, to be awaited."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (twin if in_event_loop() else method)(*args, **kwargs)

        return call

    return decorate


class EitherTask(Task[Parameters, Any]):
    """A task that gives its result, and in an event loop a coroutine; its function is a sync one.

    ``.submit()`` and ``.map()`` run that function in threads, whoever calls them.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a task's."""
        value_of = _itself if kwargs.get("return_state") else suspicion.value_of
        if not in_event_loop():
            return value_of(super().__call__(*args, **kwargs))
        twin = copy(self)
        twin.fn, twin.isasync = _awaitable(self.fn), True
        return _then(Task.__call__(twin, *args, **kwargs), value_of)

    def with_options(self, **options: Any) -> EitherTask[Parameters]:
        """As a task's."""
        other = copy(self)
        other.__dict__.update(super().with_options(**options).__dict__)
        return other


def _itself(result: Any) -> Any:
    return result


async def _then(coroutine: Coroutine[Any, Any, Any], value_of: Callable[[Any], Any]) -> Any:
    return value_of(await coroutine)


def _awaitable(function: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
    @functools.wraps(function)
    async def awaited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        return await in_thread(functools.partial(function, *args, **kwargs))

    return awaited


def interrupts() -> Interrupts:
    """What may end the training of the current task, from wherever that is called."""
    awaited = _awaited.get(None)
    if awaited is not None:
        return awaited
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


async def in_thread(work: Callable[[], Result], asked: Interrupts | None = None) -> Result:
    """Do the work in a thread; a cancellation interrupts it, and waits for what it does then.

    ``asked`` is what the work looks at, where that lasts longer than this call.
    """
    asked = asked or interrupts()
    context = copy_context()
    context.run(_awaited.set, asked)
    # A thread of its own: the loop's are few, and a training holds one for days.
    thread = ThreadPoolExecutor(1, thread_name_prefix="gpualert")
    working = asyncio.get_running_loop().run_in_executor(thread, context.run, work)
    try:
        return await asyncio.shield(working)
    except BaseException:
        asked.ask()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([working])
        working.exception()  # looked at, or the loop complains
        raise
    finally:
        thread.shutdown(wait=False)
