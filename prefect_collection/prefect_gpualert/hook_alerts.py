"""The alerts that a hook sends at the end of a task run or a flow run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.logging.loggers import flow_run_logger, task_run_logger

from gpualert_common.external_run import ExternalRun
from gpualert_common.guardian.failure import find_failed_run
from gpualert_common.notify.channel_config import resolve_each_alert
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import Record
from gpualert_common.settings import load_settings
from gpualert_common.structs import replace
from prefect_gpualert import alerts, known_runs
from prefect_gpualert.external_run import find_error, make_external_run
from prefect_gpualert.run_log import Logger, log_line

_MOST_RECORDS = 20
"""The most alerts of one flow run."""
_POLL_S = 0.25


def send_alerts(
    given: Mapping[str, Any], owner: Any, run: TaskRun | FlowRun, state: State[Any]
) -> None:
    """Send the alerts of a finished run of *owner*, its task or its flow; errors are logged."""
    logger: Logger = logging.getLogger("prefect.gpualert")
    try:
        if isinstance(run, TaskRun):
            logger = task_run_logger(run, owner)
        else:
            logger = flow_run_logger(run, owner)
        HookAlerts(given, logger).send(owner, run, state)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a hook does not change the state
        log_line(logger, f"No alert: {type(error).__name__}: {error}", logging.ERROR)


class HookAlerts:
    """The channels and the deadline of one call of a hook."""

    def __init__(self, given: Mapping[str, Any], logger: Logger) -> None:
        self._logger = logger
        settings = load_settings(given, given_as="gpualert_hook")
        self._deadline = time.monotonic() + settings["notify_deadline"].value
        self._state_dir = settings["state_dir"].value
        settings["artifact"].value = [os.path.abspath(one) for one in settings["artifact"].value]
        if settings["notify_on"].value != "never":
            settings["notify_on"].value = "always"  # the hook itself selects the states
        self._alerts, self._secrets, problems = resolve_each_alert(settings, alerts.resolve_target)
        self._has_problems = bool(problems)
        for problem in problems:
            self._log(f"No alert: {problem}", logging.ERROR)

    def send(self, owner: Any, run: TaskRun | FlowRun, state: State[Any]) -> None:
        """Send the alerts of a finished run of *owner*, its task or its flow, to every channel."""
        finished = make_external_run(run, owner, state)
        if isinstance(run, TaskRun):
            found = known_runs.of_task(run)
        else:
            found = [] if state.is_completed() else known_runs.of_flow(run.id, self._state_dir)
        if state.is_completed():
            records, is_explained = found, bool(found)
        else:
            records, is_explained = self._explain(finished, find_error(state), found)
        if not is_explained and (self._alerts is not None or self._has_problems):
            live = [one.run_id for one in found if one.ending is None]
            note = "".join(f"Training {run_id} has not ended yet.\n" for run_id in live)
            finished = replace(finished, log=finished.log + note.encode())
            records.append(finished.record(self._alerts, self._state_dir))
        if len(records) > _MOST_RECORDS:
            left_out = len(records) - _MOST_RECORDS
            self._log(f"No alert of {left_out} more failed trainings", logging.WARNING)
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
            failed = [one for one in found if known_runs.is_final_failure(one)]
            if is_own_failure:
                return failed, any(
                    one.spec.said == finished.summary
                    or (raised is not None and one.path == raised.path)
                    for one in failed
                )
            is_live = any(one.ending is None for one in found)
            if failed or not is_live or time.monotonic() >= self._deadline:
                return failed, bool(failed)
            time.sleep(_POLL_S)  # the guardian is ending the training, which then has a verdict

    def _send(self, record: Record) -> None:
        others = [] if self._alerts is None else self._alerts["channels"]
        deliveries = dispatch(
            record.path,
            secrets=self._secrets,
            extra_channels=others,
            send_now=True,
            deadline_s=max(0.0, self._deadline - time.monotonic()),
        )
        for fields in deliveries:
            self._log(*alerts.delivery_line(fields))
        if others and not deliveries:
            self._log(f"No alert of {record.run_id} could be sent from here", logging.WARNING)

    def _log(self, text: str, level: int) -> None:
        log_line(self._logger, text, level)
