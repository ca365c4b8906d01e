"""Stop of a run whose task Airflow ends: at a user's request, or because its worker shuts down.

Airflow sends SIGTERM in both cases.  The state of the task in Airflow's database distinguishes
them: a user who marks or clears the task has changed it, a worker that shuts down has not.
"""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any, NamedTuple

from gpualert_provider.identity import make_state_key
from gpualert_provider.next_attempt import SCHEDULING_SLACK_S
from gpualert_provider.task_outcome import TaskOutcome, describe_change, find_outcome

if TYPE_CHECKING:
    from gpualert_common.guardian import RunHandle
    from gpualert_common.guardian.handle import StopKind

ANSWER_S = 1.5
"""Limit for Airflow's answer; Airflow kills the task's process five seconds after the signal."""


class StopReason(NamedTuple):
    """Reason of a stop, which completes "it was stopped because ...", and its disposition.

    ``outcome`` is that of the task where its new state in Airflow decides it.
    """

    because: str
    meant_as: StopKind
    outcome: TaskOutcome | None = None


ENDED = StopReason(
    "Airflow ended its task, at a user's request or for a drained worker", "cancelled"
)
DRAINED = StopReason("the worker of its task was shut down", "preempted")


class TaskStop:
    """Stop of the run of *handle*, for the reason that Airflow's database gives.

    ``outcome`` is the task's where Airflow has it: it is recorded at once, since Airflow may kill
    this process before the run has ended.  Safe in a signal handler: a thread waits for the answer.
    It is started without any lock that the interrupted code could hold.
    """

    def __init__(self, handle: RunHandle, ti: Any) -> None:
        self.outcome: TaskOutcome | None = None
        self._handle = handle
        self._ti = ti
        self._answers: list[StopReason] = []
        self._answered = _thread.allocate_lock()
        self._answered.acquire()
        try:
            _thread.start_new_thread(self._ask_and_stop, ())
        except RuntimeError:
            self._stop(ENDED)

    def _ask_and_stop(self) -> None:
        try:
            _thread.start_new_thread(self._ask, ())
            self._answered.acquire(timeout=ANSWER_S)
        except RuntimeError:
            pass
        self._stop(self._answers[0] if self._answers else ENDED)

    def _ask(self) -> None:
        try:
            reason = find_reason(self._ti)
            self._answers.append(reason)
            self.outcome = reason.outcome
        finally:
            self._answered.release()
        if self.outcome is not None:
            state, within_s = self.outcome
            self._handle.record_outcome(state, final=self.outcome.is_final, next_within_s=within_s)

    def _stop(self, why: StopReason) -> None:
        self._handle.stop(why.because, meant_as=why.meant_as)


def find_reason(ti: Any) -> StopReason:
    """Return the reason that the task's state shows.  Asks Airflow; raises nothing."""
    try:
        state = find_state(ti)
    except Exception:  # noqa: BLE001 - Airflow failed, or its answer lacks the task
        return ENDED
    if state == "running":
        return DRAINED
    because = f"its task was ended in Airflow: {describe_change(state)}"
    return StopReason(because, "cancelled", find_outcome(state, SCHEDULING_SLACK_S))


def find_state(ti: Any) -> str | None:
    """Return the state of the task in Airflow's database; may raise anything."""
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id])
    state = states[ti.run_id][make_state_key(ti)]
    return None if state is None else str(state)
