"""Resumption of a deferred task: its worker takes the run back from the trigger."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowTaskTimeout,
)

from gpualert_common.errors import ConfigError, GPUAlertError
from gpualert_common.guardian import RunHandle
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.processes.host import host_name
from gpualert_common.recover import is_remote
from gpualert_common.settings import load_settings
from gpualert_common.structs import Struct, replace
from gpualert_provider import deferred_run
from gpualert_provider.deferral import RESUME
from gpualert_provider.deferred_run import ResumeReason

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from gpualert_provider.execution import TaskExecution

FAILED = "__fail__"
"""Name of the method that Airflow resumes when the trigger failed or its time was over."""


class Resumption(Struct, frozen=True):
    """The reason for which Airflow resumes a deferred task.

    ``event`` is the payload of the trigger.  ``fail``, where Airflow resumes the task in order to
    fail it, raises Airflow's error.
    """

    event: Mapping[str, Any]
    fail: Callable[[Context], Any] | None = None

    @classmethod
    def of(
        cls,
        method: str,
        arguments: Mapping[str, Any] | None,
        resume: Callable[[Context], Any],
    ) -> Resumption | None:
        """Return the resumption that Airflow asks for; None for a deferral of a subclass.

        ``resume`` is BaseOperator's own way to resume the method with its arguments.
        """
        if method == FAILED:
            return cls({}, resume)
        return cls((arguments or {}).get("event") or {}) if method == RESUME else None

    def take_run(self, execution: TaskExecution, context: Context) -> RunHandle:
        """Return the run that this attempt left; from now on this process renews its lease."""
        attempt = execution.make_attempt("")
        try:
            state_dir = load_settings()["state_dir"].value
        except ConfigError:
            state_dir = None  # the trigger's event has the path
        try:
            path = self.event.get("record")
            left = deferred_run.find(path, attempt.key, attempt.number, state_dir)
            problem = "no run of this attempt is known there"
        except (GPUAlertError, OSError) as error:
            left, problem = None, str(error)
        if left is None:
            if self.fail is not None:
                self.fail(context)  # raises
            raise self._not_shared(f"{host_name()}: {problem}")
        record = left.record
        agreed = record.spec.owner.get("fingerprint")
        attempt = replace(attempt, owner=left.owner, fingerprint=agreed)
        guardian = 0 if is_remote(record) else record.spec.supervisor_pid
        handle = RunHandle(record, "taken back", attempt, LeaseRenewer(record, attempt, guardian))
        execution.hold(handle)
        return handle

    def check(self, context: Context) -> None:
        """Raise the error for which a run that has not ended must be stopped, if there is one."""
        if self.fail is not None:
            try:
                self.fail(context)
            except AirflowException as error:
                if type(error).__name__ == "TaskDeferralTimeout":
                    raise _timeout() from error
                raise
        reason = self.event.get("what")
        if reason == ResumeReason.TIMEOUT:
            raise _timeout()
        if reason == ResumeReason.UNSEEN:
            raise self._not_shared(f"{self.event.get('host')}: {self.event.get('problem')}")

    def _not_shared(self, problem: str) -> AirflowFailException:
        return AirflowFailException(
            "deferrable=True: the record of the training, "
            f"{self.event.get('record', 'in another place')}, could not be read where it was "
            f"needed ({problem}). Its state directory must be shared by workers and triggerers, on "
            "a disk that is mounted at the same path on all of them: set GPUALERT_STATE_DIR to "
            "such a directory for all of them, or use deferrable=False"
        )


def _timeout() -> AirflowTaskTimeout:
    return AirflowTaskTimeout(f"Timeout, PID: {os.getpid()}")
