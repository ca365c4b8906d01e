"""A BashOperator whose command outlives its worker, and whose error names the cause."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.providers.common.compat.sdk import AirflowException, AirflowSkipException
from airflow.providers.standard.operators.bash import BashOperator

from gpualert_common.api import make_spec
from gpualert_common.errors import GPUAlertError
from gpualert_common.guardian.attempt import fingerprint
from gpualert_common.guardian.engine_jobs import is_engine_job, list_identity, make_engine_job
from gpualert_common.settings import Interface, load_settings, option_names
from gpualert_common.suspicion import parse_on_suspect
from gpualert_provider import alerts, deferral, deferred_run, next_attempt, retry_choices
from gpualert_provider.airflow_variables import drop_airflow_variables
from gpualert_provider.exceptions import JobLeftError
from gpualert_provider.execution import TaskExecution
from gpualert_provider.identity import make_name
from gpualert_provider.links import VerdictLink
from gpualert_provider.resumption import Resumption
from gpualert_provider.working_directory import WorkingDirectory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.providers.standard.hooks.subprocess import SubprocessResult
    from airflow.sdk.definitions._internal.types import ArgNotSet

    from gpualert_common.record import Record
    from gpualert_common.retries import RetryChoice
    from gpualert_common.settings import Setting
    from gpualert_common.spec import RunSpec

MOST_ARGUMENT_BYTES = 128 << 10
"""Linux takes no longer argument; a longer command is run from a file, as a rendered script is."""


class GPUAlertOperator(BashOperator):
    """Run a training command as BashOperator does, under a guardian that outlives the worker.

    Replaces BashOperator without other changes: it has the same arguments, result, skip and error.
    In addition: the log is on disk before the command starts; the training survives the death of
    its worker and the next attempt adopts it; a stop ends all of its processes; a stopped training
    is never a success; and the error, :class:`~gpualert_provider.exceptions.TrainingTaskFailed`,
    names the cause.

    :param bash_command: as BashOperator's; required without ``command``.
    :param command: the program and its arguments, a list, run without a shell.  (templated; an
        argument that ends in .sh is no template file)
    :param retry_by_cause: True: no further attempt is made when the verdict is sure that it would
        fail for the same cause; otherwise the task's retries apply.  False: they always apply.  A
        mapping gives single causes "stop", "retry", "default" or the delay of the retry (a delay
        needs Airflow 3.3).  A ``retry_policy`` of the task has priority.
    :param on_suspect: reaction to a training that exits with 0 although its log reports a failure:
        "warn" (success; the task log ends with the verdict), "fail" or "skip".  An alert is sent.
    :param scrub_env: remove Airflow's own variables (connections, secrets, its configuration) from
        the inherited environment; variables in ``env``, AIRFLOW_HOME and AIRFLOW_CTX_* stay.
    :param adopt_within: how long the training may continue after the death of its worker, for the
        next attempt to adopt it; timedelta or seconds.  None: as long as the scheduler takes to
        start that attempt.  0: the training is stopped, and the next attempt starts a new one.
        When no retries are left the training is always stopped.
    :param deferrable: free the worker while the training runs; a trigger watches it.  Needs a state
        directory that workers and triggerers share.  Airflow's ``default_deferrable`` is ignored.
    :param grace: time from the first signal of a stop to SIGKILL; timedelta, seconds or "2m".
    :param hang_timeout: time without output after which the training may hang; it hangs if its
        processes then stand still. timedelta, seconds or text.  None: never.
    :param on_hang: when it hangs: "warn", or "stop", which ends it so that a retry can follow.
    :param on_slowdown: when its steps become much slower: take a "profile" or a "trace", or "off".
    :param notify: where to send alerts: a target or a list of them, each the name of a channel, an
        address, ``"airflow:CONN_ID"``, a table of settings, or ``"none"``.  Not templated: Airflow
        keeps rendered values in its database, and a target may be a secret.
    :param notify_on: when to send alerts: "failure", "failure_or_stop", "always" or "never".
    :param notify_deadline: how long the task waits for its alerts; timedelta, seconds or text.
    :param warn: also alert while the training is in progress.
    :param artifact: files that alerts carry, as glob patterns.
    :param observe: sample GPUs, kernel log, memory and disks during the run.
    :param tracing: have PyTorch ready for ``gpualert trace``.
    :param rules: directory of your own rules for causes, used in addition to the shipped ones.
    :param job: name of the job that the training is a part of, equal on all nodes (templated);
        None: the task is a job of its own.
    :param job_dir: directory or URL in which the nodes of a job share what they observe.
    :param scheduler: "slurm" submits the command once, as a batch job; "local" runs it directly.
    :param sbatch_args: options of sbatch for that job, a list or a text (templated).

    Of ``grace`` and the arguments below it, one that is None comes from gpualert's configuration.
    """

    template_fields = (*BashOperator.template_fields, "command", "job", "sbatch_args")
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **BashOperator.template_fields_renderers,
        "command": "py",
    }
    operator_extra_links = (VerdictLink(),)

    def __init__(
        self,
        *,
        bash_command: str | ArgNotSet | None = None,
        command: Sequence[str] | None = None,
        retry_by_cause: bool | Mapping[str, RetryChoice | timedelta] = True,
        on_suspect: str = "warn",
        scrub_env: bool = False,
        adopt_within: timedelta | float | None = None,
        grace: timedelta | float | str | None = None,
        deferrable: bool = False,
        hang_timeout: timedelta | float | str | None = None,
        on_hang: str | None = None,
        on_slowdown: str | None = None,
        notify: str | Sequence[str | Mapping[str, Any]] | None = None,
        notify_on: str | None = None,
        notify_deadline: timedelta | float | str | None = None,
        warn: bool | None = None,
        artifact: str | Sequence[str] | None = None,
        observe: bool | None = None,
        tracing: bool | None = None,
        rules: str | os.PathLike[str] | None = None,
        job: str | None = None,
        job_dir: str | os.PathLike[str] | None = None,
        scheduler: str | None = None,
        sbatch_args: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        if (bash_command is None) == (command is None):
            raise TypeError("GPUAlertOperator needs one of bash_command and command")
        if isinstance(command, str) or command in ([], ()):
            raise TypeError('command is a list, as in ["python", "train.py"]; see bash_command')
        self.retry_rules = retry_choices.make_rules(retry_by_cause)
        self.on_suspect = parse_on_suspect(on_suspect)
        defaults = kwargs.get("default_args") or {}
        if kwargs.get("retry_policy") is None and defaults.get("retry_policy") is None:
            kwargs |= next_attempt.policy_arguments(retry_by_cause)
        super().__init__(bash_command=cast("str", bash_command), **kwargs)
        self.command = command
        self.scrub_env = scrub_env
        self.adopt_within = adopt_within
        self.grace = grace
        self.deferrable = deferrable
        self.hang_timeout = hang_timeout
        self.on_hang = on_hang
        self.on_slowdown = on_slowdown
        self.notify = notify
        self.notify_on = notify_on
        self.notify_deadline = notify_deadline
        self.warn = warn
        self.artifact = artifact
        self.observe = observe
        self.tracing = tracing
        self.rules = rules
        self.job = job
        self.job_dir = job_dir
        self.scheduler = scheduler
        self.sbatch_args = sbatch_args
        self.alert_secrets: alerts.Secrets = {}
        self._execution: TaskExecution | None = None
        self._is_killed = False

    @property
    def has_logged_verdict(self) -> bool:
        """True when the task log ends with a verdict, after the task was executed here."""
        return self._execution is not None and self._execution.has_logged_verdict

    # -- BashOperator's interface ----------------------------------------------------------

    def execute(self, context: Context) -> Any:
        """Do what BashOperator does; record the outcome of the task and send its alerts."""
        try:
            return self._begin(context).run(super().execute)
        except JobLeftError as error:
            left = error.record
        return self._follow_on(context, left)

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context
    ) -> Any:
        """Do what BaseOperator does; a run that was left to a trigger is taken back."""
        resume = partial(super().resume_execution, next_method, next_kwargs)
        resumption = Resumption.of(next_method, next_kwargs, resume)
        if resumption is None:
            return resume(context)
        try:
            return self._begin(context).run(partial(self._resume, resumption))
        except JobLeftError as error:
            left = error.record
        return self._follow_on(context, left)

    def on_kill(self) -> None:
        """Request a graceful stop and return at once.  Runs in a signal handler.

        Before there is a run, nothing is launched any more, and the attempt fails by
        TrainingTaskFailed. It is raised here while the launch waits for the run of an earlier
        attempt.
        """
        self._is_killed = True
        if self._execution is not None:
            self._execution.kill()

    def get_env(self, context: Context) -> dict[str, str]:
        """Return BashOperator's variables; with ``scrub_env`` without Airflow's own."""
        env: dict[str, str] = super().get_env(context)
        return drop_airflow_variables(env, self.env or {}) if self.scrub_env else env

    @classmethod
    def _is_inline_command(cls, bash_command: str | None) -> bool:
        """As BashOperator's; with ``command`` there is no ``bash_command``."""
        return bash_command is None or bool(super()._is_inline_command(bash_command))

    def resolve_template_files(self) -> None:
        """As BashOperator's; an argument of ``command`` is never a file to read."""
        command, self.command = self.command, None
        try:
            super().resolve_template_files()
        finally:
            self.command = command

    def render_template(self, content: Any, *args: Any, **kwargs: Any) -> Any:
        """As BashOperator's; an argument of ``command`` is never a file to render."""
        if content is None or content is not self.command:
            return super().render_template(content, *args, **kwargs)
        self.template_ext = ()
        try:
            return super().render_template(content, *args, **kwargs)
        finally:
            del self.template_ext

    def _run_inline_command(self, bash_path: str, env: dict[str, str]) -> SubprocessResult:
        text = str(self.bash_command)
        is_too_long = self.command is None and len(os.fsencode(text)) >= MOST_ARGUMENT_BYTES
        return self._train(bash_path, env, text if is_too_long else None)

    def _run_rendered_script_file(self, bash_path: str, env: dict[str, str]) -> SubprocessResult:
        return self._train(bash_path, env, str(self.bash_command))

    # -- the run of the task ---------------------------------------------------------------

    def _follow_on(self, context: Context, left: Record) -> Any:
        """Do BashOperator's work; ``left`` is the run of a follower that was killed."""
        followers = 2
        while True:
            try:
                return self._begin(context, followers, left).run(super().execute)
            except JobLeftError as error:  # the execution has a limit of them
                left, followers = error.record, followers + 1

    def _begin(
        self, context: Context, followers: int = 1, left: Record | None = None
    ) -> TaskExecution:
        choices = self.retry_rules, self.adopt_within, self.on_suspect
        execution = TaskExecution(self, context, *choices, followers, left)
        self._execution = execution
        execution.is_killed = self._is_killed
        return execution

    def _train(self, bash: str, env: Mapping[str, str], script: str | None) -> SubprocessResult:
        """Launch, adopt or claim the run, and follow it to its end or defer the task.

        *script* is run in place of a text that is too long for an argument.
        """
        assert self._execution is not None
        execution = self._execution
        command = [bash, "-c", str(self.bash_command)]
        if self.command is not None:
            command = [str(argument) for argument in self.command]
        if not command:
            raise AirflowException("command is an empty list, so there is nothing to train")
        settings = self._load_settings()
        identity = fingerprint(list_identity(command, settings), self.env, self.cwd)
        directory = WorkingDirectory(self.cwd or "", is_temporary=False)
        if not is_engine_job(settings):
            directory = WorkingDirectory.make(self.cwd, script)
        if directory.script is not None:
            command = [bash, directory.script]
        spec = self._make_spec(command, settings, env, directory.directory or None)
        job = make_engine_job(spec, settings, identity, script)
        spec = spec if job is None else job.spec
        try:
            with execution.stop_on_error(directory, spec.grace_s):
                attempt = execution.make_attempt(identity)
                deferred_run.stop_cleared(
                    attempt.key, attempt.number, spec.state_dir, self.log.info
                )
                if self.deferrable:
                    deferral.check_worker()
                handle = execution.launch(spec, attempt, None if job is None else job.prepare)
                if self.deferrable:
                    deferral.defer(execution, handle, attempt)
                result = execution.follow(handle, directory)
        finally:
            if execution.handle is None or execution.handle.origin != "launched":
                directory.remove()
        return execution.to_bash_result(result)

    def _resume(self, resumption: Resumption, context: Context) -> Any:
        """Take the run back from its trigger, and follow it to its end."""
        assert self._execution is not None
        execution = self._execution
        handle = resumption.take_run(execution, context)
        spec = handle.record.spec
        directory = WorkingDirectory.find(spec, self.cwd, self.command)
        with execution.stop_on_error(directory, spec.grace_s):
            self._load_secrets(list(spec.command))
            if handle.record.ending is None:
                resumption.check(context)
            result = execution.follow(handle, directory)
        bash_result = execution.to_bash_result(result)
        if bash_result.exit_code in self.skip_on_exit_code:
            raise AirflowSkipException(
                f"Bash command returned exit code {bash_result.exit_code}. Skipping."
            )
        return self.output_processor(bash_result.output)

    def _load_settings(self) -> dict[str, Setting]:
        """Return the settings, by the arguments and gpualert's configuration."""
        given = {name: getattr(self, name) for name in option_names(Interface.AIRFLOW)}
        settings = load_settings({**given, "streams": "merged"}, given_as="argument")
        alerts.resolve_settings(settings)
        return settings

    def _make_spec(
        self,
        command: list[str],
        settings: Mapping[str, Setting],
        env: Mapping[str, str],
        cwd: str | None,
    ) -> RunSpec:
        """Return the spec of a run; the secrets of its channels are kept for the alerts."""
        assert self._execution is not None
        name = make_name(self.dag_id, self.task_id, self._execution.map_index)
        spec = make_spec(command, settings, cwd=cwd, env=env, name=name)
        self.alert_secrets = spec.secrets or {}
        return spec

    def _load_secrets(self, command: list[str]) -> None:
        """Load the secrets of the channels, for the alerts of a run whose guardian died."""
        try:
            self._make_spec(command, self._load_settings(), {}, None)
        except (GPUAlertError, ValueError, TypeError) as error:
            self.log.warning("The settings of the alert channels cannot be read: %s", error)
