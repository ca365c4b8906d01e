"""Alerts in Airflow's terms: channels from connections, and the status in the task log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from airflow.providers.common.compat.sdk import BaseHook

from gpualert_common.errors import ConfigError
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.status_text import UNDELIVERED, format_status
from gpualert_common.notify.targets import is_reference

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

    from gpualert_common.guardian import RunHandle
    from gpualert_common.settings import Setting

    class Log(Protocol):
        """The part of a logger that is used; Airflow's own is not of the standard library."""

        def info(self, text: str, /, *values: object) -> object:
            """Log the text."""

        def warning(self, text: str, /, *values: object) -> object:
            """Log the text."""

        def error(self, text: str, /, *values: object) -> object:
            """Log the text."""


Secrets = Mapping[str, Mapping[str, str]]
"""Secrets by channel and setting, which the record does not contain."""

_OURS = "airflow:"
_OWN_TYPE = "gpualert"
_MAIL = ("smtp", "email")

TIME_LIMIT_MARGIN_S = 1.0
"""The wait for alerts ends so long before an ``execution_timeout``."""


def resolve_settings(settings: Mapping[str, Setting]) -> None:
    """Replace targets such as ``airflow:CONN_ID`` by the channels of Airflow's connections.

    Raises ConfigError naming the target.
    """
    setting = settings["notify"]
    setting.value = [resolve_target(target) for target in setting.value]


def resolve_target(target: Any) -> Any:
    """Return a target; one that names a connection as its channel.  Raises ConfigError."""
    if not isinstance(target, str) or not target.startswith(_OURS):
        return target
    return {"name": target, **find_channel(target)}


def find_channel(target: str) -> dict[str, Any]:
    """Return kind, settings and secrets of ``airflow:CONN_ID``.  Raises ConfigError."""
    conn_id, _, query = target.removeprefix(_OURS).partition("?")
    return {**_channel_of(target, _connection(target, conn_id)), **_parse_query(query)}


def _connection(target: str, conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except Exception as error:  # a secrets backend may raise anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"notify: {target}: this connection cannot be read: {problem}") from error


def _parse_query(query: str) -> dict[str, Any]:
    """Return the settings after the question mark; one that is given twice is a list."""
    found: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        found[key] = f"{found[key]},{value}" if key in found else value
    return found


def _channel_of(target: str, connection: Connection) -> dict[str, Any]:
    extra = connection.extra_dejson
    if connection.conn_type == _OWN_TYPE:
        return _gpualert_channel(target, connection, extra)
    if connection.conn_type in _MAIL:
        return _mail_channel(target, connection, extra)
    config = extra.get("config")  # where the apprise provider keeps it
    places = (extra.get("url"), config.get("path") if isinstance(config, dict) else None)
    for url in (*places, connection.password, connection.host):
        if isinstance(url, str) and "://" in url:
            return {"kind": "apprise", "url": url}
    raise ConfigError(
        f"notify: {target}: a connection of type smtp is mail; one of type "
        f"{connection.conn_type} needs a URL of apprise, as url in its extra or as its password"
    )


def _gpualert_channel(
    target: str, connection: Connection, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the channel of a connection of type ``gpualert``: its fields and its extra."""
    more = {key: value for key, value in extra.items() if value not in (None, "")}
    url = connection.password or ""
    if connection.host:
        if bool(connection.login) != bool(connection.password):
            raise ConfigError(f"notify: {target}: login and password of a mail server go together")
        fields = {
            "host": connection.host,
            "port": connection.port,
            "user": connection.login,
            "password": connection.password,
        }
        return {"kind": "smtp", **{key: value for key, value in fields.items() if value}, **more}
    if "://" in url or is_reference(url):
        return {"kind": "apprise", "url": url, **more}
    raise ConfigError(
        f"notify: {target}: a connection of type {_OWN_TYPE} needs a mail server as its host, or a "
        "URL of apprise as its password"
    )


def _mail_channel(target: str, connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the channel of a mail connection, by the settings that Airflow's SmtpHook reads."""
    if extra.get("auth_type", "basic") != "basic":
        raise ConfigError(f"notify: {target}: auth_type {extra['auth_type']} is not supported")
    security = "ssl"
    if extra.get("disable_ssl", False):
        security = "none" if extra.get("disable_tls", False) else "starttls"
    with_login = bool(connection.login and connection.password)
    found = {
        "kind": "smtp",
        "host": connection.host,
        "port": connection.port,
        "security": security,
        "user": connection.login if with_login else None,
        "password": connection.password if with_login else None,
        "from": extra.get("from_email"),
        "to": extra.get("to"),
        "ca_file": extra.get("ca_file"),
    }
    return {key: value for key, value in found.items() if value is not None}


def await_alerts(handle: RunHandle, secrets: Secrets, log: Log) -> None:
    """Wait for the alerts of a run that has ended, and log the status of each.

    Raises only the exceptions of Airflow's signal handlers.
    """
    try:
        for fields in handle.await_alerts(within_s=get_left_s(), secrets=secrets):
            log_status(fields, log)
    except Exception as error:  # noqa: BLE001 - no alert changes the state of the task
        log.warning("The status of the alerts is not known: %s", error)


def log_status(fields: EntryFields, log: Log) -> None:
    """Log the status of one alert."""
    log_it = log.warning if fields["state"] in UNDELIVERED else log.info
    log_it("alert %s", format_status(fields))


def get_left_s() -> float | None:
    """Return the seconds before Airflow's ``execution_timeout`` fails the task; None for no limit.

    A training that ends in time must not exceed its limit because of its alerts.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    left_s = signal.getitimer(signal.ITIMER_REAL)[0]
    return max(0.0, left_s - TIME_LIMIT_MARGIN_S) if left_s else None


def find_task_secrets(task: object) -> Secrets:
    """Return the secrets of the channels of a GPUAlertOperator that ran in this process."""
    secrets = getattr(task, "alert_secrets", None)
    return secrets if isinstance(secrets, Mapping) else {}
