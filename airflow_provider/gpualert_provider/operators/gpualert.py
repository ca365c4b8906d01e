"""A BashOperator whose command outlives its worker, and says why it failed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
    TaskDeferred,
)
from airflow.providers.standard.hooks.subprocess import SubprocessResult
from airflow.providers.standard.operators.bash import BashOperator

from gpualert_common.api import make_spec
from gpualert_common.errors import SupersededError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.attempt import fingerprint
from gpualert_common.settings import Face, load_settings, option_names
from gpualert_provider import alerts, retries, stopping, task_state, xcom
from gpualert_provider.environment import without_airflows
from gpualert_provider.exceptions import TrainingFailed, TrainingFailedForGood
from gpualert_provider.identity import key_by_hand, key_of
from gpualert_provider.links import VerdictLink
from gpualert_provider.operators.deferrable import DeferrableOperator
from gpualert_provider.output import last_line
from gpualert_provider.working_directory import WorkingDirectory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.sdk.definitions._internal.types import ArgNotSet

    from gpualert_common.api import RunResult
    from gpualert_common.retries import RetryChoice
    from gpualert_common.spec import RunSpec

STOP_SLACK_S = 30.0
"""What a stop may take beyond its grace, verdict included, before we leave without its end."""

_TAKEN_OVER = (SupersededError, TaskDeferred, BrokenPipeError)
"""What ends an attempt and not its training: a later attempt has it, a trigger, or, where nobody
reads the log of this process since its supervisor was killed, the next attempt."""

MOST_ARGUMENT_BYTES = 128 << 10
"""Linux takes no longer one; a longer command is run from a file, as a rendered script is."""


class GPUAlertOperator(DeferrableOperator):
    """Run a training command as BashOperator does, under a guardian that outlives the worker.

    Takes BashOperator's place as it is: the same arguments, result, skip and error.  Beyond it: the
    log is on disk before the command starts; the training survives the death of its worker and the
    next attempt adopts it; a stop ends all of it; a stopped training is never a success; and the
    error, :class:`~gpualert_provider.exceptions.TrainingFailed`, says why.

    :param bash_command: as BashOperator's; or else ``command``.
    :param command: the program and its arguments, a list, run without a shell.  (templated; an
        argument that ends in .sh is no template file)
    :param retry_by_cause: True: where the verdict is sure that every further attempt would fail
        alike, none is made; everywhere else the task's retries stand.  False: they always stand.
        A mapping says for single causes "stop", "retry", "default" or the delay of the retry (the
        delay: from Airflow 3.3 on).  A ``retry_policy`` of the task's own goes first.
    :param scrub_env: keep Airflow's own variables (connections, secrets, its configuration) out of
        what the command inherits; what ``env`` names, AIRFLOW_HOME and AIRFLOW_CTX_* stay.
    :param adopt_within: how long the training may go on alone, once its worker has died, for the
        next attempt to adopt it; timedelta or seconds.  None: as long as the scheduler takes to
        start that attempt.  0: not at all, the next attempt trains anew.  Without retries left the
        training is always ended.
    :param deferrable: free the worker while the training runs; a trigger watches it.  Needs a state
        directory that workers and triggerers share.  Airflow's ``default_deferrable`` is ignored.
    :param grace: time between the first signal of a stop and SIGKILL; timedelta, seconds or text
        such as "2m".
    :param notify: where to send alerts: a target or a list of them, each the name of a channel, an
        address, ``"airflow:CONN_ID"``, a table of settings, or ``"none"``.  Not templated: Airflow
        keeps rendered values in its database, and a target may be a secret.
    :param notify_on: when to send alerts: "failure", "always" or "never".
    :param notify_deadline: how long the task waits for its alerts; timedelta, seconds or text.
    :param warn: also alert while the training is in progress.
    :param artifact: files that alerts carry, as glob patterns.
    :param observe: sample GPUs, kernel log, memory and disks during the run.
    :param rules: directory of your own rules for causes, used beside the shipped ones.

    Of ``grace`` and the arguments below it, one that is None comes from gpualert's configuration.
    """

    template_fields = (*BashOperator.template_fields, "command")
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
        scrub_env: bool = False,
        adopt_within: timedelta | float | None = None,
        grace: timedelta | float | str | None = None,
        deferrable: bool = False,
        notify: str | Sequence[str | Mapping[str, Any]] | None = None,
        notify_on: str | None = None,
        notify_deadline: timedelta | float | str | None = None,
        warn: bool | None = None,
        artifact: str | Sequence[str] | None = None,
        observe: bool | None = None,
        rules: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        if (bash_command is None) == (command is None):
            raise TypeError("GPUAlertOperator needs one of bash_command and command")
        if isinstance(command, str) or command in ([], ()):
            raise TypeError('command is a list, as in ["python", "train.py"]; see bash_command')
        self.retry_rules = retries.rules(retry_by_cause)
        defaults = kwargs.get("default_args") or {}
        if kwargs.get("retry_policy") is None and defaults.get("retry_policy") is None:
            kwargs |= retries.policy(retry_by_cause)
        super().__init__(bash_command=cast("str", bash_command), **kwargs)
        self.command = command
        self.scrub_env = scrub_env
        self.adopt_within = adopt_within
        self.grace = grace
        self.deferrable = deferrable
        self.notify = notify
        self.notify_on = notify_on
        self.notify_deadline = notify_deadline
        self.warn = warn
        self.artifact = artifact
        self.observe = observe
        self.rules = rules
        self._context: Context | None = None
        self._handle: RunHandle | None = None
        self.alert_secrets: alerts.Secrets = {}
        self._leftovers: list[WorkingDirectory] = []
        self._killed = False
        self._launching = False

    # -- BashOperator's steps --------------------------------------------------------------

    def execute(self, context: Context) -> Any:
        """As BashOperator's; what became of the task is written down, and its alerts are sent."""
        return self._accounted(super().execute, context)

    def _accounted(self, work: Callable[[Context], Any], context: Context) -> Any:
        self._context = context
        self._retries = retries.Retries(self, context, self.retry_rules)
        try:
            value = work(context)
        except AirflowSkipException:
            self._tell("skipped", final=True)
            raise
        except _TAKEN_OVER:
            raise  # whoever takes over tells
        except AirflowFailException:
            self._tell("failed", final=True)
            raise
        except BaseException as error:
            final, within_s = self._retries.after(error)
            self._tell("failed" if final else "up_for_retry", final=final, within_s=within_s)
            raise
        else:
            self._tell("success", final=True)
            return value
        finally:
            handle, self._handle = self._handle, None
            if handle is not None:
                handle.close()
            while self._leftovers:  # its alerts have looked for artifacts there
                self._leftovers.pop().remove()

    def on_kill(self) -> None:
        """Ask for a graceful stop and return at once.  Runs in a signal handler.

        Before there is a run to stop, nothing gets launched: the attempt ends by TrainingFailed,
        raised from here when it waits for the run before it.
        """
        self._killed = True
        if self._handle is not None:
            stopping.stop(self._handle, (self._context or {}).get("ti"))
        elif self._launching:
            raise _never_began()

    def get_env(self, context: Context) -> dict[str, str]:
        """As BashOperator's; with ``scrub_env`` without Airflow's own variables."""
        env: dict[str, str] = super().get_env(context)
        return without_airflows(env, self.env or {}) if self.scrub_env else env

    @classmethod
    def _is_inline_command(cls, bash_command: str | None) -> bool:
        """As BashOperator's; there is none beside ``command``."""
        return bash_command is None or bool(super()._is_inline_command(bash_command))

    def resolve_template_files(self) -> None:
        """As BashOperator's; an argument of ``command`` is no file to be read, whatever its end."""
        command, self.command = self.command, None
        try:
            super().resolve_template_files()
        finally:
            self.command = command

    def render_template(self, content: Any, *args: Any, **kwargs: Any) -> Any:
        """As BashOperator's; an argument of ``command`` is no file to be rendered, either."""
        if content is None or content is not self.command:
            return super().render_template(content, *args, **kwargs)
        self.template_ext = ()
        try:
            return super().render_template(content, *args, **kwargs)
        finally:
            del self.template_ext

    def _run_inline_command(self, bash_path: str, env: dict[str, str]) -> SubprocessResult:
        text = str(self.bash_command)
        too_long = self.command is None and len(os.fsencode(text)) >= MOST_ARGUMENT_BYTES
        return self._train(
            bash_path, env, WorkingDirectory.make(self.cwd, text if too_long else None)
        )

    def _run_rendered_script_file(self, bash_path: str, env: dict[str, str]) -> SubprocessResult:
        return self._train(bash_path, env, WorkingDirectory.make(self.cwd, str(self.bash_command)))

    # -- a supervised run ------------------------------------------------------------------

    def _train(
        self, bash: str, env: Mapping[str, str], place: WorkingDirectory
    ) -> SubprocessResult:
        """Launch, adopt or claim the training and follow it to its end."""
        command = [bash, "-c", str(self.bash_command)]
        if self.command is not None:
            command = [str(argument) for argument in self.command]
            if not command:
                raise AirflowException("command is an empty list, so there is nothing to train")
        same = fingerprint(command, self.env, self.cwd)
        if place.script is not None:
            command = [bash, place.script]
        spec = self._spec(command, env, place.directory)
        try:
            attempt = self._attempt(same)
            self._make_way(spec, attempt)
            handle = self._launch(spec, attempt)
            self._remember()
            self._leave(handle, attempt)
            result = self._follow(handle)
            self._leftovers.append(place.of_run(handle.record.spec))
        except _TAKEN_OVER:
            raise
        except BaseException as error:
            self._give_up(error, place, spec.grace_s)
            raise
        finally:
            if self._handle is None or self._handle.origin != "launched":
                place.remove()
        return self._judged(result)

    def _launch(self, spec: RunSpec, attempt: Attempt) -> RunHandle:
        """A handle that :meth:`on_kill` and an exception from nowhere find before its launch."""
        self._launching = True
        try:
            if self._killed:
                raise _never_began()
            return RunHandle.launch(spec, attempt, log=self.log.info, on_handle=self._made)
        finally:
            self._launching = False

    def _made(self, handle: RunHandle) -> None:
        self._handle = handle

    def _spec(self, command: list[str], env: Mapping[str, str], cwd: str | None) -> RunSpec:
        given = {name: getattr(self, name) for name in option_names(Face.AIRFLOW)}
        settings = load_settings({**given, "streams": "merged"}, given_as="argument")
        alerts.resolve(settings)
        name = f"{self.dag_id}.{self.task_id}"
        spec = make_spec(command, settings, cwd=cwd, env=env, name=name)
        self.alert_secrets = spec.secrets or {}
        return spec

    def _follow(self, handle: RunHandle) -> RunResult:
        self.log.info("Tmp dir root location: %s", gettempdir())
        self.log.info("Running command: %s", handle.record.spec["command"])
        self.log.info("The run was %s; its log is %s", handle.origin, handle.log_path)
        self.log.info("Output:")
        if self.do_xcom_push:
            xcom.prepare()
        for lines in handle.follow():
            for line in lines:
                self.log.info("%s", line)
        result = handle.wait()
        self.log.info("Command exited with return code %s", result.exit_code)
        return result

    def _give_up(self, error: BaseException, place: WorkingDirectory, grace_s: float) -> None:
        """End the training because of ``error``, and wait for that within its grace.

        So the place that a task frees is free, and a next attempt finds nobody in it.
        """
        handle = self._handle
        if handle is None:
            return
        if isinstance(error, AirflowTaskTimeout):
            handle.stop("its execution_timeout was over", meant_as="timeout")
        else:
            handle.stop(f"its task was ended by {type(error).__name__}")
        try:
            result = handle.wait(timeout_s=grace_s + STOP_SLACK_S)
        except TimeoutError:
            self.log.warning("The training has not ended yet; its guardian goes on ending it")
            return
        self._leftovers.append(place.of_run(handle.record.spec))
        error.add_note(TrainingFailed.of(result).args[0])

    def _judged(self, result: RunResult) -> SubprocessResult:
        """What BashOperator's own tests of the status go on with.  Raises TrainingFailed."""
        code = result.exit_code
        passes = code == 0 or code in self.skip_on_exit_code
        was_stopped = result.record.event("stopping") is not None
        if code is None or not passes or was_stopped:
            for_good = self._retries.refused(result.verdict)
            raise (TrainingFailedForGood if for_good else TrainingFailed).of(result)
        try:
            output = last_line(result.log_path, self.output_encoding)
        except OSError as error:  # the status is the training's, whatever became of its log
            self.log.warning("The output cannot be returned: %s", error)
            output = ""
        return SubprocessResult(code, output)

    # -- this attempt, and the next --------------------------------------------------------

    def _attempt(self, same: str) -> Attempt:
        assert self._context is not None
        return Attempt(
            key=key_of(self._context.get("ti")) or key_by_hand(self.task_id),
            number=self._retries.number,
            adopt_within_s=self._retries.adopt_within_s(self.adopt_within),
            is_last=not self._retries.left,
            fingerprint=same,
            before=task_state.recall(self._context, self.log),
        )

    def _remember(self) -> None:
        assert self._context is not None
        assert self._handle is not None
        task_state.remember(self._context, self._handle, self.log)

    def _tell(self, state: str, *, final: bool, within_s: float | None = None) -> None:
        """Write down what became of the task, and wait for the alerts that are then due."""
        if self._handle is None:
            return
        self._handle.record_outcome(state, final=final, next_within_s=within_s)
        alerts.settle(self._handle, self.alert_secrets, self.log)
        self._remember()
        if self.do_xcom_push and self._context is not None:
            xcom.push(self._context.get("ti"), self._handle.record, self.log, self.alert_secrets)


def _never_began() -> TrainingFailed:
    return TrainingFailed("cancelled: the task was ended before its training began")
