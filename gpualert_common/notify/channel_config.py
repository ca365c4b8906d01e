"""From what the user wrote to channels: checked, with secrets apart from what the record may hold.

A target is the name of a channel in a configuration file, a table with the settings of one, or one
of these in a line:

=============================  =========================================================
``none``                       nobody is told
``mailbox``, ``mailbox:PATH``  a Maildir, by default in the state directory
``smtp://USER@HOST/?to=...``   mail; the other settings of the channel as parameters
``command:LINE``               a program that gets the message on its stdin
``env:NAME``, ``file:PATH``    a URL of apprise, kept out of command lines and files
``SCHEME://...``               any other URL is apprise's
=============================  =========================================================
"""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gpualert_common.config import Setting

NONE = "none"
MAILBOX = "mailbox"
WITHHELD = "withheld"
"""Stands in a record for a secret that was given in person."""
REFERENCES = ("env:", "file:")

UNDELIVERED = "undelivered"
_CHANNELS = "gpualert_common.notify.channels"


def alerts_of(
    settings: Mapping[str, Setting],
) -> tuple[dict[str, Any] | None, dict[str, dict[str, str]]]:
    """What the record says of the alerts (None: there are none), and the secrets it does not.

    Secrets are by channel and setting.  Raises ConfigError that names the channel and the setting.
    """
    targets = settings["notify"].value
    if NONE in targets or settings["notify_on"].value == "never":
        return None, {}
    tables = settings["channels"].value
    channels = []
    secrets = {}
    for target in dict.fromkeys(targets) if _are_texts(targets) else targets:
        channel = channel_of(target, tables)
        withheld = withhold(channel)
        if withheld:
            secrets[channel["name"]] = withheld
        channels.append(channel)
    if not channels:
        return None, {}
    names = [channel["name"] for channel in channels]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"notify: two channels are called {name}; nobody could tell them apart"
            )
    told = {
        "channels": channels,
        "on": settings["notify_on"].value,
        "warn": settings["warn"].value,
        "deadline_s": settings["notify_deadline"].value,
        "artifacts": settings["artifact"].value,
        "templates": _absolute(settings["templates"].value),
    }
    return told, secrets


def alerts_of_each(
    settings: Mapping[str, Setting], resolve: Callable[[Any], Any]
) -> tuple[dict[str, Any] | None, dict[str, dict[str, str]], list[ConfigError]]:
    """As :func:`alerts_of` for every target that can be had, and what is wrong with the others.

    For callbacks, where one channel that is wrong shall not silence the others.  ``resolve`` turns
    an engine's own kind of target into a channel, and may raise ConfigError too.
    """
    channels: list[dict[str, Any]] = []
    secrets: dict[str, dict[str, str]] = {}
    told: dict[str, Any] | None = None
    problems = []
    targets = settings["notify"].value
    for target in [] if NONE in targets else targets:
        try:
            settings["notify"].value = [resolve(target)]
            one, given = alerts_of(settings)
        except ConfigError as error:
            problems.append(error)
            continue
        if one is not None:
            channels += one["channels"]
            told = {**one, "channels": channels}
            secrets |= given
    settings["notify"].value = targets
    return told, secrets, problems


def channel_of(
    target: str | Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The channel that a target names: {"name", "kind", "settings"}, checked.

    Raises ConfigError.
    """
    if not isinstance(target, str):
        table = dict(target)
        where = f"channel {table.get('name') or table.get('kind')}"
        name = str(table.pop("name", "")) or None
        return _checked(name, table, where)
    if target in tables:
        return _checked(target, dict(tables[target]), f"[channels.{target}]")
    if target == MAILBOX:  # the default costs no import before the launch
        return {"name": MAILBOX, "kind": MAILBOX, "settings": {}}
    written = _in_a_line(target)
    if written is None:
        known = ", ".join([*tables, MAILBOX, NONE])
        raise ConfigError(
            f"notify: {shown(target)} is neither a known channel ({known}) nor an address such as "
            "smtp://HOST/?to=ME, command:PROGRAM, env:NAME or a URL of apprise"
        )
    return _checked(None, written, f"notify: {shown(target)}")


def class_of(kind: str) -> Any:
    """The channel class of that kind: a file beside this one, or ``package.module`` of anybody's.

    Whatever importing that raises gets out.
    """
    from importlib import import_module

    name = kind if "." in kind else f"{_CHANNELS}.{kind}"
    return import_module(name).Channel


def kinds() -> list[str]:
    """Every kind that comes with us."""
    folder = os.path.join(os.path.dirname(__file__), "channels")
    found = (name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))
    return sorted(name for name in found if not name.startswith("_"))


def checked(channel: Any, settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """``settings`` as ``channel`` wants them; references to secrets stay as they are.

    Raises ConfigError naming ``where`` and the setting.
    """
    found = {}
    for key, value in settings.items():
        if key not in channel.KEYS:
            raise ConfigError(f"{where}: {key}: unknown key; known are {', '.join(channel.KEYS)}")
        if is_reference(value):
            found[key] = value
            continue
        try:
            found[key] = channel.KEYS[key][0](value)
        except ValueError as error:
            raise ConfigError(f"{where}: {key}: {error}") from None
    for key in channel.REQUIRED:
        if key not in found:
            raise ConfigError(f"{where}: {key} is missing: {channel.KEYS[key][1]}")
    return found


def undelivered(record_path: str) -> str:
    """The folder of names of records with open alerts, beside the one that holds the records."""
    return os.path.join(place_of(record_path), UNDELIVERED)


def place_of(record_path: str) -> str:
    """The state directory that a record lies in."""
    return os.path.dirname(os.path.dirname(record_path))


def is_left(record_path: str) -> bool:
    """True when an alert of this run is open."""
    return os.path.lexists(os.path.join(undelivered(record_path), os.path.basename(record_path)))


def is_any_left(record_path: str) -> bool:
    """True when an alert of some run in the same state directory is open."""
    try:
        return bool(os.listdir(undelivered(record_path)))
    except OSError:
        return False


def is_reference(value: object) -> bool:
    """True for a value that says where a secret is to be had."""
    return isinstance(value, str) and value.startswith(REFERENCES)


def shown(target: str) -> str:
    """A target as an error may show it: a URL's scheme, not its tokens."""
    scheme, separator, _rest = target.partition("://")
    return f"{scheme}://..." if separator else repr(target)


def _checked(name: str | None, table: dict[str, Any], where: str) -> dict[str, Any]:
    kind = table.pop("kind", None)
    if not isinstance(kind, str) or (kind not in kinds() and "." not in kind):
        known = ", ".join(kinds())
        raise ConfigError(f"{where}: kind: {kind!r} is none of {known}, nor a module of yours")
    if "." in kind:  # somebody else's code: it is imported where it cannot hurt the run
        settings, secret = table, tuple(table)
    else:
        found = class_of(kind)
        settings, secret = checked(found, table, where), found.SECRET
    settings = {key: _found_from_anywhere(value) for key, value in settings.items()}
    return {"name": name or _named(kind, settings, secret), "kind": kind, "settings": settings}


def _found_from_anywhere(value: Any) -> Any:
    """A reference to a file by its whole path: the sender has another working directory."""
    if isinstance(value, str) and value.startswith("file:"):
        return f"file:{_absolute(value.removeprefix('file:'))}"
    return value


def _named(kind: str, settings: Mapping[str, Any], secret: Sequence[str]) -> str:
    """A name that is the same for the same settings.

    It stands beside everything of them but the ``secret`` ones; so these go through a slow hash,
    and a password not even into that: two users of one mail server have other names or addresses.
    """
    import hashlib

    plain = sorted((key, value) for key, value in settings.items() if key not in secret)
    hidden = sorted(
        (key, value) for key, value in settings.items() if key in secret and key != "password"
    )
    text = repr((kind, plain)).encode("utf-8", "surrogatepass")
    if hidden:
        kept = repr(hidden).encode("utf-8", "surrogatepass")
        text += hashlib.scrypt(kept, salt=b"gpualert", n=1 << 14, r=8, p=1)
    return f"{kind}-{hashlib.sha256(text).hexdigest()[:10]}"


def withhold(channel: dict[str, Any]) -> dict[str, str]:
    """Take the secrets that were given in person out of a channel's settings; returns them."""
    settings = channel["settings"]
    if not settings:
        return {}
    # Of a stranger's channel nothing is known before it is imported: all of it is kept secret.
    secret = settings if "." in channel["kind"] else class_of(channel["kind"]).SECRET
    given = {key: settings[key] for key in secret if key in settings}
    given = {key: value for key, value in given.items() if not is_reference(value)}
    channel["settings"] = {**settings, **dict.fromkeys(given, WITHHELD)}
    return given


def _in_a_line(target: str) -> dict[str, Any] | None:
    if target.startswith(f"{MAILBOX}:"):
        return {"kind": MAILBOX, "path": _absolute(target.removeprefix(f"{MAILBOX}:"))}
    if target.startswith("command:"):
        return {"kind": "command", "command": target.removeprefix("command:")}
    if target.startswith(("smtp://", "smtps://")):
        return _mail(target)
    if target.startswith(REFERENCES) or "://" in target:
        return {"kind": "apprise", "url": target}
    return None


def _mail(target: str) -> dict[str, Any]:
    from urllib.parse import parse_qsl, unquote, urlsplit

    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"notify: {shown(target)}: {error}") from None
    given = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "security": "ssl" if parts.scheme == "smtps" else None,
    }
    table = {key: value for key, value in given.items() if value is not None}
    return {"kind": "smtp", **table, **dict(parse_qsl(parts.query))}


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(os.path.expanduser(path))


def _are_texts(targets: Sequence[Any]) -> bool:
    return all(isinstance(target, str) for target in targets)
