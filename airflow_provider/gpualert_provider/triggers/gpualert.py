"""The trigger of a deferred task: it renews the lease of the run, and fires at its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from gpualert_common.errors import RecordError
from gpualert_common.processes.host import host_name
from gpualert_provider import deferred_run
from gpualert_provider.daemon_thread import run_in_daemon_thread
from gpualert_provider.deferred_run import DeferredRunState, ResumeReason
from gpualert_provider.identity import make_state_key

SAMPLE_INTERVAL_S = 2.0
"""Many samples fit into a lease; and a triggerer may have a thousand triggers."""

DISK_S = 10.0
"""A slower sample is awaited, and no other one starts meanwhile."""

UNSEEN_S = 30.0
"""Time after which a new directory is visible on another host."""

ANSWER_S = 300.0
"""Limit for Airflow's answer about the state of the task; a busy triggerer takes a minute."""

ASK_AGAIN_S = 10.0
"""Pause after an answer that is an error; shorter than a lease."""

_unfinished: set[asyncio.Future[None]] = set()
"""References to work that goes on; an event loop keeps none."""

HAS_ON_KILL = hasattr(BaseTrigger, "on_kill")
"""From Airflow 3.3 on a trigger is notified when its task is ended; before, it has to ask."""


class TrainingTrigger(BaseTrigger):
    """Represents an attempt whose training runs without a worker.

    Fires once.  ``what`` in its payload is "ended", "lost" (the guardian died), "timeout" or
    "unseen" (the record cannot be read on this host).  It stops the training when a user marks or
    clears the task.  Several triggers may run for one task: all renew the same lease.

    :param record: path of the run's record.
    :param owner: name of the attempt that owns the run.
    :param number: number of that attempt.
    :param deadline: end of the task's ``execution_timeout``, in seconds since the epoch.
    """

    def __init__(self, record: str, owner: str, number: int, deadline: float | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self.owner = owner
        self.number = number
        self.deadline = deadline
        self._has_fired = False
        self._sampling: asyncio.Future[DeferredRunState] | None = None
        self._last_read = time.monotonic()
        self._beat = (0, time.monotonic())

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and the arguments, from which another triggerer makes this trigger."""
        names = ("record", "owner", "number", "deadline")
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}", {
            name: getattr(self, name) for name in names
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event, when the task needs a worker again."""
        self.log.info("Keeping the lease of the run at %s", self.record)
        self._last_read = time.monotonic()
        while True:
            state = await self._sample()
            reason = self._resume_reason(state)
            if reason is not None:
                self._has_fired = True
                yield self._event(reason, "" if state is None else state.problem)
                return
            await asyncio.sleep(SAMPLE_INTERVAL_S)

    async def on_kill(self) -> None:
        """Stop the training if a user ended the task; not if another triggerer took it over."""
        await _shield(self._stop_if_ended())

    async def cleanup(self) -> None:
        """Do the same before Airflow 3.3, where any end of a trigger may mean that."""
        if not HAS_ON_KILL and not self._has_fired:
            await _shield(self._stop_if_ended())

    def _event(self, reason: ResumeReason, problem: str) -> TriggerEvent:
        payload = {
            "what": reason.value,
            "record": self.record,
            "host": host_name(),
            "problem": problem,
        }
        return TriggerEvent(payload)  # type: ignore[no-untyped-call]

    # -- the state of the run --------------------------------------------------------------

    async def _sample(self) -> DeferredRunState | None:
        """Return the state of the run; None while the disk does not answer or fails."""
        if self._sampling is None:
            self._sampling = run_in_daemon_thread(
                lambda: deferred_run.sample(self.record, self.owner)
            )
        done, _ = await asyncio.wait((self._sampling,), timeout=DISK_S)
        if not done:
            return None
        sampled, self._sampling = self._sampling, None
        try:
            return sampled.result()
        except OSError as error:
            self.log.warning("The record %s cannot be read: %s", self.record, error)
            return None

    def _resume_reason(self, state: DeferredRunState | None) -> ResumeReason | None:
        """Return the reason for which the task needs a worker; None while it needs none."""
        now = time.monotonic()
        found = None if state is None else state.reason
        if found in (ResumeReason.ENDED, ResumeReason.LOST):
            return found
        if self._is_late():
            return ResumeReason.TIMEOUT
        if state is None:
            return None
        if found is ResumeReason.UNSEEN:
            return found if now - self._last_read > UNSEEN_S else None
        self._last_read = now
        if state.silent_s:
            beat, since = self._beat
            if beat != state.beat:
                self._beat = (state.beat, now)
            elif now - since > state.silent_s:
                return ResumeReason.LOST
        return None

    def _is_late(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    # -- a task that a user ended ----------------------------------------------------------

    async def _stop_if_ended(self) -> None:
        """Stop the training if Airflow's database says that the task is no longer deferred.

        A task that is still deferred has another triggerer or gets one.  A worker ends a task whose
        deadline has passed.  When Airflow never answers, the training goes on: without a trigger
        the guardian stops it in time.
        """
        if self._is_late():
            return
        try:
            state = await asyncio.wait_for(self._ask_task_state(), ANSWER_S)
        except TimeoutError:
            self.log.warning("The state of the task is not known: no answer in %g s", ANSWER_S)
            return
        if state == "deferred":
            return
        stopping = run_in_daemon_thread(
            lambda: deferred_run.stop(self.record, self.owner, self.number, state)
        )
        try:
            if await asyncio.wait_for(stopping, DISK_S):
                self.log.info("Stopping the training, since its task is %s", state or "cleared")
        except (RecordError, OSError) as error:
            self.log.warning("The training cannot be stopped: %s", error)

    async def _ask_task_state(self) -> str | None:
        """Return the task's state as soon as Airflow answers; keep the lease until then."""
        while True:
            asking = asyncio.ensure_future(self._get_task_state())
            try:
                while not (await asyncio.wait((asking,), timeout=SAMPLE_INTERVAL_S))[0]:
                    await self._sample()
                return asking.result()
            except Exception as error:  # noqa: BLE001 - Airflow may fail in any way
                self.log.info("Airflow is asked again for the state of the task: %r", error)
            finally:
                asking.cancel()
            await asyncio.sleep(ASK_AGAIN_S)

    async def _get_task_state(self) -> str | None:
        """Return the task's state in Airflow's database; None for a task without one."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
        from asgiref.sync import sync_to_async

        ti: Any = self.task_instance
        ask = sync_to_async(RuntimeTaskInstance.get_task_states)
        states = await ask(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id])
        state = states.get(ti.run_id, {}).get(make_state_key(ti))
        return None if state is None else str(state)


async def _shield(work: Coroutine[Any, Any, None]) -> None:
    """Await *work*, which goes on when its caller is cancelled.

    A triggerer cancels a trigger again each second until it is gone, its ``on_kill`` included.
    """
    task = asyncio.ensure_future(work)
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    await asyncio.shield(task)
