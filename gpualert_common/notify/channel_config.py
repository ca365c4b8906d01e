"""Channels from the user's configuration: checked, and with their secrets kept out of the record.

A target is the name of a channel in a configuration file, a table with the settings of one,
``none``, or a line that :mod:`.targets` can parse.
"""

from __future__ import annotations

from gpualert_common.errors import ConfigError
from gpualert_common.notify.targets import (
    MAILBOX,
    absolute_path,
    format_target,
    is_reference,
    parse_target,
)
from gpualert_common.plugins import load_plugin, plugin_names
from gpualert_common.suggestions import suggest, suggest_or_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gpualert_common.launch_record import AlertSettings, ChannelConfig
    from gpualert_common.settings import Setting

    Secrets = dict[str, dict[str, str]]
    """By channel and setting."""

NONE = "none"
WITHHELD = "withheld"
"""Placeholder in a record for a secret that the user passed directly."""
_CHANNELS = "gpualert_common.notify.channels"


def resolve_alerts(settings: Mapping[str, Setting]) -> tuple[AlertSettings | None, Secrets]:
    """Return the alerts of a run for the record (None for no alerts), and their secrets.

    Raises ConfigError that names the channel and the setting.
    """
    if NONE in settings["notify"].value or settings["notify_on"].value == "never":
        return None, {}
    tables = settings["channels"].value
    channels = []
    secrets = {}
    for target in list_targets(settings):
        channel = resolve_channel(target, tables)
        withheld = withhold_secrets(channel)
        if withheld:
            secrets[channel["name"]] = withheld
        channels.append(channel)
    if not channels:
        return None, {}
    _require_distinct([channel["name"] for channel in channels])
    templates = settings["templates"].value
    alerts: AlertSettings = {
        "channels": channels,
        "on": settings["notify_on"].value,
        "warn": settings["warn"].value,
        "deadline_s": settings["notify_deadline"].value,
        "artifacts": settings["artifact"].value,
        "templates": None if templates is None else absolute_path(templates),
    }
    return alerts, secrets


def list_targets(settings: Mapping[str, Setting]) -> list[Any]:
    """Return the targets of a run's alerts, each once."""
    targets: list[Any] = settings["notify"].value
    are_texts = all(isinstance(target, str) for target in targets)
    return list(dict.fromkeys(targets)) if are_texts else targets


def describe_target(
    target: str | Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a target as errors name it, without its secrets."""
    if not isinstance(target, str):
        return f"channel {target.get('name') or target.get('kind')}"
    return f"[channels.{target}]" if target in tables else f"notify: {format_target(target)}"


def resolve_each_alert(
    settings: Mapping[str, Setting], resolve: Callable[[Any], Any]
) -> tuple[AlertSettings | None, Secrets, list[ConfigError]]:
    """Return the same for every valid target, and the errors of the others.

    For callbacks, where an invalid channel must not silence the valid ones.  ``resolve`` turns an
    engine's own kind of target into a channel, and may raise ConfigError too.
    """
    channels: list[ChannelConfig] = []
    secrets: Secrets = {}
    alerts: AlertSettings | None = None
    problems = []
    targets = settings["notify"].value
    for target in [] if NONE in targets else targets:
        try:
            settings["notify"].value = [resolve(target)]
            one, given = resolve_alerts(settings)
        except ConfigError as error:
            problems.append(error)
            continue
        if one is not None:
            channels += one["channels"]
            alerts = {**one, "channels": channels}
            secrets |= given
    settings["notify"].value = targets
    return alerts, secrets, problems


def resolve_channel(
    target: str | Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> ChannelConfig:
    """Return the channel that a target names, checked.

    ``tables`` are the channels of the configuration.  Raises ConfigError.
    """
    where = describe_target(target, tables)
    if not isinstance(target, str):
        table = dict(target)
        name = str(table.pop("name", "")) or None
        return _make_channel(name, table, where)
    if target in tables:
        return _make_channel(target, dict(tables[target]), where)
    if target == MAILBOX:  # the default costs no import before the launch
        return {"name": MAILBOX, "kind": MAILBOX, "settings": {}}
    table_of_line = parse_target(target)
    if table_of_line is None:
        known = [*tables, MAILBOX, NONE]
        raise ConfigError(
            f"notify: {format_target(target)} is neither a known channel ({', '.join(known)}) nor "
            "an address such as smtp://HOST/?to=ME, command:PROGRAM, env:NAME or a URL of apprise"
            f"{suggest(target, known)}"
        )
    return _make_channel(None, table_of_line, where)


def channel_class(kind: str) -> Any:
    """Return the channel class of *kind*: one that is shipped, or the user's ``package.module``.

    Every exception of the import passes through.
    """
    package, _, module = (kind if is_foreign(kind) else f"{_CHANNELS}.{kind}").rpartition(".")
    return load_plugin(package, module).Channel


def channel_kinds() -> list[str]:
    """Return the kinds of all channels that gpualert ships."""
    return plugin_names(_CHANNELS)


def check_settings(channel: Any, settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return ``settings`` converted for ``channel``; references to secrets stay as they are.

    Raises ConfigError naming ``where`` and the setting.
    """
    found = {}
    for key, value in settings.items():
        if key not in channel.KEYS:
            raise ConfigError(f"{where}: {key}: unknown key{suggest_or_list(key, channel.KEYS)}")
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


def is_channel(channel: object) -> bool:
    """True for a valid channel of a record."""
    return (
        isinstance(channel, dict)
        and all(isinstance(channel.get(name), str) for name in ("name", "kind"))
        and isinstance(channel.get("settings"), dict)
    )


def withhold_secrets(channel: ChannelConfig) -> dict[str, str]:
    """Remove the secrets that the user passed directly from a channel's settings; return them."""
    settings = channel["settings"]
    if not settings:
        return {}
    # A user's channel is not imported here, so all its settings are kept secret.
    secret = settings if is_foreign(channel["kind"]) else channel_class(channel["kind"]).SECRET
    given = {key: settings[key] for key in secret if key in settings}
    given = {key: value for key, value in given.items() if not is_reference(value)}
    channel["settings"] = {**settings, **dict.fromkeys(given, WITHHELD)}
    return given


def _require_distinct(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"notify: two channels have the name {name}; names must differ")


def _make_channel(name: str | None, table: dict[str, Any], where: str) -> ChannelConfig:
    kind = table.pop("kind", None)
    kinds = channel_kinds()
    if not isinstance(kind, str) or (kind not in kinds and not _is_module_of_user(kind, kinds)):
        known, hint = ", ".join(kinds), suggest(str(kind), kinds)
        raise ConfigError(
            f"{where}: kind: {kind!r} is none of {known}, nor a module of yours{hint}"
        )
    if is_foreign(kind):  # imported by the sender only, where it cannot harm the run
        settings, secret = table, tuple(table)
    else:
        found = channel_class(kind)
        settings, secret = check_settings(found, table, where), found.SECRET
    settings = {key: _make_absolute(value) for key, value in settings.items()}
    return {"name": name or _make_name(kind, settings, secret), "kind": kind, "settings": settings}


def is_foreign(kind: str) -> bool:
    """True for a kind that is a module of the user."""
    return "." in kind


def _is_module_of_user(kind: str, kinds: Sequence[str]) -> bool:
    """True for ``package.module`` that can be a name of a module, and not one of ours."""
    package, *modules = kind.split(".")
    are_names = all(name.isidentifier() and not name.startswith("__") for name in kind.split("."))
    return bool(modules) and are_names and package not in (*kinds, "gpualert_common")


def _make_absolute(value: Any) -> Any:
    """Return a setting with the absolute path of the file that it refers to, if any."""
    if isinstance(value, str) and value.startswith("file:"):
        return f"file:{absolute_path(value.removeprefix('file:'))}"
    return value


def _make_name(kind: str, settings: Mapping[str, Any], secret: Sequence[str]) -> str:
    """Return a name that is the same for the same settings.

    The record shows it next to all settings but the ``secret`` ones.  So secret settings go through
    a slow hash, and passwords are left out: two users of one mail server differ in login or
    addresses.
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
