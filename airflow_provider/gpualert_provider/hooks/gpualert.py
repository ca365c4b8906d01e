"""The hook behind connections of type ``gpualert``: where an alert goes, kept by Airflow."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseHook

from gpualert_common.errors import DeliveryError, GPUAlertError
from gpualert_common.notify.channel_config import channel_class, channel_of
from gpualert_common.notify.channel_secrets import resolve_secrets
from gpualert_common.notify.channels import apprise, smtp
from gpualert_common.redact import Redactor
from gpualert_provider import alerts, connection_form

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_S = 10.0
"""For each answer of a mail server."""
TRIAL_S = 25.0
"""For all of them: whoever asked sits before a page."""

_NOBODY = "nobody@localhost"


class GPUAlertHook(BaseHook):
    """A mail server or a chat that alerts go to, as ``notify="airflow:CONN_ID"``.

    The connection holds either a mail server (host, port, login, password; ``security``, ``from``,
    ``to`` and ``ca_file`` in its extra) or, as its password, the URL of a chat as apprise takes it.

    :param gpualert_conn_id: the connection.
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
        """For Airflow 3.1, which does not read it in the package's metadata."""
        return {
            "hidden_fields": connection_form.HIDDEN,
            "relabeling": connection_form.RELABELING,
            "placeholders": connection_form.PLACEHOLDERS,
        }

    def get_conn(self) -> dict[str, Any]:
        """The channel that the connection is, with its secrets: what ``notify`` takes, too.

        Raises ConfigError.
        """
        return alerts.channel_in(f"airflow:{self.gpualert_conn_id}")

    def test_connection(self) -> tuple[bool, str]:
        """Whether an alert could go there, and what was found, in which no secret stands.

        A mail server is asked, login included, and gets no mail; of a chat only its URL is looked
        at.  Answers within 25 s.
        """
        secrets: list[str] = []
        try:
            found = self.get_conn()
            channel = channel_of(_with_recipients(found), {})
            settings, secrets = resolve_secrets(channel, {})
            secrets += [
                settings[key] for key in channel_class(channel["kind"]).SECRET if key in settings
            ]
            tried, said = _within(lambda: _try(channel["kind"], settings), TRIAL_S)
        except GPUAlertError as error:
            tried, said = False, str(error)
        else:
            if tried and found["kind"] == "smtp" and "to" not in found:
                said += (
                    f"; no recipients: say them in the target, airflow:{self.gpualert_conn_id}?to="
                )
        return tried, Redactor(secrets).mask_text(said)


def _with_recipients(found: dict[str, Any]) -> dict[str, Any]:
    """A channel of mail may leave it to the target who gets it; nobody does here."""
    return {"to": _NOBODY, **found} if found["kind"] == "smtp" else found


def _try(kind: str, settings: dict[str, Any]) -> str:
    if kind == "smtp":
        return smtp.SmtpChannel(settings).probe(WAIT_S)
    return apprise.AppriseChannel(settings).probe()


def _within(ask: Callable[[], str], deadline_s: float) -> tuple[bool, str]:
    """What *ask* returns, or why it failed, at the latest after the deadline."""
    answers: list[tuple[bool, str]] = []

    def answer() -> None:
        try:
            answers.append((True, ask()))
        except DeliveryError as error:
            answers.append((False, str(error)))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(deadline_s)
    return answers[0] if answers else (False, f"no answer within {deadline_s:g} s")
