"""One execution of a task on a worker: the run that it holds, and the report of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowSkipException,
    AirflowTaskTimeout,
    TaskDeferred,
)
from airflow.providers.standard.hooks.subprocess import SubprocessResult

from gpualert_common.errors import SupersededError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.engine_jobs import MOST_FOLLOWERS
from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.guardian.job_cancellation import cancel_left_job, is_job_left
from gpualert_common.suspicion import OnSuspect, choose_reaction
from gpualert_provider import alerts, report_store, task_state, xcom
from gpualert_provider.exceptions import (
    JobLeftError,
    TrainingTaskFailed,
    TrainingTaskFailedForGood,
    describe_verdict,
)
from gpualert_provider.identity import (
    describe_task,
    get_map_index,
    make_task_key,
    make_unique_key,
)
from gpualert_provider.next_attempt import Retries
from gpualert_provider.output import last_line
from gpualert_provider.stopping import TaskStop
from gpualert_provider.task_outcome import TaskOutcome
from gpualert_provider.timeout_signal import postpone_alarm_while_logging
from gpualert_provider.verdict_block import log_verdict

if TYPE_CHECKING:
    from datetime import timedelta

    from airflow.providers.common.compat.sdk import Context
    from airflow.providers.standard.operators.bash import BashOperator

    from gpualert_common.api import RunResult
    from gpualert_common.guardian.launcher import Prepare
    from gpualert_common.record import Record
    from gpualert_common.retries import RetryRules
    from gpualert_common.spec import RunSpec
    from gpualert_provider.working_directory import WorkingDirectory

STOP_SLACK_S = 30.0
"""Time that a stop may take beyond its grace period, verdict included."""

_LEAVES_RUN = (SupersededError, TaskDeferred, BrokenPipeError, JobLeftError)
"""Exceptions that end this execution and not its run.  A later attempt owns the run, or a trigger
watches it; after a BrokenPipeError the supervisor of this process is dead, and the next attempt
adopts the run; after a JobLeftError the next execution of this attempt does so with its job."""


class TaskExecution:
    """One execution of a task, from the call of its ``execute`` or its resumption to its end.

    ``handle`` is the run that it holds, None before the launch.  ``adopt_within`` is the author's
    limit for the next attempt.  ``has_logged_verdict`` is True when the task log ends with a
    verdict.  ``followers`` counts those of a job of Slurm, and ``left`` is the run of the last one
    that was killed.
    """

    def __init__(
        self,
        task: BashOperator,
        context: Context,
        rules: RetryRules | None,
        adopt_within: timedelta | float | None,
        on_suspect: OnSuspect,
        followers: int = 1,
        left: Record | None = None,
    ) -> None:
        self.task = task
        self.handle: RunHandle | None = None
        self.is_killed = False
        self.has_logged_verdict = False
        self.followers = followers
        self._left = left
        self._context = context
        self._retries = Retries(task, context, rules)
        self._adopt_within = adopt_within
        self._on_suspect = on_suspect
        self._directories: list[WorkingDirectory] = []
        self._is_launching = False
        self._stop: TaskStop | None = None
        self._stopped_by: BaseException | None = None

    def run(self, work: Callable[[Context], Any]) -> Any:
        """Do *work* and return its value; record the outcome of the task and await its alerts."""
        with postpone_alarm_while_logging():
            try:
                return self._run(work)
            except BaseException as error:
                if error is self._stopped_by or isinstance(error, TrainingFailure):
                    # The verdict in the log says more than the frames of this package.
                    raise error.with_traceback(None) from None
                raise

    def _run(self, work: Callable[[Context], Any]) -> Any:
        try:
            value = work(self._context)
        except AirflowSkipException:
            self._report(TaskOutcome("skipped"))
            raise
        except _LEAVES_RUN:
            raise
        except BaseException as error:
            if self.handle is None and self._left is not None:
                cancel_left_job(self._left)
            self._report(self._retries.after(error))
            raise
        else:
            self._report(TaskOutcome("success"))
            return value
        finally:
            handle, self.handle = self.handle, None
            if handle is not None:
                handle.close()
            while self._directories:  # after the alerts, which attach files from there
                self._directories.pop().remove()

    def kill(self) -> None:
        """Request a graceful stop and return at once.  Safe in a signal handler.

        Before there is a run, nothing is launched any more: TrainingTaskFailed is raised here or
        at the launch.
        """
        self.is_killed = True
        if self.handle is not None:
            self._stop = self._stop or TaskStop(self.handle, self._context.get("ti"))
        elif self._is_launching:
            raise _not_launched()

    # -- the run ---------------------------------------------------------------------------

    def make_attempt(self, fingerprint: str | None) -> Attempt:
        """Return this attempt, with its terms for the run."""
        return Attempt(
            key=make_task_key(self._context.get("ti")) or make_unique_key(self.task.task_id),
            number=self._retries.number,
            adopt_within_s=self.adopt_within_s,
            is_last=not self._retries.has_next,
            fingerprint=fingerprint,
            task=describe_task(self._context.get("ti"), self.task),
            before=task_state.load_location(self._context, self.task.log),
        )

    @property
    def map_index(self) -> int:
        """Index of a mapped task; -1 for another one."""
        return get_map_index(self._context.get("ti"))

    @property
    def adopt_within_s(self) -> float:
        """Seconds for which the run may go on without a follower, for the next attempt."""
        return self._retries.adopt_within_s(self._adopt_within)

    def launch(self, spec: RunSpec, attempt: Attempt, prepare: Prepare | None) -> RunHandle:
        """Launch, adopt or claim the run of the task, and return its handle."""
        self._is_launching = True
        try:
            if self.is_killed:
                raise _not_launched()
            log = self.task.log.info
            handle = RunHandle.launch(spec, attempt, log=log, on_handle=self.hold, prepare=prepare)
        finally:
            self._is_launching = False
        task_state.store_location(self._context, handle, self.task.log)
        return handle

    def hold(self, handle: RunHandle) -> None:
        """Hold the run of *handle* from now on: a kill stops it, and its end is reported."""
        self.handle = handle

    def follow(self, handle: RunHandle, directory: WorkingDirectory) -> RunResult:
        """Copy the output of the run to the task log until it has ended; return its result.

        Raises JobLeftError for a job of Slurm that may go on without its follower.
        """
        log = self.task.log
        log.info("Tmp dir root location: %s", gettempdir())
        log.info("Running command: %s", list(handle.record.spec.command))
        log.info("The run was %s; its log is %s", handle.origin, handle.log_path)
        log.info("Output:")
        if self.task.do_xcom_push:
            xcom.load_secret_patterns()
        for lines in handle.follow():
            for line in lines:
                log.info("%s", line)
        result = handle.wait()
        is_left = is_job_left(handle.record)
        if is_left and not self.is_killed and self.followers < MOST_FOLLOWERS:
            log.warning("The follower of the job was killed; another one follows it")
            raise JobLeftError(handle.record)
        if is_left or self.is_killed or not self._retries.has_next:
            cancel_left_job(handle.record)  # nobody would follow it
        log.info("Command exited with return code %s", result.exit_code)
        self._directories.append(directory.of_run(handle.record.spec))
        return result

    @contextmanager
    def stop_on_error(self, directory: WorkingDirectory, grace_s: float) -> Iterator[None]:
        """Stop the run when an exception ends this execution, and wait for its end.

        The resources of the run are then free before the task frees its slot.
        """
        try:
            yield
        except _LEAVES_RUN:
            raise
        except BaseException as error:
            if self.handle is not None:
                self._stop_run(self.handle, error, directory, grace_s)
            raise

    def _stop_run(
        self, handle: RunHandle, error: BaseException, directory: WorkingDirectory, grace_s: float
    ) -> None:
        if isinstance(error, AirflowTaskTimeout):
            handle.stop("its execution_timeout was over", meant_as="timeout")
        else:
            handle.stop(f"its task was ended by {type(error).__name__}")
        try:
            result = handle.wait(timeout_s=grace_s + STOP_SLACK_S)
        except TimeoutError:
            self.task.log.warning("The training still runs; its guardian continues to stop it")
            return
        cancel_left_job(handle.record)
        self._directories.append(directory.of_run(handle.record.spec))
        error.add_note(TrainingTaskFailed.of(result).args[0])
        self._stopped_by = error

    # -- its end ---------------------------------------------------------------------------

    def to_bash_result(self, result: RunResult) -> SubprocessResult:
        """Return the result in the form that BashOperator checks.

        Raises TrainingTaskFailed for a failure, and what ``on_suspect`` wants for a suspect run.
        """
        code = result.exit_code
        is_success = code == 0 or code in self.task.skip_on_exit_code
        is_stopped = result.record.event("stopping") is not None
        if code is None or not is_success or is_stopped:
            raise self._make_failure(result)
        match choose_reaction(result.verdict, self._on_suspect):
            case OnSuspect.FAIL:
                raise self._make_failure(result)
            case OnSuspect.SKIP:
                raise AirflowSkipException(f"on_suspect is skip: {describe_verdict(result)}")
            case OnSuspect.WARN | None:
                pass
        try:
            output = last_line(result.record, self.task.output_encoding)
        except OSError as error:  # a lost log does not change the status of the training
            self.task.log.warning("The output cannot be returned: %s", error)
            output = ""
        return SubprocessResult(code, output)

    def _make_failure(self, result: RunResult) -> TrainingTaskFailed:
        is_final = self._retries.refuses(result.verdict)
        return (TrainingTaskFailedForGood if is_final else TrainingTaskFailed).of(result)

    def _report(self, outcome: TaskOutcome) -> None:
        """Record the outcome of the task, wait for its alerts, fill XCom, and log the verdict.

        An outcome that Airflow's database has, because a user decided it, has priority.
        """
        handle, log = self.handle, self.task.log
        if handle is None:
            return
        if self._stop is not None and self._stop.outcome is not None:
            outcome = self._stop.outcome
        secrets = alerts.find_task_secrets(self.task)
        handle.record_outcome(outcome.state, final=outcome.is_final, next_within_s=outcome.within_s)
        if self.is_killed:  # Airflow ends this process some seconds after its signal
            self.has_logged_verdict = log_verdict(handle.record, outcome.state, log, secrets)
        alerts.await_alerts(handle, secrets, log)
        task_state.store_location(self._context, handle, log)
        if self.task.do_xcom_push:
            xcom.push(self._context.get("ti"), handle.record, log, secrets)
        if not self.is_killed:
            self.has_logged_verdict = log_verdict(handle.record, outcome.state, log, secrets)
        report_store.store_report(
            self._context.get("ti"),
            handle.record,
            log,
            secrets=secrets,
            with_xcom=self.task.do_xcom_push,
        )


def _not_launched() -> TrainingTaskFailed:
    return TrainingTaskFailed("cancelled: the task was ended before its training began")
