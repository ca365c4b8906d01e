"""``gpualert_run`` and ``agpualert_run``: in place of ``prefect_shell.shell_run_command``."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

import anyio
from prefect import get_run_logger, task
from prefect.context import TaskRunContext
from prefect.exceptions import MissingContextError
from prefect.logging import get_logger

from gpualert_common import config
from gpualert_common.api import make_spec
from prefect_gpualert import alerts
from prefect_gpualert.attempts import current_attempt, next_within_s
from prefect_gpualert.command import command_line
from prefect_gpualert.following import Logger, Training
from prefect_gpualert.interrupts import Interrupts

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_awaited: ContextVar[Interrupts] = ContextVar("awaited")
"""Set in the thread of a task that is awaited, which may be interrupted from outside."""


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
    notify: str | Sequence[str | Mapping[str, Any]] | None = None,
    notify_on: str | None = None,
    notify_deadline: float | str | None = None,
    artifact: str | Sequence[str] | None = None,
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
    notify: where alerts go: channels, addresses such as "smtp://HOST/?to=ME", tables with settings,
        "prefect:secret/NAME" for a Secret block that holds the URL of a channel, or "none".
    notify_on: "failure", "always" or "never".
    notify_deadline: how long the task waits for its alerts, which are sent all the same.
    artifact: files that an alert shall carry, as patterns.

    ``return_all`` returns every line, as a list, of at most the last 32 MiB.

    Raises TrainingFailed, a RuntimeError, when the command failed or was stopped by anybody, also
    when its status is 0 then.  What can be seen to be wrong before the launch, a block that is not
    there among it, is raised then.  No fault of an alert is ever raised.
    """
    interrupts = _interrupts()
    settings = _settings(
        timeout=timeout,
        grace=grace,
        state_dir=None if state_dir is None else os.fspath(state_dir),
        notify=notify,
        notify_on=notify_on,
        notify_deadline=notify_deadline,
        artifact=artifact,
    )
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
    attempt = current_attempt(line, env, place, adopt_within)
    training = Training(spec, attempt, _logger(), stream_level, return_all, next_within_s())
    return training.run(interrupts)


def _with_parameters_of(
    _function: Callable[Parameters, Result],
) -> Callable[
    [Callable[..., Coroutine[Any, Any, Result]]], Callable[Parameters, Coroutine[Any, Any, Result]]
]:
    """Prefect reads the parameters of a task from its signature."""

    def decorate(function: Any) -> Any:
        function.__signature__ = inspect.signature(_function)
        return function

    return decorate


@task
@_with_parameters_of(gpualert_run.fn)
async def agpualert_run(*args: Any, **kwargs: Any) -> str | list[str]:
    """As :func:`gpualert_run`, for an async flow; the event loop stays free meanwhile."""
    interrupts = _interrupts()
    run = functools.partial(_context_with(interrupts).run, gpualert_run.fn, *args, **kwargs)
    # A thread of its own: the loop's are few, and a training holds one for days.
    thread = ThreadPoolExecutor(1, thread_name_prefix="gpualert")
    following = asyncio.get_running_loop().run_in_executor(thread, run)
    try:
        return await asyncio.shield(following)
    except BaseException:
        interrupts.ask()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([following])
        raise
    finally:
        thread.shutdown(wait=False)


def _settings(**given: Any) -> dict[str, config.Setting]:
    settings = config.load(given, given_as="argument")
    if settings["streams"].value == "auto":
        settings["streams"].value = "apart"  # what is returned is a line of stdout, as upstream's
    alerts.resolve(settings)
    return settings


def _logger() -> Logger:
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger("gpualert")


def _context_with(interrupts: Interrupts) -> Context:
    context = copy_context()
    context.run(_awaited.set, interrupts)
    return context


def _interrupts() -> Interrupts:
    awaited = _awaited.get(None)
    if awaited is not None:
        return awaited
    context = TaskRunContext.get()
    return Interrupts(None if context is None else context.task.timeout_seconds)
