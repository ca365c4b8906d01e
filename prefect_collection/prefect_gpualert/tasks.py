"""``gpualert_run`` and ``agpualert_run``: in place of ``prefect_shell.shell_run_command``."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from concurrent.futures import ThreadPoolExecutor

import anyio
from prefect import get_run_logger, task
from prefect.context import TaskRunContext
from prefect.exceptions import MissingContextError
from prefect.logging import get_logger

from gpualert_common import config
from gpualert_common.api import make_spec
from prefect_gpualert.attempts import current_attempt, retries_left
from prefect_gpualert.command import command_line
from prefect_gpualert.following import Logger, Training
from prefect_gpualert.interrupts import Interrupts


@task
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
) -> str | list[str]:
    """Run a shell command as a supervised training; returns the last line of its output.

    Arguments as for ``shell_run_command``, and, as keywords, what is None coming from gpualert's
    configuration:

    timeout: wall-clock limit that holds even when nobody follows the training any more.
    grace: time between the first signal of a stop and the end by force, in seconds or as "2m".
    adopt_within: seconds that the training may go on after its engine died, for the next run of the
        same flow run to adopt it.  None: 60 s and the retry delay while the task or the flow has
        retries left, else 0, which ends it at once.
    state_dir: where the run record is kept.

    ``return_all`` returns every line, as a list, of at most the last 32 MiB.

    Raises TrainingFailed, a RuntimeError, when the command failed or was stopped by anybody, also
    when its status is 0 then.
    """
    training = _training(
        command,
        env,
        helper_command,
        shell,
        extension,
        return_all,
        stream_level,
        cwd,
        timeout,
        grace,
        adopt_within,
        state_dir,
    )
    return training.run(_interrupts())


@task
async def agpualert_run(
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
) -> str | list[str]:
    """As :func:`gpualert_run`, for an async flow; the event loop stays free meanwhile."""
    training = _training(
        command,
        env,
        helper_command,
        shell,
        extension,
        return_all,
        stream_level,
        cwd,
        timeout,
        grace,
        adopt_within,
        state_dir,
    )
    interrupts = _interrupts()
    # A thread of its own: the loop's are few, and a training holds one for days.
    thread = ThreadPoolExecutor(1, thread_name_prefix="gpualert")
    run = contextvars.copy_context().run
    following = asyncio.get_running_loop().run_in_executor(thread, run, training.run, interrupts)
    try:
        return await asyncio.shield(following)
    except BaseException:
        interrupts.ask()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([following])
        raise
    finally:
        thread.shutdown(wait=False)


def _training(
    command: str,
    env: dict[str, str] | None,
    helper_command: str | None,
    shell: str | None,
    extension: str | None,
    return_all: bool,
    stream_level: int,
    cwd: str | bytes | os.PathLike[str] | None,
    timeout: float | str | None,
    grace: float | str | None,
    adopt_within: float | None,
    state_dir: str | os.PathLike[str] | None,
) -> Training:
    given = {
        "timeout": timeout,
        "grace": grace,
        "state_dir": None if state_dir is None else os.fspath(state_dir),
    }
    settings = config.load(given, given_as="argument")
    if settings["streams"].value == "auto":
        settings["streams"].value = "apart"  # what is returned is a line of stdout, as upstream's
    place = None if cwd is None else os.fsdecode(cwd)
    line = command_line(
        command,
        helper_command=helper_command,
        shell=shell,
        extension=extension,
        state_dir=settings["state_dir"].value,
    )
    context = TaskRunContext.get()
    spec = make_spec(
        line,
        settings,
        cwd=place,
        name=None if context is None else context.task_run.name,
        env=None if env is None else {**os.environ, **env},
    )
    return Training(
        spec,
        current_attempt(line, env, place, adopt_within),
        _logger(),
        stream_level,
        return_all,
        is_last=context is None or retries_left(context.task, context.task_run) == 0,
    )


def _logger() -> Logger:
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger("gpualert")


def _interrupts() -> Interrupts:
    context = TaskRunContext.get()
    return Interrupts(None if context is None else context.task.timeout_seconds)
