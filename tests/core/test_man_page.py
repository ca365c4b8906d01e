"""The manual page gpualert(1): each command and option, and nothing that man complains about."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from docs.pages.cli import format_help, list_commands
from docs.pages.man import make_man_page
from tests.structure.source import ROOT

PAGE = ROOT / "docs" / "gpualert.1"


def test_every_command_and_option() -> None:
    """The page has each command with all its options, and nothing is lost on the way."""
    sections = make_man_page().replace("\\-", "-").split("\n.SS gpualert ")[1:]
    found = {section.partition("\n")[0]: section for section in sections}
    assert list(found) == list_commands()
    for command, section in found.items():
        options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", format_help(command), re.MULTILINE))
        assert {option for option in options if option not in section} == set(), command


def test_commands_are_listed_with_their_actions() -> None:
    """Actions of a command come after it; the command of a run is none."""
    commands = list_commands()
    at = commands.index("outbox")
    assert commands[at + 1 : at + 4] == ["outbox list", "outbox retry", "outbox drop"]
    assert "top" in commands
    assert not [one for one in commands if one.startswith("run ")]


@pytest.mark.e2e
def test_man_shows_it_without_a_warning() -> None:
    """man formats the page without warnings, and no line leaves the terminal."""
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(
        ("man", "--warnings", "-l", str(PAGE)), capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpualert outbox retry" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
