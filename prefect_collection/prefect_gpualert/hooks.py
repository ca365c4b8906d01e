"""``gpualert_hook``: an alert when a task or a flow of any kind has come to an end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import replace
from typing import Any, Protocol

from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.logging.loggers import flow_run_logger, task_run_logger

from gpualert_common.errors import ConfigError
from gpualert_common.external_run import ExternalRun
from gpualert_common.guardian.failure import find_failed_run
from gpualert_common.notify.channel_config import alerts_of_each
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import Record
from gpualert_common.settings import OPTIONS, load_settings
from prefect_gpualert import alerts, known_runs
from prefect_gpualert.external_run import error_of, external_run_of
from prefect_gpualert.training import Logger

DEADLINE_S = 15.0
_MARGIN_S = 5.0
"""For what comes before and after the waiting, on a busy machine."""
_MOST_RECORDS = 20
"""Of one flow run: more alerts than that nobody reads."""
_LOOK_S = 0.25


class Hook(Protocol):
    """What Prefect calls: by place for tasks and in engines, by these names in its runner."""

    __name__: str

    def __call__(self, flow: Any, flow_run: Any, state: Any) -> Awaitable[None] | None:
        """Tell of the end of a run.  In an event loop the result is to be awaited."""


def gpualert_hook(
    notify: alerts.Target | Sequence[alerts.Target] | None = None,
    *,
    artifact: str | Sequence[str] | None = None,
    deadline: float | str = DEADLINE_S,
    state_dir: str | os.PathLike[str] | None = None,
) -> Hook:
    """A hook for ``on_failure``, ``on_completion``, ``on_crashed`` or ``on_cancellation``.

    notify: where alerts go, as for ``gpualert_run``; None: as gpualert's configuration says.
    artifact: files that the alert of a task that is not ours shall carry, as patterns.
    deadline: how long the hook waits for its alerts, which are sent all the same.
    state_dir: where the records are kept.

    Of a training the alert is that of its record, and what another hook or the training itself has
    sent to a channel is not sent to it again.  Anything else gets a record made of its state and
    exception.  The hook changes no state: whatever goes wrong in it is logged.
    """
    given = {
        "notify": alerts.tables(notify),
        "artifact": artifact if artifact is None or isinstance(artifact, str) else list(artifact),
        "notify_deadline": deadline,
        "state_dir": None if state_dir is None else os.fspath(state_dir),
    }
    within_s = _seconds(deadline)

    def gpualert_hook(flow: Any, flow_run: Any, state: Any) -> Awaitable[None] | None:
        return _in_time(lambda: _alert(given, flow, flow_run, state), within_s + _MARGIN_S)

    return gpualert_hook


def _seconds(deadline: float | str) -> float:
    try:
        return float(OPTIONS["notify_deadline"].parse(deadline))
    except ValueError as error:
        raise ConfigError(f"gpualert_hook: deadline: {error}") from None


def _in_time(work: Callable[[], None], within_s: float) -> Coroutine[Any, Any, None] | None:
    """Do the work in a thread that nobody waits for longer than ``within_s``.

    In the thread of an event loop a coroutine is returned, which Prefect awaits: the loop's other
    tasks go on meanwhile.
    """
    done: Future[None] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        # Nothing that comes up in here may get to Prefect, to which SystemExit is a crash.
        with contextlib.suppress(BaseException):
            context.run(work)
        done.set_result(None)

    try:
        threading.Thread(target=run, name="gpualert-hook", daemon=True).start()
    except RuntimeError as error:
        logging.getLogger("prefect.gpualert").error("No alert: %s", error)
        return None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with contextlib.suppress(NotInTime):
            done.result(within_s)
        return None
    return _awaited(done, within_s)


async def _awaited(done: Future[None], within_s: float) -> None:
    await asyncio.wait([asyncio.wrap_future(done)], timeout=within_s)


def _alert(given: Mapping[str, Any], of: Any, run: TaskRun | FlowRun, state: State[Any]) -> None:
    """The hook itself, in a thread of its own."""
    logger: Logger = logging.getLogger("prefect.gpualert")
    try:
        if isinstance(run, TaskRun):
            logger = task_run_logger(run, of)
        else:
            logger = flow_run_logger(run, of)
        _Alerting(given, logger).send_alerts(of, run, state)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the state is not ours to change
        with contextlib.suppress(Exception, SystemExit):
            logger.error("No alert: %s: %s", type(error).__name__, error)


class _Alerting:
    """One call of a hook."""

    def __init__(self, given: Mapping[str, Any], logger: Logger) -> None:
        self._logger = logger
        settings = load_settings(given, given_as="gpualert_hook")
        self._deadline = time.monotonic() + settings["notify_deadline"].value
        self._state_dir = settings["state_dir"].value
        settings["artifact"].value = [os.path.abspath(one) for one in settings["artifact"].value]
        if settings["notify_on"].value != "never":
            settings["notify_on"].value = "always"  # whoever set a hook wants to be told
        told = alerts_of_each(settings, alerts.resolved)
        self._alerts, self._secrets, self._problems = told
        for problem in self._problems:
            self._log(f"No alert: {problem}", logging.ERROR)

    def send_alerts(self, owner: Any, run: TaskRun | FlowRun, state: State[Any]) -> None:
        """Send the alerts of a finished run of *owner*, its task or its flow, to every channel."""
        finished = external_run_of(run, owner, state)
        if isinstance(run, TaskRun):
            found = known_runs.of_task(run)
        else:
            found = [] if state.is_completed() else known_runs.of_flow(run.id, self._state_dir)
        if state.is_completed():
            records, is_explained = found, bool(found)
        else:
            records, is_explained = self._explain(finished, error_of(state), found)
        if not is_explained and (self._alerts is not None or self._problems):
            live = [one.run_id for one in found if one.ending is None]
            note = "".join(f"Training {run_id} has not ended yet.\n" for run_id in live)
            finished = replace(finished, log=finished.log + note.encode())
            records.append(finished.record(self._alerts, self._state_dir))
        if len(records) > _MOST_RECORDS:
            left_out = len(records) - _MOST_RECORDS
            self._log(f"No alert of {left_out} more trainings that failed", logging.WARNING)
        for record in records[-_MOST_RECORDS:]:
            self._send(record)

    def _explain(
        self, finished: ExternalRun, error: BaseException | None, found: list[Record]
    ) -> tuple[list[Record], bool]:
        """Return the runs that failed, and whether one of them made the task or the flow fail."""
        raised = find_failed_run(error)
        if raised is not None and raised.path not in [one.path for one in found]:
            found = [*found, raised]
        # A timeout or a signal has no failure of its own: it ended a training, if there was one.
        is_own_failure = isinstance(error, Exception) and not isinstance(error, TimeoutError)
        while True:
            failed = [one for one in found if known_runs.ended_badly(one)]
            if is_own_failure:
                return failed, any(
                    one.spec.get("said") == finished.summary
                    or (raised is not None and one.path == raised.path)
                    for one in failed
                )
            is_live = any(one.ending is None for one in found)
            if failed or not is_live or time.monotonic() >= self._deadline:
                return failed, bool(failed)
            time.sleep(_LOOK_S)  # the guardian is ending the training, which then has a verdict

    def _send(self, record: Record) -> None:
        others = [] if self._alerts is None else self._alerts["channels"]
        told = dispatch(
            record.path,
            secrets=self._secrets,
            extra_channels=others,
            send_now=True,
            deadline_s=max(0.0, self._deadline - time.monotonic()),
        )
        for fields in told:
            self._log(*alerts.line(fields))
        if others and not told:
            self._log(f"No alert of {record.run_id} could be sent from here", logging.WARNING)

    def _log(self, text: str, level: int) -> None:
        with contextlib.suppress(Exception, SystemExit):  # as in a training's own log lines
            self._logger.log(level, "%s", text)
