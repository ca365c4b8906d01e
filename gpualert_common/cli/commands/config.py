"""Show the settings, or write a settings file to start with."""

from __future__ import annotations

import argparse
import os

from gpualert_common import record_locations
from gpualert_common.cli import printing, settings_text
from gpualert_common.cli.arguments import add_json
from gpualert_common.errors import ConfigError, UsageError
from gpualert_common.record.files import make_directory, write_all
from gpualert_common.settings import PROJECT_FILE, load_settings, user_file
from gpualert_common.spec import SCHEMA
from gpualert_common.toml_text import MOST_BYTES
from gpualert_common.trusted_files import read_trusted_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions ``show`` and ``init``."""
    actions = parser.add_subparsers(dest="config_action", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="show each setting and its origin",
        description="Print the settings in force as a settings file: each with its origin, and "
        "secrets left out.",
    )
    add_json(show)
    init = actions.add_parser(
        "init",
        help="write a settings file to start with",
        description=f"Write {PROJECT_FILE} into this directory, with every setting explained and "
        "commented out. An existing file is never changed.",
    )
    init.add_argument(
        "--user", action="store_true", help="write the file for all your runs instead"
    )


def execute(options: argparse.Namespace) -> int:
    """Show the settings, or write the file."""
    return _init(options) if options.config_action == "init" else _show(options)


def _show(options: argparse.Namespace) -> int:
    """Print every setting; secrets are masked."""
    settings = load_settings()
    if settings["state_dir"].value is None:
        settings["state_dir"].value = record_locations.choose_state_dir()
    if not options.json:
        printing.print_lines(*settings_text.format_settings(settings))
        return 0
    channels, notify = settings["channels"], settings["notify"]
    channels.value = {
        name: settings_text.mask_channel(table) for name, table in channels.value.items()
    }
    notify.value = [settings_text.mask_target(target) for target in notify.value]
    fields = {
        name: {"value": setting.value, "origin": setting.origin}
        for name, setting in settings.items()
    }
    printing.print_json({"schema": SCHEMA, "settings": fields})
    return 0


def _init(options: argparse.Namespace) -> int:
    """Write the file; an existing one is an error."""
    path = os.path.abspath(user_file() if options.user else PROJECT_FILE)
    make_directory(os.path.dirname(path))
    try:
        _write_new(path, settings_text.make_starter(is_user=options.user).encode())
    except FileExistsError:
        raise UsageError(f"{path} exists and is left as it is") from None
    printing.print_lines(path)
    printing.print_notes("gpualert: every setting in it has its default; see: gpualert config show")
    return 0


def _write_new(path: str, content: bytes) -> None:
    """Write a file for this user only; it is removed again if it cannot be used.

    Raises FileExistsError if there is one, OSError, and ConfigError if gpualert would not obey it.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        read_trusted_file(path, MOST_BYTES)
    except OSError as error:
        os.unlink(path)
        raise ConfigError(f"{path} is not written: {error.strerror}") from None
