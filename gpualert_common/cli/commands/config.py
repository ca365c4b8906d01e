"""Show the settings."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from gpualert_common import record_locations
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json
from gpualert_common.notify.channel_config import channel_class
from gpualert_common.notify.targets import format_target, is_reference
from gpualert_common.settings import OPTIONS, load_settings
from gpualert_common.spec import SCHEMA

_MASKED = "****"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the action ``show``."""
    actions = parser.add_subparsers(dest="config_action", metavar="ACTION", required=True)
    add_json(actions.add_parser("show", help="show each setting and its origin"))


def execute(options: argparse.Namespace) -> int:
    """Print every setting; secrets are masked."""
    settings = load_settings()
    if settings["state_dir"].value is None:
        settings["state_dir"].value = record_locations.choose_state_dir()
    channels = settings["channels"].value
    settings["channels"].value = {name: _mask_channel(table) for name, table in channels.items()}
    settings["notify"].value = [_format_target(target) for target in settings["notify"].value]
    if options.json:
        fields = {
            name: {"value": setting.value, "origin": setting.origin}
            for name, setting in settings.items()
        }
        printing.print_json({"schema": SCHEMA, "settings": fields})
        return 0
    printing.print_lines(
        *(
            f"{name:15} {_text(setting.value):12} {setting.origin:24} {OPTIONS[name].help}"
            for name, setting in settings.items()
        )
    )
    return 0


def _mask_channel(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a channel without its secrets; all are secret if it does not load."""
    try:
        secret = tuple(channel_class(str(table["kind"])).SECRET)
    except (Exception, SystemExit):  # noqa: BLE001 - a module of the user may raise anything
        secret = tuple(key for key in table if key != "kind")
    return {
        key: _MASKED if key in secret and not is_reference(value) else value
        for key, value in table.items()
    }


def _format_target(target: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if not isinstance(target, str):
        return _mask_channel(target)
    return format_target(target) if "://" in target else target


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(value) or "-"
    return str(value)
