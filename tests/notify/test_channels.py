"""Properties of every kind of channel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpualert_common.notify.channels
from gpualert_common.notify.channel_config import channel_class, channel_kinds

# Warnings of apprise and its imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).parents[2]
FOLDER = Path(gpualert_common.notify.channels.__file__).parent

EXAMPLES: dict[str, dict[str, Any]] = {
    "smtp": {"host": "mail.test", "to": "me@example.org", "password": "s3cretWord"},
    "apprise": {"url": "json://me:s3cretWord@mail.test/"},
    "mailbox": {"path": "box"},
    "otlp": {"endpoint": "http://collector.test:4318", "headers": "authorization=s3cretWord"},
    "command": {"command": "sendmail me@example.org"},
}


def made(kind: str) -> Any:
    """Return a channel of that kind, with checked settings."""
    channel = channel_class(kind)
    return channel({key: channel.KEYS[key][0](value) for key, value in EXAMPLES[kind].items()})


def test_every_kind_is_covered() -> None:
    """The tests of this file cover every kind."""
    assert sorted(EXAMPLES) == channel_kinds()


@pytest.mark.parametrize("kind", channel_kinds())
def test_settings_are_described(kind: str) -> None:
    """Each setting has one line of help, and required and secret names are settings."""
    channel = channel_class(kind)
    assert {*channel.REQUIRED, *channel.SECRET} <= set(channel.KEYS)
    for _parse, help_text in channel.KEYS.values():
        assert help_text
        assert "\n" not in help_text
        assert "|" not in help_text


@pytest.mark.parametrize("kind", channel_kinds())
def test_address_is_one_line_without_secrets(kind: str) -> None:
    """An address contains no secret, and is the same for the same settings."""
    channel = made(kind)
    assert channel.address.isprintable()
    assert "s3cretWord" not in channel.address
    assert channel.address == made(kind).address


@pytest.mark.parametrize("kind", channel_kinds())
def test_budget_has_room_for_text(kind: str) -> None:
    """Every channel accepts text; files have a limit."""
    budget = made(kind).budget
    assert budget.text_bytes >= 500
    assert (budget.files > 0) == (budget.files_bytes > 0) == (budget.file_bytes > 0)


@pytest.mark.parametrize("kind", channel_kinds())
def test_checking_its_settings_costs_no_import(kind: str) -> None:
    """The modules that are imported before the launch import none that sends."""
    code = (
        "import sys, os, shlex, importlib\n"
        f"importlib.import_module('gpualert_common.notify.channels.{kind}')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    heavy = {"email", "smtplib", "socket", "ssl", "apprise", "typing", "urllib", "logging"}
    assert not heavy & set(ran.stdout.split())
