"""The part of GPUAlertOperator that leaves its training to a trigger, and takes it back."""

from __future__ import annotations

import os
import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
)
from airflow.providers.standard.operators.bash import BashOperator

from gpualert_common.errors import GPUAlertError, RecordError, SupersededError
from gpualert_common.guardian import RunHandle
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.processes.host import host_name
from gpualert_common.recover import is_far
from gpualert_common.settings import load_settings
from gpualert_provider import deferred_run
from gpualert_provider.working_directory import WorkingDirectory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.providers.standard.hooks.subprocess import SubprocessResult

    from gpualert_common.api import RunResult
    from gpualert_common.guardian import Attempt
    from gpualert_common.spec import RunSpec
    from gpualert_provider.retries import Retries

RESUME = "take_back"
"""The method that Airflow is told to resume; :meth:`DeferrableOperator.resume_execution` is it."""

FAILED = "__fail__"
"""What Airflow says in its place when the trigger failed, or was not heard of in time."""

LATE_S = 30.0
"""So long after the trigger should have told that the time is over, the scheduler does it."""

_POD = "AIRFLOW_IS_K8S_EXECUTOR_POD"
_TASK_IS_ALL = b"airflow.sdk.execution_time.execute_workload"
"""A container with this as its first process ends with the task, and so does all that is in it."""


class DeferrableOperator(BashOperator):
    """Frees the worker while the guardian runs the training; what is kept is kept in the record."""

    deferrable = False
    command: Sequence[str] | None
    adopt_within: timedelta | float | None
    _killed: bool
    _leftovers: list[WorkingDirectory]
    _retries: Retries

    # -- leaving it ------------------------------------------------------------------------

    def _make_way(self, spec: RunSpec, attempt: Attempt) -> None:
        """End what a cleared attempt left; raise AirflowFailException where nothing can be left."""
        deferred_run.end_forsaken(attempt.key, attempt.number, spec.state_dir, self.log.info)
        if self.deferrable and ends_with_its_task():
            raise AirflowFailException(
                "deferrable=True: this container ends with the task, and the training would end "
                "with it; nothing was launched. Use deferrable=False, or an executor whose workers "
                "stay (Celery, Local)"
            )

    def _leave(self, handle: RunHandle, attempt: Attempt) -> None:
        """Raise TaskDeferred once the guardian has agreed; return when somebody must follow it."""
        if not self.deferrable:
            return
        within_s = max(deferred_run.AWAY_S, self._retries.adopt_within_s(self.adopt_within))
        try:
            agreed = deferred_run.leave(handle.record, attempt, within_s)
        except (OSError, RecordError) as error:
            self.log.warning("The training cannot be left to a trigger: %s", error)
            agreed = False
        if not agreed or self._killed:
            return
        from gpualert_provider.triggers.gpualert import TrainingTrigger

        left_s = self._left_s()
        path = handle.record.path
        deadline = None if left_s is None else time.time() + left_s
        self.log.info("A trigger watches the run from here; its log is %s", handle.log_path)
        handle.close()
        try:
            handle.record.renew_lease(attempt.owner)  # the one that just ended
        except OSError:
            pass  # then the run waits for its trigger without one
        self.defer(
            trigger=TrainingTrigger(path, attempt.owner, attempt.number, deadline),
            method_name=RESUME,
            timeout=None if left_s is None else timedelta(seconds=left_s + LATE_S),
        )

    def _left_s(self) -> float | None:
        """What is left of the ``execution_timeout``; None: there is none."""
        if self.execution_timeout is None:
            return None
        if threading.current_thread() is threading.main_thread():
            left_s = signal.getitimer(signal.ITIMER_REAL)[0]
            if left_s:
                return left_s
        limit_s: float = self.execution_timeout.total_seconds()
        return limit_s

    # -- taking it back --------------------------------------------------------------------

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context
    ) -> Any:
        """As BaseOperator's; the training is judged, or ended where it still lives."""
        resume = partial(super().resume_execution, next_method, next_kwargs)
        if next_method not in (RESUME, FAILED):
            return resume(context)  # a deferral of a subclass
        event = (next_kwargs or {}).get("event") if next_method == RESUME else None
        failed = resume if next_method == FAILED else None
        return self._accounted(partial(self._take_back, event or {}, failed), context)

    def _take_back(
        self, event: dict[str, Any], failed: Callable[[Context], Any] | None, context: Context
    ) -> Any:
        handle = self._find(event, failed, context)
        spec = handle.record.spec
        place = self._place_of(spec)
        try:
            self._know_secrets(spec)
            if handle.record.ending is None:
                self._say_why(event, failed, context)
            result = self._follow(handle)
            self._leftovers.append(place)
        except (SupersededError, BrokenPipeError):  # as where it was launched
            raise
        except BaseException as error:
            self._give_up(error, place, spec.get("grace_s") or 0.0)
            raise
        judged = self._judged(result)
        if judged.exit_code in self.skip_on_exit_code:
            raise AirflowSkipException(
                f"Bash command returned exit code {judged.exit_code}. Skipping."
            )
        return self.output_processor(judged.output)

    def _find(
        self, event: dict[str, Any], failed: Callable[[Context], Any] | None, context: Context
    ) -> RunHandle:
        """The run that this attempt left, its lease kept from now on."""
        attempt = self._attempt("")
        state_dir = load_settings()["state_dir"].value
        try:
            left = deferred_run.find(event.get("record"), attempt.key, attempt.number, state_dir)
            problem = "no run of this attempt is known there"
        except (GPUAlertError, OSError) as error:
            left, problem = None, str(error)
        if left is None:
            if failed is not None:
                failed(context)  # raises
            raise AirflowFailException(_not_shared(event, f"{host_name()}: {problem}"))
        record, owner, _number = left
        agreed = (record.spec.get("custody") or {}).get("fingerprint")
        attempt = replace(attempt, owner=owner, fingerprint=agreed)
        guardian = 0 if is_far(record) else record.spec.get("supervisor_pid", 0)
        handle = RunHandle(record, "taken back", attempt, LeaseRenewer(record, attempt, guardian))
        self._made(handle)
        return handle

    def _say_why(
        self, event: dict[str, Any], failed: Callable[[Context], Any] | None, context: Context
    ) -> None:
        """Raise what a run that still lives has to be ended for."""
        if failed is not None:
            try:
                failed(context)
            except AirflowException as error:
                if type(error).__name__ == "TaskDeferralTimeout":
                    raise AirflowTaskTimeout(f"Timeout, PID: {os.getpid()}") from error
                raise
        if event.get("what") == "timeout":
            raise AirflowTaskTimeout(f"Timeout, PID: {os.getpid()}")
        if event.get("what") == "unseen":
            raise AirflowFailException(
                _not_shared(event, f"{event.get('host')}: {event.get('problem')}")
            )

    def _know_secrets(self, spec: dict[str, Any]) -> None:
        """What the alerts may need if their guardian died; without it they are left to others."""
        try:
            self._spec(spec["command"], {}, None)
        except (GPUAlertError, ValueError, TypeError) as error:
            self.log.warning("The channels of the alerts cannot be had: %s", error)

    def _place_of(self, spec: dict[str, Any]) -> WorkingDirectory:
        """Where the run of this task worked, and whether that was made for it."""
        command = spec["command"]
        script = None
        if self.command is None and len(command) == 2:
            script = command[-1]
        return WorkingDirectory(spec["cwd"], self.cwd is None, script)

    # -- what the operator itself does -----------------------------------------------------

    @abstractmethod
    def _accounted(self, work: Callable[[Context], Any], context: Context) -> Any: ...

    @abstractmethod
    def _attempt(self, same: str) -> Attempt: ...

    @abstractmethod
    def _made(self, handle: RunHandle) -> None: ...

    @abstractmethod
    def _spec(self, command: list[str], env: Mapping[str, str], cwd: str | None) -> RunSpec: ...

    @abstractmethod
    def _follow(self, handle: RunHandle) -> RunResult: ...

    @abstractmethod
    def _give_up(self, error: BaseException, place: WorkingDirectory, grace_s: float) -> None: ...

    @abstractmethod
    def _judged(self, result: RunResult) -> SubprocessResult: ...


def ends_with_its_task() -> bool:
    """True in a container that was made for one task, as the pods of KubernetesExecutor are."""
    if os.environ.get(_POD):
        return True
    try:
        with open("/proc/1/cmdline", "rb") as file:
            return _TASK_IS_ALL in file.read()
    except OSError:
        return False


def _not_shared(event: dict[str, Any], who: str) -> str:
    return (
        f"deferrable=True: the record of the training, {event.get('record', 'in another place')}, "
        f"could not be read where it was needed ({who}). Its state directory must be shared by "
        "workers and triggerers, on a disk that both see under one name: set GPUALERT_STATE_DIR "
        "to such a directory for all of them, or use deferrable=False"
    )
