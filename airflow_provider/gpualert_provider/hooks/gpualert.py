"""The hook of connections of type ``gpualert``, which are alert channels kept by Airflow."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseHook

from gpualert_common.errors import DeliveryError, GPUAlertError
from gpualert_common.notify.channel_config import channel_class, resolve_channel
from gpualert_common.notify.channel_secrets import resolve_secrets
from gpualert_common.notify.channels import apprise, smtp
from gpualert_common.redact import Redactor
from gpualert_provider import alerts, connection_form

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_S = 10.0
"""Limit for each answer of a mail server."""
TRIAL_S = 25.0
"""Limit for all of them: a user waits in front of a page."""

_NOBODY = "nobody@localhost"


class GPUAlertHook(BaseHook):
    """A mail server or a chat for alerts, used as ``notify="airflow:CONN_ID"``.

    The connection holds either a mail server (host, port, login, password; ``security``, ``from``,
    ``to`` and ``ca_file`` in its extra) or, as its password, an apprise URL of a chat.

    :param gpualert_conn_id: id of the connection.
    """

    conn_name_attr = "gpualert_conn_id"
    default_conn_name = "gpualert_default"
    conn_type = "gpualert"
    hook_name = "GPUAlert"

    def __init__(self, gpualert_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gpualert_conn_id = gpualert_conn_id

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return the form's fields for Airflow 3.1, which does not read the package's metadata."""
        return {
            "hidden_fields": connection_form.HIDDEN,
            "relabeling": connection_form.RELABELING,
            "placeholders": connection_form.PLACEHOLDERS,
        }

    def get_conn(self) -> dict[str, Any]:
        """Return the channel of the connection, with its secrets, in a form that ``notify`` takes.

        Raises ConfigError.
        """
        return alerts.find_channel(f"airflow:{self.gpualert_conn_id}")

    def test_connection(self) -> tuple[bool, str]:
        """Return whether an alert can be sent to the channel, and a message without secrets.

        Connects and logs in to a mail server, and sends no mail; checks only the URL of a chat.
        Returns within 25 s.
        """
        secrets: list[str] = []
        try:
            given = self.get_conn()
            channel = resolve_channel(_with_recipients(given), {})
            settings, secrets = resolve_secrets(channel, {})
            secrets += [
                settings[key] for key in channel_class(channel["kind"]).SECRET if key in settings
            ]
            is_usable, message = _within(lambda: _probe(channel["kind"], settings), TRIAL_S)
        except GPUAlertError as error:
            is_usable, message = False, str(error)
        else:
            if is_usable and given["kind"] == "smtp" and "to" not in given:
                message += (
                    f"; no recipients: name them in the target, airflow:{self.gpualert_conn_id}?to="
                )
        return is_usable, Redactor(secrets).mask_text(message)


def _with_recipients(channel: dict[str, Any]) -> dict[str, Any]:
    """Return a channel with a recipient; that of a connection may leave it to the target."""
    return {"to": _NOBODY, **channel} if channel["kind"] == "smtp" else channel


def _probe(kind: str, settings: dict[str, Any]) -> str:
    if kind == "smtp":
        return smtp.SmtpChannel(settings).probe(WAIT_S)
    return apprise.AppriseChannel(settings).probe()


def _within(probe: Callable[[], str], deadline_s: float) -> tuple[bool, str]:
    """Return True with the result of *probe*, or False with its error or after the deadline."""
    answers: list[tuple[bool, str]] = []

    def answer() -> None:
        try:
            answers.append((True, probe()))
        except DeliveryError as error:
            answers.append((False, str(error)))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(deadline_s)
    return answers[0] if answers else (False, f"no answer within {deadline_s:g} s")
