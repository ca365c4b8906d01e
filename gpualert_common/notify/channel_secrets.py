"""Secrets of channels, looked up where an alert is sent, at that moment."""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError, MissingSecretError
from gpualert_common.notify.channel_config import WITHHELD
from gpualert_common.notify.targets import is_reference
from gpualert_common.settings import load_settings
from gpualert_common.trusted_files import read_regular_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpualert_common.launch_record import ChannelConfig

_MOST_BYTES = 64 << 10


def resolve_secrets(
    channel: ChannelConfig, given: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a channel's settings with every secret, and the secrets alone, to be masked.

    ``given`` are the secrets that the user passed directly; the others are read from the user's
    configuration.  Raises MissingSecretError that says which one is missing and how to provide it.
    """
    settings = dict(channel["settings"])
    secrets = []
    for key, value in settings.items():
        if value == WITHHELD:
            settings[key] = given[key] if key in given else _load_configured(channel["name"], key)
        elif is_reference(value):
            settings[key] = resolve_reference(str(value), f"{key} of channel {channel['name']}")
        else:
            continue
        if isinstance(settings[key], str):
            secrets.append(settings[key])
    return settings, secrets


def _load_configured(channel: str, key: str) -> Any:
    """Return the secret that the channel of that name has in the configuration now."""
    try:
        value = load_settings()["channels"].value.get(channel, {}).get(key)
    except ConfigError:
        value = None
    if value is None:
        raise MissingSecretError(
            f"the {key} of channel {channel} was passed directly and is not stored; name it as "
            "env:NAME or file:PATH, or as a channel in the configuration, and send again with: "
            "gpualert outbox retry RUN --notify CHANNEL"
        )
    return resolve_reference(value, f"{key} of channel {channel}") if is_reference(value) else value


def resolve_reference(reference: str, what: str) -> str:
    """Return the secret that a reference names.

    Raises MissingSecretError, which begins with *what*.
    """
    if reference.startswith("env:"):
        name = reference.removeprefix("env:")
        try:
            value = os.environ.get(name)
        except UnicodeEncodeError:
            value = None  # no variable can have this name
        if not value:
            problem = f"the variable {name} is not set" if name else "env: names no variable"
            raise MissingSecretError(f"{what}: {problem}")
        return value
    path = os.path.expanduser(reference.removeprefix("file:"))
    try:
        value = read_regular_file(path, _MOST_BYTES).decode().strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise MissingSecretError(f"{what}: {path}: {why}") from None
    if not value:
        raise MissingSecretError(f"{what}: {path} is empty")
    return value
