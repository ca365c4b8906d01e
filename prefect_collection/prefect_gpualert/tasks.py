"""``gpualert_run``, in place of ``prefect_shell.shell_run_command``."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpualert_common.settings import given_options
from prefect_gpualert import output, suspicion
from prefect_gpualert.command import command_line
from prefect_gpualert.contexts import current
from prefect_gpualert.prepare import run_logger, settings_of, training_of
from prefect_gpualert.sync_async import EitherTask, interrupts
from prefect_gpualert.training import Training, ended_well, failure

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from prefect_gpualert.alerts import Target


@EitherTask
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
    adopt_within: float | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    notify: Target | Sequence[Target] | None = None,
    notify_on: str | None = None,
    notify_deadline: float | str | None = None,
    warn: bool | None = None,
    artifact: str | Sequence[str] | None = None,
    observe: bool | None = None,
    rules: str | os.PathLike[str] | None = None,
    publish: bool = True,
) -> str | list[str]:
    """Run a shell command as a supervised training; returns the last line of its output.

    In an event loop it gives a coroutine, to be awaited, and the loop stays free meanwhile.

    Arguments as for ``shell_run_command``, and, as keywords, what is None coming from gpualert's
    configuration:

    timeout: wall-clock limit, which also holds when no task follows the training any more.
    grace: time between the first signal of a stop and SIGKILL, in seconds or as "2m".
    adopt_within: seconds that the training may go on after its engine died, for the next run of the
        same flow run to adopt it.  None: 60 s and the retry delay while the task or the flow has
        retries left, else 0, which ends it at once.
    state_dir: where the run record is kept.
    notify: where alerts go: channels, addresses such as "smtp://HOST/?to=ME", tables with settings,
        MailChannel and ChatChannel blocks or their names ("prefect:gpualert-mail/NAME",
        "prefect:gpualert-chat/NAME"), "prefect:secret/NAME" for a Secret block that holds the URL
        of a channel, or "none".
    notify_on: when to send alerts: "failure", "always" or "never".
    notify_deadline: how long the task waits for its alerts; later ones are still sent.
    warn: also alert while the training is in progress.
    artifact: files that alerts carry, as glob patterns.
    observe: sample GPUs, kernel log, memory and disks during the run.
    rules: directory of your own rules for causes, used beside the shipped ones.
    publish: show verdict and progress in Prefect, by artifacts and an event.

    ``return_all`` returns every line, as a list, of at most the last 32 MiB.

    A training that ended with 0 although its log says that something went wrong is a success; its
    task's state, Completed, is then called "Suspect", and the run log has a warning.

    Raises TrainingFailed, a RuntimeError, when the command failed or was stopped by anybody, also
    when its status is 0 then.  What can be seen to be wrong before the launch, a block that is not
    there among it, is raised then.  No fault of an alert is ever raised.
    """
    given = given_options(locals())
    asked = interrupts()
    settings = settings_of(given)
    line = command_line(
        command,
        helper_command=helper_command,
        shell=shell,
        extension=extension,
        state_dir=settings["state_dir"].value,
    )
    training = training_of(
        line,
        settings,
        env=env,
        cwd=None if cwd is None else os.fsdecode(cwd),
        adopt_within_s=adopt_within,
        logger=run_logger(),
        show=lambda _log, text: training.tell(text, stream_level),
        publish=publish,
        end_survivors=True,
    )
    with training.closing(asked):
        training.launch(asked)
        result = training.complete(asked)
    if not ended_well(result):
        raise failure(result)
    value = _returned(result, training, return_all)
    return suspicion.completed(value, result.verdict) if _is_the_task() else value


def _is_the_task() -> bool:
    """True when the caller is the engine of a task of ours, and no task of the user's own."""
    context, _flow = current()
    return context is not None and isinstance(context.task, EitherTask)


def _returned(result: RunResult, training: Training, return_all: bool) -> str | list[str]:
    path = result.record.log_path(result.record.logs[0])
    try:
        if not return_all:
            return output.last_line(path)
        lines, left_out = output.all_lines(path)
    except OSError as error:  # the training has succeeded, whatever became of its log since
        training.tell(f"The output cannot be returned: {error}", logging.WARNING)
        return [] if return_all else ""
    if left_out:
        training.tell(f"The first {left_out:,} bytes of {path} are not returned", logging.WARNING)
    return lines
