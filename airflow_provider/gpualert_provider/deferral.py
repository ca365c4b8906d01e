"""Deferral of a task: a trigger watches the run, and the worker is free."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from gpualert_common.errors import RecordError
from gpualert_provider import deferred_run

if TYPE_CHECKING:
    from gpualert_common.guardian import Attempt, RunHandle
    from gpualert_provider.execution import TaskExecution

RESUME = "take_back"
"""Name of the method that Airflow resumes; the operator's ``resume_execution`` handles it."""

LATE_S = 30.0
"""Time after the deadline of the trigger at which the scheduler ends the deferral."""

_POD = "AIRFLOW_IS_K8S_EXECUTOR_POD"
_TASK_PROCESS = b"airflow.sdk.execution_time.execute_workload"
"""A container whose first process is this one ends with the task, and all its processes do."""


def check_worker() -> None:
    """Raise AirflowFailException when no run on this worker can outlive its task."""
    if _ends_with_task():
        raise AirflowFailException(
            "deferrable=True: this container ends with the task, and the training would end "
            "with it; nothing was launched. Use deferrable=False, or an executor whose workers "
            "stay (Celery, Local)"
        )


def defer(execution: TaskExecution, handle: RunHandle, attempt: Attempt) -> None:
    """Raise TaskDeferred once the guardian has agreed; return when this worker must follow."""
    task = execution.task
    within_s = max(deferred_run.AWAY_S, execution.adopt_within_s)
    try:
        is_agreed = deferred_run.leave(handle.record, attempt, within_s)
    except (OSError, RecordError) as error:
        task.log.warning("The task cannot be deferred: %s", error)
        is_agreed = False
    if not is_agreed or execution.is_killed:
        return
    from gpualert_provider.triggers.gpualert import TrainingTrigger

    left_s = _left_s(task.execution_timeout)
    path = handle.record.path
    deadline = None if left_s is None else time.time() + left_s
    task.log.info("A trigger watches the run from now on; its log is %s", handle.log_path)
    handle.close()
    try:
        handle.record.renew_lease(attempt.owner)  # the handle has just ended it
    except OSError:
        pass  # the run then waits for its trigger without a lease
    task.defer(
        trigger=TrainingTrigger(path, attempt.owner, attempt.number, deadline),
        method_name=RESUME,
        timeout=None if left_s is None else timedelta(seconds=left_s + LATE_S),
    )


def _left_s(execution_timeout: timedelta | None) -> float | None:
    """Return the rest of the ``execution_timeout``; None when there is none."""
    if execution_timeout is None:
        return None
    if threading.current_thread() is threading.main_thread():
        left_s = signal.getitimer(signal.ITIMER_REAL)[0]
        if left_s:
            return left_s
    return execution_timeout.total_seconds()


def _ends_with_task() -> bool:
    """Return True in a container made for one task, such as a pod of KubernetesExecutor."""
    if os.environ.get(_POD):
        return True
    try:
        with open("/proc/1/cmdline", "rb") as file:
            return _TASK_PROCESS in file.read()
    except OSError:
        return False
