"""Secrets of channels: where they are kept, and what it takes to have them when they are needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpualert_common import config
from gpualert_common.errors import ConfigError, MissingSecretError
from gpualert_common.notify.channel_config import WITHHELD, is_reference

_MOST_BYTES = 64 << 10


def resolve(
    channel: Mapping[str, Any], given: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """A channel's settings with every secret in its place, and the secrets alone, to be masked.

    ``given`` are those that were given in person; without them the user's configuration is asked.
    Raises MissingSecretError that says which secret is missing and how it can be given.
    """
    settings = dict(channel["settings"])
    secrets = []
    for key, value in settings.items():
        if value == WITHHELD:
            settings[key] = given[key] if key in given else _configured(channel["name"], key)
        elif is_reference(value):
            settings[key] = _look_up(str(value), f"{key} of channel {channel['name']}")
        else:
            continue
        if isinstance(settings[key], str):
            secrets.append(settings[key])
    return settings, secrets


def _configured(channel: str, key: str) -> Any:
    """The secret as the channel of that name has it in the configuration now."""
    try:
        value = config.load({})["channels"].value.get(channel, {}).get(key)
    except ConfigError:
        value = None
    if value is None:
        raise MissingSecretError(
            f"the {key} of channel {channel} was given in person and is kept nowhere; name it as "
            "env:NAME or file:PATH, or as a channel in the configuration, and send again with: "
            "gpualert outbox retry RUN --notify CHANNEL"
        )
    return _look_up(value, f"{key} of channel {channel}") if is_reference(value) else value


def _look_up(reference: str, what: str) -> str:
    if reference.startswith("env:"):
        name = reference.removeprefix("env:")
        value = os.environ.get(name)
        if not value:
            raise MissingSecretError(f"{what}: the variable {name} is not set for the sender")
        return value
    path = os.path.expanduser(reference.removeprefix("file:"))
    try:
        with open(path, encoding="utf-8") as file:
            value = file.read(_MOST_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise MissingSecretError(f"{what}: {path}: {why}") from None
    if not value:
        raise MissingSecretError(f"{what}: {path} is empty")
    return value
