"""Page of the program: the help texts of all commands."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from unittest.mock import patch

from gpualert_common.cli.arguments import build_parser

HEAD = """\
# The program

Made from `gpualert COMMAND --help` by `make docs`; do not edit. The options of `gpualert run` and
their defaults can also be set in files and in the environment: see
[configuration](configuration.md).

"""


def make_cli_page() -> str:
    """Return the page of all commands."""
    return HEAD + "\n".join(_sections(""))


def _sections(command: str) -> Iterator[str]:
    """Yield the help of a command and of its actions, each as a section."""
    text = format_help(command)
    yield f"## {f'gpualert {command}'.strip()}\n\n```text\n{text.rstrip()}\n```\n"
    for name in [] if command.startswith("run") else _listed_commands(text):
        yield from _sections(f"{command} {name}".strip())


def list_commands(above: str = "") -> list[str]:
    """Return all commands and their actions, such as "outbox list"."""
    names = [f"{above} {name}".strip() for name in _listed_commands(format_help(above))]
    actions = {name: [] if name == "run" else list_commands(name) for name in names}
    return [one for name in names for one in (name, *actions[name])]


def format_help(command: str, width: int = 80) -> str:
    """Return the output of ``gpualert COMMAND --help`` at so many columns."""
    words = command.split()
    environment = patch.dict(os.environ, COLUMNS=str(width), NO_COLOR="1")
    with environment, redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        build_parser(command.partition(" ")[0]).parse_args([*words, "--help"])
    return printed.getvalue()


def _listed_commands(text: str) -> list[str]:
    """Return the commands, or the actions of a command, that a help text lists."""
    return re.findall(r"^    ([a-z-]+)(?: |$)", text, re.MULTILINE) if "..." in text else []
