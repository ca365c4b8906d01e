"""The trigger that stands for a deferred task: it keeps the lease of its run, and sees it end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from gpualert_common.errors import RecordError
from gpualert_common.processes.host import host_name
from gpualert_provider import deferred_run
from gpualert_provider.identity import name_among_states

Result = TypeVar("Result")

LOOK_S = 2.0
"""Between two looks: many fit into a lease, and a triggerer may have a thousand of us."""

DISK_S = 10.0
"""A look that takes longer is waited for without another one beside it."""

UNSEEN_S = 30.0
"""A directory that was just made may be seen that late on another host."""

ANSWER_S = 20.0
"""How long Airflow may take to say what became of the task."""

_going_on: set[asyncio.Future[None]] = set()
"""An event loop alone does not keep them."""

TELLS_OF_KILLS = hasattr(BaseTrigger, "on_kill")
"""From Airflow 3.3 on a trigger hears that somebody ended its task; before, it has to ask."""


class TrainingTrigger(BaseTrigger):
    """Stands for an attempt whose training goes on without a worker.

    Fires once, with ``what`` in its payload: "ended", "lost" (its guardian died), "timeout" or
    "unseen" (no such record can be read here).  When somebody marks or clears the task, it ends the
    training.  Any number of us may run for one task: all renew the same lease.

    :param record: path of the run's record.
    :param owner: name of the attempt whose run it is.
    :param number: of that attempt.
    :param deadline: when the task has run for its ``execution_timeout``, in seconds since the
        epoch.
    """

    def __init__(self, record: str, owner: str, number: int, deadline: float | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self.owner = owner
        self.number = number
        self.deadline = deadline
        self._fired = False
        self._looking: asyncio.Future[deferred_run.DeferredRunState] | None = None
        self._seen_at = time.monotonic()
        self._beat = (0, time.monotonic())

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """What another triggerer makes the same trigger of."""
        names = ("record", "owner", "number", "deadline")
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}", {
            name: getattr(self, name) for name in names
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event, when the worker is needed again."""
        self.log.info("Keeping the lease of the run at %s", self.record)
        self._seen_at = time.monotonic()
        while True:
            seen = await self._look()
            what = self._what(seen)
            if what is not None:
                self._fired = True
                yield self._event(what, "" if seen is None else seen.problem)
                return
            await asyncio.sleep(LOOK_S)

    async def on_kill(self) -> None:
        """Somebody acted on the task, or it is another triggerer's now: end it, or leave it."""
        await _to_its_end(self._end_if_killed())

    async def cleanup(self) -> None:
        """Where Airflow does not tell of kills, every end of a trigger may have been one."""
        if not TELLS_OF_KILLS and not self._fired:
            await _to_its_end(self._end_if_killed())

    def _event(self, what: str, problem: str) -> TriggerEvent:
        host = host_name()
        payload = {"what": what, "record": self.record, "host": host, "problem": problem}
        return TriggerEvent(payload)  # type: ignore[no-untyped-call]

    # -- what is seen ----------------------------------------------------------------------

    async def _look(self) -> deferred_run.DeferredRunState | None:
        """What a look shows; None while the disk does not answer, or not well."""
        if self._looking is None:
            self._looking = in_thread(lambda: deferred_run.look(self.record, self.owner))
        done, _ = await asyncio.wait((self._looking,), timeout=DISK_S)
        if not done:
            return None
        looked, self._looking = self._looking, None
        try:
            return looked.result()
        except OSError as error:
            self.log.warning("The record %s could not be looked at: %s", self.record, error)
            return None

    def _what(self, seen: deferred_run.DeferredRunState | None) -> str | None:
        """Why the worker is needed, or None."""
        now = time.monotonic()
        if seen is not None and seen.state in ("ended", "lost"):
            return seen.state
        if self._is_late():
            return "timeout"
        if seen is None:
            return None
        if seen.state == "unseen":
            return "unseen" if now - self._seen_at > UNSEEN_S else None
        self._seen_at = now
        if seen.silent_s:
            beat, since = self._beat
            if beat != seen.beat:
                self._beat = (seen.beat, now)
            elif now - since > seen.silent_s:
                return "lost"
        return None

    def _is_late(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    # -- a task that somebody ended --------------------------------------------------------

    async def _end_if_killed(self) -> None:
        """End the training if Airflow's books say that nobody waits for it any more.

        A task that is still deferred has another triggerer, or will have; one whose time is over
        has a worker that ends it.  Where Airflow does not say, nothing is ended by us: without a
        trigger the guardian does it in time.
        """
        if self._is_late():
            return
        try:
            state = await asyncio.wait_for(self._state(), ANSWER_S)
        except Exception as error:  # noqa: BLE001 - an answer that cannot be had
            self.log.warning("What became of the task is not known: %r", error)
            return
        if state == "deferred":
            return
        ending = in_thread(lambda: deferred_run.end(self.record, self.owner, self.number, state))
        try:
            if await asyncio.wait_for(ending, DISK_S):
                self.log.info("The training is ended, since its task is %s", state or "cleared")
        except (RecordError, OSError) as error:
            self.log.warning("The training could not be ended: %s", error)

    async def _state(self) -> str | None:
        """The task's state in Airflow's books; None: it has none."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
        from asgiref.sync import sync_to_async

        ti: Any = self.task_instance
        ask = sync_to_async(RuntimeTaskInstance.get_task_states)
        states = await ask(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id])
        state = states.get(ti.run_id, {}).get(name_among_states(ti))
        return None if state is None else str(state)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await *work*, which goes on when whoever awaits it is cancelled.

    A triggerer cancels a trigger again each second until it is gone, its ``on_kill`` included.
    """
    task = asyncio.ensure_future(work)
    _going_on.add(task)
    task.add_done_callback(_going_on.discard)
    await asyncio.shield(task)


def in_thread(work: Callable[[], Result]) -> asyncio.Future[Result]:
    """What *work* returns or raises, from a thread of its own.

    One that hangs on a disk keeps no other thread, no event loop and no exit of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: object) -> None:
        if not future.done():
            set_it(value)

    def act() -> None:
        try:
            answer = (future.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            answer = (future.set_exception, error)  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(settle, *answer)
        except RuntimeError:
            pass  # the loop is closed, and nobody waits any more

    threading.Thread(target=act, daemon=True).start()
    return future
