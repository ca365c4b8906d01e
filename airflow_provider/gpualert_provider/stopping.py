"""Stop of a run whose task Airflow ends: at a user's request, or because its worker shuts down.

Airflow sends SIGTERM in both cases.  The state of the task in Airflow's database distinguishes
them: a user who marks or clears the task has changed it, a worker that shuts down has not.
"""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any, NamedTuple

from gpualert_provider.identity import make_state_key

if TYPE_CHECKING:
    from gpualert_common.guardian import RunHandle
    from gpualert_common.guardian.handle import StopKind

ANSWER_S = 1.5
"""Limit for Airflow's answer; Airflow kills the task's process five seconds after the signal."""


class StopReason(NamedTuple):
    """Reason of a stop, which completes "it was stopped because ...", and its disposition."""

    because: str
    meant_as: StopKind


ENDED = StopReason(
    "Airflow ended its task, at a user's request or for a drained worker", "cancelled"
)
DRAINED = StopReason("the worker of its task was shut down", "preempted")


def stop(handle: RunHandle, ti: Any) -> None:
    """Stop the run of *handle* for the reason that Airflow's database gives; return at once.

    Safe in a signal handler: a thread waits for the answer.  It is started without any lock that
    the interrupted code could hold.
    """
    try:
        _thread.start_new_thread(_ask_and_stop, (handle, ti))
    except RuntimeError:
        _stop(handle, ENDED)


def _ask_and_stop(handle: RunHandle, ti: Any) -> None:
    answers: list[StopReason] = []
    answered = _thread.allocate_lock()
    answered.acquire()

    def ask() -> None:
        try:
            answers.append(find_reason(ti))
        finally:
            answered.release()

    try:
        _thread.start_new_thread(ask, ())
        answered.acquire(timeout=ANSWER_S)
    except RuntimeError:
        pass
    _stop(handle, answers[0] if answers else ENDED)


def find_reason(ti: Any) -> StopReason:
    """Return the reason that the task's state shows.  Asks Airflow; raises nothing."""
    try:
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id])
        state = states[ti.run_id][make_state_key(ti)]
    except Exception:  # noqa: BLE001 - Airflow failed, or its answer lacks the task
        return ENDED
    if state == "running":
        return DRAINED
    change = "it was cleared" if state in (None, "restarting") else f"it was set to {state}"
    return StopReason(f"its task was ended in Airflow: {change}", "cancelled")


def _stop(handle: RunHandle, why: StopReason) -> None:
    handle.stop(why.because, meant_as=why.meant_as)
