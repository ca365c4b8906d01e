"""Alerts as Prefect's users give and see them: channels in blocks, lines in the run log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from pydantic import SecretStr

from gpualert_common.errors import ConfigError
from gpualert_common.notify.channel_config import channel_of, withhold_secrets
from gpualert_common.notify.status_text import UNDELIVERED, format_status
from gpualert_common.notify.targets import format_target
from gpualert_common.settings import Setting
from prefect_gpualert.blocks import ChatChannel, MailChannel, name_of, reveal

_OURS = "prefect:"
_MAIL = ("smtp://", "smtps://")
_TYPES = (Secret, MailChannel, ChatChannel)

Target = str | Mapping[str, Any] | Block
"""Who is told, as users give it."""


def tables(notify: Target | Iterable[Target] | None) -> Any:
    """What a user gave as ``notify``, with tables in the place of blocks; their secrets masked."""
    if notify is None or isinstance(notify, str):
        return notify
    targets = [notify] if isinstance(notify, Block | Mapping) else notify
    return [_table(target) for target in targets]


def names(notify: Any) -> Any:
    """The same with the names of blocks, for what is itself stored; ValueError for one without."""
    if isinstance(notify, list | tuple):
        return [names(target) for target in notify]
    if isinstance(notify, Block) and not name_of(notify):
        raise ValueError("a block has to be saved before an operation may have it")
    return name_of(notify) if isinstance(notify, Block) else notify


def check_for_secrets(notify: Any) -> None:
    """Raise ConfigError for a target that has, or may have, a secret in it, before it is stored."""
    for target in notify if isinstance(notify, list) else [notify]:
        secrets = ", ".join(_secrets_of(target))
        if secrets:
            where = (
                format_target(target) if isinstance(target, str) else f"channel {target['kind']}"
            )
            raise ConfigError(
                f"notify: {where}: its {secrets} would be stored for everybody to read; name a "
                "MailChannel, ChatChannel or Secret block instead, or env:NAME or file:PATH"
            )


def _secrets_of(target: Any) -> Iterable[str]:
    """What of a target is a secret; raises ConfigError for one of which that cannot be told."""
    if target is None or (isinstance(target, str) and "://" not in target):
        return ()
    return withhold_secrets(channel_of(target, {}))


def resolve(settings: Mapping[str, Setting]) -> None:
    """Put channels in the place of targets such as ``prefect:secret/NAME``.

    Asks Prefect for the blocks, and blocks for that.  Raises ConfigError naming the target.
    """
    setting = settings["notify"]
    setting.value = [resolved(target) for target in setting.value]


def resolved(target: Any) -> Any:
    """A target as a channel, where it is one of Prefect's blocks.  Raises ConfigError."""
    if isinstance(target, str) and target.startswith(_OURS):
        target = _table(_loaded(target))
    return reveal(target) if isinstance(target, Mapping) else target


def _table(target: Any) -> Any:
    if isinstance(target, MailChannel | ChatChannel):
        return target.channel()
    if isinstance(target, Secret):
        return _in_secret(target)
    return target


def _in_secret(block: Secret[Any]) -> dict[str, Any]:
    """The channel whose URL is the value of a Secret block."""
    name, url = name_of(block), block.get()
    shown = name or "a Secret block"
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(
            f"notify: {shown}: the secret is no URL of a channel, such as smtp://HOST/?to=ME or "
            "one of apprise"
        )
    if not url.startswith(_MAIL):
        return {"kind": "apprise", "name": name, "url": SecretStr(url)}
    try:
        channel = channel_of(url, {})
    except ConfigError as error:
        raise ConfigError(f"notify: {shown}: {error}") from None
    settings = channel["settings"]
    if "password" in settings:
        settings = {**settings, "password": SecretStr(settings["password"])}
    return {**settings, "kind": channel["kind"], "name": name}


def _loaded(target: str) -> Block:
    slug, _, name = target.removeprefix(_OURS).partition("/")
    types = {one.get_block_type_slug(): one for one in _TYPES}
    if slug not in types or not name:
        known = ", ".join(f"{_OURS}{slug}/NAME" for slug in types)
        raise ConfigError(f"notify: {target}: of Prefect's blocks only {known} are known")
    try:
        # A task may ask in the thread of an event loop, where Prefect would give it a coroutine.
        return types[slug].load(name, _sync=True)  # type: ignore[call-arg,return-value]
    except Exception as error:  # no such block, no API: Prefect raises anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"notify: {target} cannot be had: {problem}") from error


def line(fields: Mapping[str, Any]) -> tuple[str, int]:
    """What became of an alert, in a line, and the level at which that is worth logging."""
    level = logging.WARNING if fields["state"] in UNDELIVERED else logging.INFO
    return f"Alert {format_status(fields)}", level
