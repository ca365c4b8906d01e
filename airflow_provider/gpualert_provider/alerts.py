"""Alerts as Airflow's users give and see them: channels in connections, lines in the task log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from airflow.providers.common.compat.sdk import BaseHook

from gpualert_common.errors import ConfigError
from gpualert_common.notify.status_text import UNDELIVERED, format_status
from gpualert_common.notify.targets import is_reference

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

    from gpualert_common.guardian import RunHandle
    from gpualert_common.settings import Setting

    class Log(Protocol):
        """What is needed of a logger; Airflow's own is none of the standard library's."""

        def info(self, text: str, /, *values: object) -> object:
            """Log it."""

        def warning(self, text: str, /, *values: object) -> object:
            """Log it."""


Secrets = Mapping[str, Mapping[str, str]]
"""By channel and setting: what the record does not say."""

_OURS = "airflow:"
_OWN_TYPE = "gpualert"
_MAIL = ("smtp", "email")

TIME_LIMIT_MARGIN_S = 1.0
"""Alerts are waited for no longer than until so long before an ``execution_timeout``."""


def resolve(settings: Mapping[str, Setting]) -> None:
    """Put channels in the place of targets such as ``airflow:CONN_ID``.

    Asks Airflow for the connections.  Raises ConfigError naming the target.
    """
    setting = settings["notify"]
    setting.value = [resolved(target) for target in setting.value]


def resolved(target: Any) -> Any:
    """A target as a channel, where it is one of Airflow's connections.  Raises ConfigError."""
    if not isinstance(target, str) or not target.startswith(_OURS):
        return target
    return {"name": target, **channel_in(target)}


def channel_in(target: str) -> dict[str, Any]:
    """Kind and settings of ``airflow:CONN_ID``, secrets among them.  Raises ConfigError."""
    conn_id, _, query = target.removeprefix(_OURS).partition("?")
    return {**_channel(target, _connection(target, conn_id)), **_given(query)}


def _connection(target: str, conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except Exception as error:  # a secrets backend may raise anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"notify: {target}: no such connection can be had: {problem}") from error


def _given(query: str) -> dict[str, Any]:
    """The settings after the question mark; one that is given twice is a list."""
    found: dict[str, Any] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        found[key] = f"{found[key]},{value}" if key in found else value
    return found


def _channel(target: str, connection: Connection) -> dict[str, Any]:
    extra = connection.extra_dejson
    if connection.conn_type == _OWN_TYPE:
        return _own(target, connection, extra)
    if connection.conn_type in _MAIL:
        return _mail(target, connection, extra)
    config = extra.get("config")  # where the apprise provider keeps it
    places = (extra.get("url"), config.get("path") if isinstance(config, dict) else None)
    for url in (*places, connection.password, connection.host):
        if isinstance(url, str) and "://" in url:
            return {"kind": "apprise", "url": url}
    raise ConfigError(
        f"notify: {target}: a connection of type smtp is mail; one of type "
        f"{connection.conn_type} needs a URL of apprise, as url in its extra or as its password"
    )


def _own(target: str, connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The channel of a connection of our own type: its fields, and in its extra the settings."""
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


def _mail(target: str, connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The channel of a mail connection, with the settings that Airflow's SmtpHook reads."""
    if extra.get("auth_type", "basic") != "basic":
        raise ConfigError(f"notify: {target}: auth_type {extra['auth_type']} is not known here")
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


def settle(handle: RunHandle, secrets: Secrets, log: Log) -> None:
    """Wait for the alerts of a run that has ended, and log what became of each.

    Raises only what Airflow throws in, which is none of the exceptions that alerts could raise.
    """
    try:
        for fields in handle.await_alerts(within_s=_left_s(), secrets=secrets):
            say(fields, log)
    except Exception as error:  # noqa: BLE001 - the task has its state, and no alert changes it
        log.warning("Whether the alerts were sent is not known: %s", error)


def say(fields: Mapping[str, Any], log: Log) -> None:
    """Log what became of one alert."""
    log_it = log.warning if fields["state"] in UNDELIVERED else log.info
    log_it("alert %s", format_status(fields))


def _left_s() -> float | None:
    """How long alerts may be waited for before Airflow's ``execution_timeout`` fails the task.

    A training that ended in time shall not be late because of its alerts.  None: there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    left_s = signal.getitimer(signal.ITIMER_REAL)[0]
    return max(0.0, left_s - TIME_LIMIT_MARGIN_S) if left_s else None


def secrets_of(task: object) -> Secrets:
    """What a GPUAlertOperator that ran in this process knows of its own channels."""
    secrets = getattr(task, "alert_secrets", None)
    return secrets if isinstance(secrets, Mapping) else {}
