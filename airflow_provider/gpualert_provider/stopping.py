"""A task that Airflow ends: on a person's word, or because its worker goes away.

Airflow sends SIGTERM for both.  What tells them apart is the state that the task has by then in
Airflow's own books: whoever marks or clears a task changes it, a drained worker does not.
"""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any, NamedTuple

from gpualert_provider.identity import name_among_states

if TYPE_CHECKING:
    from gpualert_common.guardian import RunHandle
    from gpualert_common.guardian.handle import Meaning

ANSWER_S = 1.5
"""How long Airflow may take to say; it kills the task's process five seconds after the signal."""


class StopReason(NamedTuple):
    """Why a training is stopped, to complete "it was stopped because ...", and what that means."""

    because: str
    meant_as: Meaning


ENDED = StopReason(
    "Airflow ended its task, on somebody's word or for a drained worker", "cancelled"
)
DRAINED = StopReason("the worker of its task was shut down", "preempted")


def stop(handle: RunHandle, ti: Any) -> None:
    """Stop the run of *handle* for the reason that Airflow's books give; returns at once.

    For a signal handler: what waits for the answer is a thread, started without any lock that the
    interrupted code could hold.
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
            answers.append(reason(ti))
        finally:
            answered.release()

    try:
        _thread.start_new_thread(ask, ())
        answered.acquire(timeout=ANSWER_S)
    except RuntimeError:
        pass
    _stop(handle, answers[0] if answers else ENDED)


def reason(ti: Any) -> StopReason:
    """What the task's state says about why it is ended.  Asks Airflow; raises nothing."""
    try:
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id])
        state = states[ti.run_id][name_among_states(ti)]
    except Exception:  # noqa: BLE001 - an answer that cannot be had, or is none
        return ENDED
    if state == "running":
        return DRAINED
    said = "it was cleared" if state in (None, "restarting") else f"it was set to {state}"
    return StopReason(f"its task was ended in Airflow: {said}", "cancelled")


def _stop(handle: RunHandle, why: StopReason) -> None:
    handle.stop(why.because, meant_as=why.meant_as)
