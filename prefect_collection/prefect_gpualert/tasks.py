"""``gpualert_run``, in place of ``prefect_shell.shell_run_command``."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpualert_common.errors import UsageError
from gpualert_common.settings import given_options
from gpualert_common.suspicion import OnSuspect, parse_on_suspect
from prefect_gpualert import output, suspicion
from prefect_gpualert.command import command_line
from prefect_gpualert.contexts import current
from prefect_gpualert.preparation import load_settings_and_blocks, make_training
from prefect_gpualert.run_log import run_logger
from prefect_gpualert.sync_async import SyncAsyncTask, current_interrupts
from prefect_gpualert.training import Training
from prefect_gpualert.training_result import make_error

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from prefect_gpualert.alerts import Target


@SyncAsyncTask
def gpualert_run(
    command: str,
    env: dict[str, str] | None = None,
    helper_command: str | None = None,
    shell: str | None = None,
    extension: str | None = None,
    return_all: bool = False,
    stream_level: int = logging.INFO,
    cwd: str | bytes | os.PathLike[str] | None = None,
    *,
    timeout: float | str | None = None,
    grace: float | str | None = None,
    hang_timeout: float | str | None = None,
    on_hang: str | None = None,
    on_slowdown: str | None = None,
    streams: str | None = None,
    adopt_within: float | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    notify: Target | Sequence[Target] | None = None,
    notify_on: str | None = None,
    notify_deadline: float | str | None = None,
    warn: bool | None = None,
    artifact: str | Sequence[str] | None = None,
    observe: bool | None = None,
    tracing: bool | None = None,
    rules: str | os.PathLike[str] | None = None,
    job: str | None = None,
    job_dir: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
    sbatch_args: str | Sequence[str] | None = None,
    publish: bool = True,
    on_suspect: str = "warn",
) -> str | list[str]:
    """Run a shell command as a supervised training; returns the last line of its output.

    In an event loop it returns a coroutine, and the loop stays free while the training runs.

    Arguments as for ``shell_run_command``.  The following are keywords; those that are None come
    from gpualert's configuration:

    timeout: wall-clock limit, which also holds when no task follows the training any more.
    grace: time between the first signal of a stop and SIGKILL, in seconds or as "2m".
    hang_timeout: time without output after which the training may hang; it hangs if its processes
        then stand still.
    on_hang: when it hangs: "warn", or "stop", which ends it so that a retry can follow.
    on_slowdown: when its steps become much slower: "profile" or "trace" takes one, as evidence for
        the verdict; "off" takes none.
    streams: "apart", so that the result is stdout alone, as upstream's; "merged": one log with the
        lines of stdout and stderr in their order, of which the result is the last line.
    adopt_within: seconds that the training continues after the death of its engine, so that the
        next attempt of the flow run can adopt it.  None: 15 minutes if the flow run belongs to a
        deployment and has retries left, else 0, which stops it at once.
    state_dir: directory that holds the run records.
    notify: where alerts go: channels, addresses such as "smtp://HOST/?to=ME", tables with settings,
        MailChannel and ChatChannel blocks or their names ("prefect:gpualert-mail/NAME",
        "prefect:gpualert-chat/NAME"), "prefect:secret/NAME" for a Secret block that holds the URL
        of a channel, or "none".
    notify_on: when to send alerts: "failure", "failure_or_stop", "always" or "never".
    notify_deadline: how long the task waits for its alerts; later ones are still sent.
    warn: also alert while the training is in progress.
    artifact: files that alerts carry, as glob patterns.
    observe: sample GPUs, kernel log, memory and disks during the run.
    tracing: have PyTorch ready for ``gpualert trace``.
    rules: directory of your own rules for causes, used in addition to the shipped ones.
    job: name of the job that the training is a part of, equal on all nodes.
    job_dir: directory or URL in which the nodes of a job share what they observe.
    scheduler: "slurm" submits the command as a batch job, once, and follows that; "local" runs it
        on this machine.
    sbatch_args: options of sbatch for that job, a list or a text.
    publish: show verdict and progress in Prefect, by artifacts and an event.
    on_suspect: reaction to a training that exits with 0 although its log reports a failure.
        "warn": the task succeeds, in a state of type Completed named "Suspect"; "fail": it raises
        TrainingFailed; "skip": its state has the type Cancelled and the name "Skipped", so that
        tasks that wait for it do not run.  A call then returns None, and the flow continues.  Of a
        submitted or mapped task ``result()`` raises CancelledRun, and
        ``result(raise_on_failure=False)`` returns None.  A flow that returns the future or the
        state is cancelled.  In each case the run log has a warning, and the alert is sent.

    ``return_all`` returns a list of all lines, of at most the last 32 MiB.

    Raises TrainingFailed, a RuntimeError, if the command failed or was stopped, also if it was
    stopped and exited with 0.  Invalid arguments and missing blocks raise an error before the
    launch.  Errors of alerts are never raised.
    """
    given = given_options(locals())
    reaction = _parse_reaction(on_suspect)
    interrupts = current_interrupts()
    settings = load_settings_and_blocks(given)
    line = command_line(
        command,
        helper_command=helper_command,
        shell=shell,
        extension=extension,
        state_dir=settings["state_dir"].value,
    )
    training = make_training(
        line,
        settings,
        env=env,
        cwd=None if cwd is None else os.fsdecode(cwd),
        adopt_within_s=adopt_within,
        logger=run_logger(),
        show=lambda _log, text: training.log(text, stream_level),
        publish=publish,
        on_suspect=reaction,
        end_survivors=True,
    )
    with training.closing(interrupts):
        training.launch(interrupts)
        result = training.complete(interrupts)
    if not training.is_success(result):
        raise make_error(result, training.redactor)
    value = _output_of(result, training, return_all)
    if not _is_the_task():
        return value
    wrapped: str | list[str] = suspicion.wrap_value(
        value, result.verdict, training.redactor, reaction
    )
    return wrapped


def _parse_reaction(on_suspect: str) -> OnSuspect:
    """Return the reaction to a suspect training.  Raises UsageError."""
    reaction = parse_on_suspect(on_suspect)
    if reaction is OnSuspect.SKIP and not _is_the_task():
        raise UsageError("on_suspect: a training within another task cannot skip that task")
    return reaction


def _is_the_task() -> bool:
    """Return True if Prefect runs the task itself; False inside a task of the user's own."""
    context, _flow = current()
    return context is not None and isinstance(context.task, SyncAsyncTask)


def _output_of(result: RunResult, training: Training, return_all: bool) -> str | list[str]:
    record = result.record
    try:
        if not return_all:
            return output.last_line(record)
        lines, left_out = output.all_lines(record)
    except OSError as error:  # a lost log does not undo the success
        training.log(f"The output cannot be returned: {error}", logging.WARNING)
        return [] if return_all else ""
    if left_out:
        path = record.log_path(record.logs[0])
        training.log(f"The first {left_out:,} bytes of {path} are not returned", logging.WARNING)
    return lines
