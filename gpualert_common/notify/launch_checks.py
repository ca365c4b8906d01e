"""Checks before a launch: an alert that could not be sent from here is an error.

They are cheap, import nothing heavy, and send nothing.
"""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError, MissingSecretError
from gpualert_common.notify.channel_config import (
    channel_class,
    describe_target,
    is_foreign,
    list_targets,
)
from gpualert_common.notify.channel_secrets import resolve_reference
from gpualert_common.notify.targets import is_reference
from gpualert_common.settings import name_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpualert_common.launch_record import AlertSettings, ChannelConfig
    from gpualert_common.settings import Setting


def require_deliverable(settings: Mapping[str, Setting], alerts: AlertSettings) -> None:
    """Raise ConfigError for a channel that cannot send from here, or for missing templates.

    ``alerts`` are those that the settings describe.  The error names the option or the table, the
    key, and the problem.
    """
    tables = settings["channels"].value
    for target, channel in zip(list_targets(settings), alerts["channels"], strict=True):
        if channel["settings"] or is_foreign(channel["kind"]):
            _require_usable(channel, describe_target(target, tables))
    if alerts["templates"] is not None:
        where = name_origin("templates", settings["templates"].origin)
        _require_folder(alerts["templates"], where)


def _require_usable(channel: ChannelConfig, where: str) -> None:
    given = {key: value for key, value in channel["settings"].items() if is_reference(value)}
    try:
        found = {key: resolve_reference(given[key], f"{where}: {key}") for key in given}
    except MissingSecretError as error:
        raise ConfigError(f"{error}; provide it, or name another channel") from None
    if is_foreign(channel["kind"]):
        obstacle = _find_missing_package(channel["kind"])
    else:
        kind = channel_class(channel["kind"])
        for key in found.keys() - set(kind.SECRET):
            try:
                found[key] = kind.KEYS[key][0](found[key])
            except ValueError as error:
                raise ConfigError(f"{where}: {key}: {error}") from None
        obstacle = kind.find_obstacle({**channel["settings"], **found})
    if obstacle:
        raise ConfigError(f"{where}: {obstacle}")


def _find_missing_package(kind: str) -> str:
    """Return the problem if the package of a user's channel is missing; it is not imported."""
    from importlib.util import find_spec

    package = kind.partition(".")[0]
    try:
        is_there = find_spec(package) is not None
    except (ImportError, ValueError):
        is_there = True  # a module that was made by hand: only its import can tell
    return "" if is_there else f"kind: there is no Python module {package}; install it"


def _require_folder(path: str, where: str) -> None:
    try:
        os.listdir(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{where}: {path}: {why}; name a directory with templates") from None
