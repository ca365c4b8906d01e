"""``TrainingOperation``, in place of ``prefect_shell.ShellOperation``."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, Literal, Self

from prefect.blocks.abstract import JobBlock
from pydantic import (
    ConfigDict,
    DirectoryPath,
    Field,
    HttpUrl,
    PrivateAttr,
    SerializationInfo,
    field_serializer,
    field_validator,
)

from gpualert_common.errors import UsageError
from gpualert_common.settings import OPTIONS, Interface, option_names
from gpualert_common.suspicion import OnSuspect
from prefect_gpualert import alerts
from prefect_gpualert.command import command_line
from prefect_gpualert.preparation import load_settings_and_blocks, make_training
from prefect_gpualert.run_log import log_line
from prefect_gpualert.sync_async import current_interrupts, dispatches_to, run_in_thread
from prefect_gpualert.training import Training
from prefect_gpualert.training_run import TrainingRun

DOCUMENTATION_URL = "https://pypi.org/project/prefect-gpualert/"
LOGO_URL = "https://raw.githubusercontent.com/PrefectHQ/prefect/420d0d6a78bb6df1fc18bcf188fdad43c1d22ea9/assets/block-logos/terminal.png"

_LABELS = {"stderr.log": "stderr"}


def _option(name: str) -> Any:
    """Return the field of an option, described as its declaration does."""
    option = OPTIONS[name]
    return Field(default=None, title=name.replace("_", " ").title(), description=option.sentence)


class TrainingOperation(JobBlock[list[str]]):
    """Shell commands that are supervised as one training.

    Replaces ShellOperation with the same fields, methods and errors.  In addition, the log is on
    disk before the commands start, no process of theirs outlives the flow, and the error has the
    cause of the failure.

    Attributes:
        commands: A list of commands to execute sequentially.
        stream_output: Whether to log a view of the output.
        log_prefix: Template before each record of the output, with `{pid}` and `{label}`.
        env: Environment variables of the commands, added to those of the flow.
        working_dir: The directory that the commands are executed in.
        shell: The shell that executes the commands.
        extension: The extension of the file that the commands are executed from.
        timeout: Wall-clock limit, which also holds when no flow follows the training any more.
        grace: Time between the first signal of a stop and SIGKILL.
        hang_timeout: Time without output after which the training may hang.
        on_hang: Whether a hang raises a warning or ends the training.
        on_slowdown: Whether a profile or a trace is taken when steps become slow.
        streams: Whether stdout and stderr share one log.
        adopt_within: How long the training continues after the death of its engine.
        state_dir: Directory that holds the run records.
        notify: Where to send alerts.
        notify_on: When to send alerts.
        notify_deadline: How long the end waits for its alerts.
        warn: Whether to alert also while the training is in progress.
        artifact: Files that alerts carry, as glob patterns.
        observe: Whether to sample GPUs, kernel log, memory and disks.
        tracing: Whether to have PyTorch ready for `gpualert trace`.
        rules: Directory of your own rules for causes.
        job: Name of the job that the training is a part of, equal on all nodes.
        job_dir: Directory or URL in which the nodes of a job share what they observe.
        scheduler: Whether the commands run on this machine or as a batch job of Slurm.
        sbatch_args: Options of sbatch for that job.
        on_suspect: Reaction to a training that exits with 0 although its log reports a failure.
        publish: Whether to show verdict and progress in Prefect, by artifacts and an event.

    Examples:
        Load a configured block:
        ```python
        from prefect_gpualert import TrainingOperation

        training = TrainingOperation.load("BLOCK_NAME")
        ```
    """

    model_config = ConfigDict(validate_assignment=True)

    _block_type_name = "Training Operation"
    _block_type_slug = "training-operation"
    _logo_url = HttpUrl(LOGO_URL)
    _documentation_url = HttpUrl(DOCUMENTATION_URL)

    commands: list[str] = Field(
        default=..., description="A list of commands to execute sequentially."
    )
    stream_output: bool = Field(default=True, description="Whether to log a view of the output.")
    log_prefix: str | None = Field(
        default="PID {pid} {label}:\n",
        title="Log Prefix",
        description=(
            "Template before each record of the output, with `{pid}` and `{label}` (`stream "
            "output` or `stderr`). `None` logs the output alone."
        ),
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        title="Environment Variables",
        description="Environment variables of the commands, added to those of the flow.",
    )
    working_dir: DirectoryPath | None = Field(
        default=None,
        title="Working Directory",
        description="The directory that the commands are executed in.",
    )
    shell: str | None = Field(
        default=None, description="The shell that executes the commands; `bash` if unset."
    )
    extension: str | None = Field(
        default=None,
        description="The extension of the file that the commands are executed from, if any.",
    )
    timeout: float | str | None = _option("timeout")
    grace: float | str | None = _option("grace")
    hang_timeout: float | str | None = _option("hang_timeout")
    on_hang: str | None = _option("on_hang")
    on_slowdown: str | None = _option("on_slowdown")
    streams: str | None = _option("streams")
    adopt_within: float | None = Field(
        default=None,
        title="Adopt Within",
        description=(
            "Seconds that the training continues after the death of its engine, so that the next "
            "attempt of the flow run can adopt it. Without it 15 minutes if the flow run belongs "
            "to a deployment and has retries left, else 0."
        ),
    )
    state_dir: str | None = _option("state_dir")
    notify: str | dict[str, Any] | list[str | dict[str, Any]] | None = _option("notify")
    notify_on: str | None = _option("notify_on")
    notify_deadline: float | str | None = _option("notify_deadline")
    warn: bool | None = _option("warn")
    artifact: str | list[str] | None = _option("artifact")
    observe: bool | None = _option("observe")
    tracing: bool | None = _option("tracing")
    rules: str | None = _option("rules")
    job: str | None = _option("job")
    job_dir: str | None = _option("job_dir")
    scheduler: str | None = _option("scheduler")
    sbatch_args: str | list[str] | None = _option("sbatch_args")
    on_suspect: Literal["warn", "fail"] = Field(
        default="warn",
        title="On Suspect",
        description=(
            "Reaction to a training that exits with 0 although its log reports a failure: a "
            "warning, or `TrainingFailed`."
        ),
    )
    publish: bool = Field(
        default=True,
        description="Whether to show verdict and progress in Prefect, by artifacts and an event.",
    )

    _trainings: list[Training] = PrivateAttr(default_factory=list)
    _is_entered: bool = PrivateAttr(default=False)

    @field_validator("notify", mode="before")
    @classmethod
    def _by_name(cls, notify: Any) -> Any:
        """Keep the name of a channel's block alone: an operation is stored without encryption."""
        return alerts.replace_blocks_by_names(notify)

    @field_serializer("notify")
    def _check_for_secrets(self, notify: Any, info: SerializationInfo) -> Any:
        """Refuse to store a secret in Prefect's database, where it is not encrypted."""
        if info.context and info.context.get("include_secrets"):  # it is being saved
            alerts.check_for_secrets(notify)
        return notify

    @field_validator("state_dir", "rules", "job_dir", mode="before")
    @classmethod
    def _as_text(cls, path: Any) -> Any:
        return os.fspath(path) if isinstance(path, os.PathLike) else path

    @field_validator("log_prefix")
    @classmethod
    def _is_template(cls, log_prefix: str | None) -> str | None:
        """Check the template before the launch, not at the first line."""
        try:
            (log_prefix or "").format(pid=1, label="stderr")
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"its fields are {{pid}} and {{label}}: {error!r}") from None
        return log_prefix

    # -- long trainings --------------------------------------------------------------------

    async def atrigger(self, **open_kwargs: Any) -> TrainingRun:
        """As :meth:`trigger`."""
        return await run_in_thread(lambda: self._trigger(open_kwargs))

    @dispatches_to(atrigger)
    def trigger(self, **open_kwargs: Any) -> TrainingRun:
        """Launch the training, or adopt that of an earlier attempt, and return at once.

        A training that still runs when the block is closed is stopped, with all its processes.
        """
        return self._trigger(open_kwargs)

    def _trigger(self, open_kwargs: dict[str, Any]) -> TrainingRun:
        return TrainingRun(self._launch(open_kwargs), is_in_block=self._is_entered)

    # -- short ones ------------------------------------------------------------------------

    async def arun(self, **open_kwargs: Any) -> list[str]:
        """As :meth:`run`; the event loop stays free meanwhile."""
        return await run_in_thread(lambda: self._run(open_kwargs))

    @dispatches_to(arun)
    def run(self, **open_kwargs: Any) -> list[str]:
        """Run the commands to their end; returns the lines of their standard output.

        Raises TrainingFailed, a RuntimeError, if they failed or were stopped.
        """
        return self._run(open_kwargs)

    def _run(self, open_kwargs: dict[str, Any]) -> list[str]:
        training = self._launch(open_kwargs, end_survivors=True)
        try:
            with training.closing(current_interrupts()):
                run = TrainingRun(training, is_in_block=True)
                run.wait_for_completion()
                lines: list[str] = run.fetch_result()
                return lines
        finally:
            self._forget(training)

    # -- the end ---------------------------------------------------------------------------

    async def aclose(self) -> None:
        """As :meth:`close`."""
        await run_in_thread(self._close)

    @dispatches_to(aclose)
    def close(self) -> None:
        """Stop all triggered trainings that still run, and return after their end."""
        self._close()

    def _close(self, error: BaseException | None = None) -> None:
        interrupts = current_interrupts()
        for training in self._trainings:
            training.ask_to_stop(interrupts, error)
        with ExitStack() as closing:  # each one, also after an error of another
            while self._trainings:
                closing.callback(self._trainings.pop(0).close, interrupts, error)
        log_line(self.logger, "Successfully closed all open processes.")

    async def __aenter__(self) -> Self:
        self._is_entered = True
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _place: object) -> None:
        await run_in_thread(lambda: self._close(error))

    def __enter__(self) -> Self:
        self._is_entered = True
        return self

    def __exit__(self, _type: object, error: BaseException | None, _place: object) -> None:
        self._close(error)

    # -- its trainings ---------------------------------------------------------------------

    def _launch(self, open_kwargs: dict[str, Any], *, end_survivors: bool = False) -> Training:
        if open_kwargs:
            names = ", ".join(sorted(open_kwargs))
            raise UsageError(f"{names}: not supported, since the training runs in no Popen")
        training = self._training(end_survivors=end_survivors)
        self._trainings.append(training)
        try:
            training.launch(current_interrupts())
            training.log(
                f"PID {training.pid} triggered with {len(self.commands)} commands running inside "
                f"the {(self.working_dir or '.')!r} directory."
            )
        except BaseException as error:
            self._forget(training)
            training.close(current_interrupts(), error)
            raise
        return training

    def _forget(self, training: Training) -> None:
        if training in self._trainings:  # else the block was closed meanwhile
            self._trainings.remove(training)

    def _training(self, *, end_survivors: bool) -> Training:
        given = {name: getattr(self, name) for name in option_names(Interface.PREFECT)}
        settings = load_settings_and_blocks(given)
        line = command_line(
            "\n".join(self.commands),
            helper_command=None,
            shell=None if self.shell is None else self.shell.lower(),
            extension=self.extension,
            state_dir=settings["state_dir"].value,
        )
        training = make_training(
            line,
            settings,
            env=self.env,
            cwd=None if self.working_dir is None else str(self.working_dir),
            adopt_within_s=self.adopt_within,
            logger=self.logger,
            show=lambda log, text: self._show(training, log, text),
            publish=self.publish,
            on_suspect=OnSuspect(self.on_suspect),
            end_survivors=end_survivors,
        )
        return training

    def _show(self, training: Training, log: str, text: str) -> None:
        if self.stream_output and text:
            label = _LABELS.get(log, "stream output")
            prefix = (self.log_prefix or "").format(pid=training.pid, label=label)
            training.log(prefix.replace("\r\n", "\n").replace("\n", os.linesep) + text)
