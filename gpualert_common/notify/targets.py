"""Targets of alerts as users write them in a line, turned into tables of channel settings.

=============================  =========================================================
``mailbox``, ``mailbox:PATH``  a Maildir, by default in the state directory
``smtp://USER@HOST/?to=...``   mail; the other settings of the channel as parameters
``command:LINE``               a program that gets the message on its stdin
``otlp+http://HOST:PORT``      a log record by OTLP; also ``otlp+https://``
``env:NAME``, ``file:PATH``    a URL of apprise, kept out of command lines and files
``SCHEME://...``               any other URL is apprise's
=============================  =========================================================
"""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAILBOX = "mailbox"
REFERENCES = ("env:", "file:")
"""Prefixes of a setting that names where a secret is, in place of the secret."""


def parse_target(target: str) -> dict[str, Any] | None:
    """Return the settings that a target in a line describes; None when it is not one.

    Raises ConfigError.
    """
    if target.startswith(f"{MAILBOX}:"):
        return {"kind": MAILBOX, "path": absolute_path(target.removeprefix(f"{MAILBOX}:"))}
    if target.startswith("command:"):
        return {"kind": "command", "command": target.removeprefix("command:")}
    if target.startswith(("smtp://", "smtps://")):
        return _parse_mail(target)
    if target.startswith(("otlp+http://", "otlp+https://")):
        return {"kind": "otlp", "endpoint": target.removeprefix("otlp+")}
    if is_reference(target) or "://" in target:
        return {"kind": "apprise", "url": target}
    return None


def is_reference(value: object) -> bool:
    """True for a setting that names where a secret is."""
    return isinstance(value, str) and value.startswith(REFERENCES)


def format_target(target: str) -> str:
    """Return a target as an error may show it: a URL's scheme without its tokens."""
    scheme, separator, _rest = target.partition("://")
    return f"{scheme}://..." if separator else repr(target)


def absolute_path(path: str) -> str:
    """Return a path of the user as an absolute one: the sender works in another directory."""
    return os.path.abspath(os.path.expanduser(path))


def _parse_mail(target: str) -> dict[str, Any]:
    from urllib.parse import parse_qsl, unquote, urlsplit

    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"notify: {format_target(target)}: {error}") from None
    given = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "security": "ssl" if parts.scheme == "smtps" else None,
    }
    table = {key: value for key, value in given.items() if value is not None}
    return {"kind": "smtp", **table, **dict(parse_qsl(parts.query))}
