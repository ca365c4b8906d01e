"""Alert channels in Prefect's blocks, and the delivery of alerts as lines of the run log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from pydantic import SecretStr

from gpualert_common.errors import ConfigError
from gpualert_common.notify.channel_config import resolve_channel, withhold_secrets
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.status_text import UNDELIVERED, format_status
from gpualert_common.notify.targets import format_target
from gpualert_common.settings import Setting
from prefect_gpualert.blocks import ChatChannel, MailChannel, find_block_name, reveal

_OURS = "prefect:"
_MAIL = ("smtp://", "smtps://")
_TYPES = (Secret, MailChannel, ChatChannel)

Target = str | Mapping[str, Any] | Block
"""A channel as users name it."""


def replace_blocks_by_tables(notify: Target | Iterable[Target] | None) -> Any:
    """Return the argument ``notify`` with tables in place of blocks; their secrets are masked."""
    if notify is None or isinstance(notify, str):
        return notify
    targets = [notify] if isinstance(notify, Block | Mapping) else notify
    return [_table(target) for target in targets]


def replace_blocks_by_names(notify: Any) -> Any:
    """Return ``notify`` with the names of blocks, to be stored.  Raises ValueError for no name."""
    if isinstance(notify, list | tuple):
        return [replace_blocks_by_names(target) for target in notify]
    if isinstance(notify, Block) and not find_block_name(notify):
        raise ValueError("save the block before an operation names it")
    return find_block_name(notify) if isinstance(notify, Block) else notify


def check_for_secrets(notify: Any) -> None:
    """Raise ConfigError for a target that contains, or may contain, a secret."""
    for target in notify if isinstance(notify, list) else [notify]:
        secrets = ", ".join(_secrets_of(target))
        if secrets:
            where = (
                format_target(target) if isinstance(target, str) else f"channel {target['kind']}"
            )
            raise ConfigError(
                f"notify: {where}: its {secrets} would be stored in plain text; name a "
                "MailChannel, ChatChannel or Secret block instead, or env:NAME or file:PATH"
            )


def _secrets_of(target: Any) -> Iterable[str]:
    """Return the names of a target's secret settings.  Raises ConfigError for an invalid target."""
    if target is None or (isinstance(target, str) and "://" not in target):
        return ()
    return withhold_secrets(resolve_channel(target, {}))


def resolve_settings(settings: Mapping[str, Setting]) -> None:
    """Replace targets such as ``prefect:secret/NAME`` by their channels.

    Loads the blocks from Prefect, and waits for it.  Raises ConfigError naming the target.
    """
    setting = settings["notify"]
    setting.value = [resolve_target(target) for target in setting.value]


def resolve_target(target: Any) -> Any:
    """Return a target with its channel in place of a block of Prefect.  Raises ConfigError."""
    if isinstance(target, str) and target.startswith(_OURS):
        target = _table(_load_block(target))
    return reveal(target) if isinstance(target, Mapping) else target


def _table(target: Any) -> Any:
    if isinstance(target, MailChannel | ChatChannel):
        return target.channel()
    if isinstance(target, Secret):
        return _in_secret(target)
    return target


def _in_secret(block: Secret[Any]) -> dict[str, Any]:
    """Return the channel whose URL is the value of a Secret block."""
    name, url = find_block_name(block), block.get()
    shown = name or "a Secret block"
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(
            f"notify: {shown}: the secret is not the URL of a channel, such as smtp://HOST/?to=ME "
            "or a URL of apprise"
        )
    if not url.startswith(_MAIL):
        return {"kind": "apprise", "name": name, "url": SecretStr(url)}
    try:
        channel = resolve_channel(url, {})
    except ConfigError as error:
        raise ConfigError(f"notify: {shown}: {error}") from None
    settings = channel["settings"]
    if "password" in settings:
        settings = {**settings, "password": SecretStr(settings["password"])}
    return {**settings, "kind": channel["kind"], "name": name}


def _load_block(target: str) -> Block:
    slug, _, name = target.removeprefix(_OURS).partition("/")
    types = {one.get_block_type_slug(): one for one in _TYPES}
    if slug not in types or not name:
        known = ", ".join(f"{_OURS}{slug}/NAME" for slug in types)
        raise ConfigError(
            f"notify: {target}: not a supported block of Prefect; supported are {known}"
        )
    try:
        # In the thread of an event loop Prefect would return a coroutine.
        return types[slug].load(name, _sync=True)  # type: ignore[call-arg,return-value]
    except Exception as error:  # Prefect raises errors of any kind
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"notify: {target} cannot be loaded: {problem}") from error


def delivery_line(fields: EntryFields) -> tuple[str, int]:
    """Return the result of an alert's delivery as a line, and its log level."""
    level = logging.WARNING if fields["state"] in UNDELIVERED else logging.INFO
    return f"Alert {format_status(fields)}", level
