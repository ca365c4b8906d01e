"""Alerts as Prefect's users give and see them: channels in secret blocks, lines in the run log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from prefect.blocks.system import Secret

from gpualert_common.config import Setting
from gpualert_common.errors import ConfigError
from gpualert_common.notify.targets import channel_of
from gpualert_common.notify.words import UNDELIVERED, told

_OURS = "prefect:"
_SECRET = "prefect:secret/"
_MAIL = ("smtp://", "smtps://")


def resolve(settings: Mapping[str, Setting]) -> None:
    """Put channels in the place of targets such as ``prefect:secret/NAME``.

    Asks Prefect for the blocks, and blocks for that.  Raises ConfigError naming the target.
    """
    setting = settings["notify"]
    setting.value = [resolved(target) for target in setting.value]


def resolved(target: Any) -> Any:
    """A target as a channel, where it is one of Prefect's blocks.  Raises ConfigError."""
    if not isinstance(target, str) or not target.startswith(_OURS):
        return target
    if not target.startswith(_SECRET):
        raise ConfigError(f"notify: {target}: of Prefect's blocks only {_SECRET}NAME is known")
    url = _secret(target)
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(
            f"notify: {target}: the secret is no URL of a channel, such as smtp://HOST/?to=ME or "
            "one of apprise"
        )
    if not url.startswith(_MAIL):
        return {"kind": "apprise", "name": target, "url": url}
    try:
        channel = channel_of(url, {})
    except ConfigError as error:
        raise ConfigError(f"notify: {target}: {error}") from None
    return {**channel["settings"], "kind": channel["kind"], "name": target}


def _secret(target: str) -> Any:
    name = target.removeprefix(_SECRET)
    try:
        # A task may ask in the thread of an event loop, where Prefect would give it a coroutine.
        block: Any = Secret.load(name, _sync=True)  # type: ignore[call-arg]
        return block.get()
    except Exception as error:  # no such block, no API: Prefect raises anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"notify: {target} cannot be had: {problem}") from error


def line(fields: Mapping[str, Any]) -> tuple[str, int]:
    """What became of an alert, in a line, and the level at which that is worth logging."""
    level = logging.WARNING if fields["state"] in UNDELIVERED else logging.INFO
    return f"Alert {told(fields)}", level
