"""A callback that sends an alert at the end of a task, whatever its operator is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseNotifier

from gpualert_common.notify.channel_config import resolve_each_alert
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.settings import load_settings
from gpualert_provider import alerts
from gpualert_provider.finished_attempt import FinishedAttempt

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

DEADLINE_S = 15.0
"""Airflow kills a task's process, callbacks included, 20 s after its end: task_success_overtime."""


class GPUAlertNotifier(BaseNotifier):
    """Send an alert by gpualert's channels: one by each, also after several calls for an attempt.

    For ``on_failure_callback``, ``on_retry_callback``, ``on_success_callback`` and
    ``on_skipped_callback`` of any operator: the callback decides when the alert is sent.  The alert
    of a GPUAlertOperator is the operator's own; that of another operator contains the error and the
    log.  It never raises and never waits longer than its deadline.  The delivery then continues in
    the background, and ``gpualert outbox list`` shows it.

    :param notify: the recipients: a target or a list of them, as GPUAlertOperator's ``notify``.
        None: from gpualert's configuration, or else the mailbox in the state directory.
    :param artifact: patterns, directory included, of files to attach to the alert of another
        operator's task.
    :param notify_deadline: timedelta, seconds or text such as "10s".  None: 15 s.
    """

    def __init__(
        self,
        notify: str | Sequence[str | Mapping[str, Any]] | None = None,
        artifact: str | Sequence[str] | None = None,
        notify_deadline: timedelta | float | str | None = None,
    ) -> None:
        super().__init__()
        self.targets = notify
        self.artifact = artifact
        self.notify_deadline = DEADLINE_S if notify_deadline is None else notify_deadline

    def notify(self, context: Context) -> None:
        """Send the alert, and log its status."""
        try:
            for fields in self._send(context):
                alerts.log_status(fields, self.log)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - no alert fails its task
            self.log.error("No alert was sent: %s: %s", type(error).__name__, error)

    def _send(self, context: Context) -> list[EntryFields]:
        given = {
            "notify": self.targets,
            "artifact": self.artifact,
            "notify_deadline": self.notify_deadline,
        }
        settings = load_settings(given, given_as="argument")
        if settings["notify_on"].value != "never":
            settings["notify_on"].value = "always"  # the callback decides when
        wanted, given_secrets, problems = resolve_each_alert(settings, alerts.resolve_target)
        for problem in problems:
            self.log.warning("An alert cannot be sent: %s", problem)
        if wanted is None:
            return []
        secrets: alerts.Secrets = given_secrets
        attempt = FinishedAttempt.of(context)
        record = attempt.find_training(settings["state_dir"].value)
        if record is None:
            record = attempt.to_external_run().record(wanted, settings["state_dir"].value)
        else:
            secrets = {**alerts.find_task_secrets(attempt.task), **given_secrets}
        deadline_s = settings["notify_deadline"].value
        return dispatch(
            record.path,
            secrets=secrets,
            extra_channels=wanted["channels"],
            send_now=True,
            deadline_s=deadline_s,
        )
