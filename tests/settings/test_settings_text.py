"""``config show`` prints a settings file, and ``config init`` writes one to start with."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.notify.channel_config import channel_class, channel_kinds
from gpualert_common.printable_text import make_printable
from gpualert_common.settings import OPTIONS, load_settings
from gpualert_common.toml_text import format_toml, parse_toml
from tests.supervised import Lab

PROJECT = r"""
timeout = 5400
grace = "0.25s"
log_reserve = 1500
notify = ["mail", "command:notify --to 'me \"and\" you'", "odd name"]
artifact = ["out/*.csv", "C:\\π\u202e*"]
quiet = true
templates = "templates"

[channels."odd name"]
kind = "command"
command = ["a", "b c"]
size_bytes = 1000

[channels.mail]
kind = "smtp"
host = "mail.example.org"
port = 25
to = ["me@example.org"]
password = "env:PASSWORD"
"""
USER = """
[channels.pager]
kind = "mailbox"
path = "/tmp/pager"
"""
SECRET = "hunter2"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda below: st.lists(below) | st.dictionaries(texts, below),
    max_leaves=10,
)


@pytest.fixture
def here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose directory is the working directory."""
    monkeypatch.chdir(lab.home)
    return lab


def values_of_settings() -> dict[str, object]:
    """Return the value of every setting in force."""
    return {name: setting.value for name, setting in load_settings().items()}


def uncomment(starter: str) -> str:
    """Return a starter file with its settings, and without its hidden channels."""
    settings = starter.partition("\n#[channels.")[0]
    return re.sub(r"^#(?=\S)", "", settings, flags=re.MULTILINE)


@given(values)
def test_value_as_toml(value: object) -> None:
    """A value as TOML is one line that a terminal shows as it is, and is read as the same value."""
    line = f"key = {format_toml(value)}"
    assert make_printable(line) == line
    assert parse_toml(line.encode()) == {"key": value}


def test_shown_settings_are_a_settings_file(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of ``config show``, used as gpualert.toml elsewhere, gives the same settings."""
    (here.home / "gpualert.toml").write_text(PROJECT)
    user = here.home / "xdg-config" / "gpualert" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(USER)
    monkeypatch.setenv("GPUALERT_NOTIFY_DEADLINE", "2m")
    expected = values_of_settings()
    shown = here.gpualert("config", "show").stdout
    elsewhere = here.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "gpualert.toml").write_bytes(shown)
    monkeypatch.chdir(elsewhere)
    user.unlink()
    for option in OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    assert values_of_settings() == expected
    assert {setting.origin for setting in load_settings().values()} == {
        "default",
        str(elsewhere / "gpualert.toml"),
    }


def test_origin_of_each_setting(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line names the default, the file or the variable that it comes from."""
    project = here.home / "gpualert.toml"
    project.write_text('quiet = true\n[channels.mail]\nkind = "mailbox"\n')
    user = here.home / "xdg-config" / "gpualert" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(USER)
    monkeypatch.setenv("GPUALERT_GRACE", "2m")
    lines = here.gpualert("config", "show").stdout.decode().splitlines()
    origins = dict(re.split(r"  +# ", line) for line in lines if "  # " in line)
    assert origins['grace = "2m"'] == "GPUALERT_GRACE"
    assert origins["quiet = true"] == str(project)
    assert origins["warn = false"] == "default"
    assert origins["[channels.mail]"] == str(project)
    assert origins["[channels.pager]"] == str(user)


def test_secrets_are_left_out(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is a comment without its value; a reference to a secret is shown."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    (here.home / "gpualert.toml").write_text(
        f'notify = ["slack://{SECRET}/b/c"]\n[channels.mail]\nkind = "smtp"\n'
        f'password = "{SECRET}"\n[channels.chat]\nkind = "apprise"\nurl = "env:URL"\n'
        f'[channels.own]\nkind = "my.module"\ntoken = "{SECRET}"\n'
    )
    shown = here.gpualert("config", "show").stdout.decode()
    assert SECRET not in shown
    table = tomllib.loads(shown)
    assert "notify" not in table
    assert table["channels"] == {
        "mail": {"kind": "smtp"},
        "chat": {"kind": "apprise", "url": "env:URL"},
        "own": {"kind": "my.module"},
    }
    assert '# password = "****"  # secret, not shown' in shown.splitlines()


def test_value_that_toml_cannot_hold(here: Lab) -> None:
    """A path that is not Unicode is a comment, and the file is still valid."""
    environment = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items()}
    environment[b"GPUALERT_TEMPLATES"] = b"\xff"
    shown = here.gpualert("config", "show", env=environment)
    assert shown.returncode == 0
    assert "templates" not in tomllib.loads(shown.stdout.decode())


@pytest.mark.parametrize("arguments", [(), ("--user",)], ids=["project", "user"])
def test_starter_has_no_effect(here: Lab, arguments: tuple[str, ...]) -> None:
    """The new file is named, is for its owner only, and leaves every setting as it was."""
    before = values_of_settings()
    done = here.gpualert("config", "init", *arguments)
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.decode().rstrip("\n"))
    user = here.home / "xdg-config" / "gpualert" / "config.toml"
    assert path == (user if arguments else here.home / "gpualert.toml")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tomllib.loads(path.read_text()) == {}
    assert values_of_settings() == before


def test_starter_shows_the_defaults(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their marks, the settings of the new file are valid, and the defaults."""
    for option in OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    assert here.gpualert("config", "init").returncode == 0
    path = here.home / "gpualert.toml"
    path.write_text(uncomment(path.read_text()))
    settings = load_settings()
    for name, option in OPTIONS.items():
        if name != "channels":
            assert settings[name].origin == str(path), name
            has_default = option.default is not None or option.unit
            expected = option.default if has_default else option.parse(option.metavar)
            assert settings[name].value == expected


def test_starter_has_every_channel(here: Lab) -> None:
    """The new file has a valid table for each kind of channel, with all its settings."""
    assert here.gpualert("config", "init").returncode == 0
    text = (here.home / "gpualert.toml").read_text()
    tables = tomllib.loads(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE))["channels"]
    found = {table["kind"]: table.keys() - {"kind"} for table in tables.values()}
    assert found == {kind: set(channel_class(kind).KEYS) for kind in channel_kinds()}


@pytest.mark.parametrize("make", ["write_text", "symlink_to"])
def test_existing_file_is_left_alone(here: Lab, make: str) -> None:
    """An existing file, or a link in its place, is an error, and stays as it is."""
    path = here.home / "gpualert.toml"
    getattr(path, make)("quiet = true\n" if make == "write_text" else "absent")
    before = os.lstat(path)
    done = here.gpualert("config", "init")
    assert done.returncode == 2
    assert done.stderr == f"gpualert: error: {path} exists and is left as it is\n".encode()
    assert os.lstat(path) == before
    assert not (here.home / "absent").exists()


def test_file_that_would_not_be_obeyed(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory where others can replace files, no file is left that stops every command."""
    shared = here.home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.chdir(shared)
    done = here.gpualert("config", "init", cwd=shared)
    assert done.returncode == 2
    assert b"others can replace it" in done.stderr
    assert not list(shared.iterdir())
