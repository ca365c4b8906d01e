"""From a user's settings to channels: checked, named, and without their secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpualert_common.errors import ConfigError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.channel_config import channel_kinds, resolve_alerts, resolve_channel
from gpualert_common.settings import load_settings
from tests.notify.alerting import write_config
from tests.supervised import Lab, shell

MAIL = """
notify = ["ops"]
[channels.ops]
kind = "smtp"
host = "mail.example.org"
password = "env:SMTP_PASSWORD"
user = "trainer"
to = "a@example.org, b@example.org"
"""


def channels(notify: object, **settings: object) -> tuple[list[ChannelConfig], dict[str, Any]]:
    """Return the channels of these targets, and their secrets."""
    loaded = load_settings({"notify": notify, **settings}, given_as="argument")
    found, secrets = resolve_alerts(loaded)
    return ([] if found is None else found["channels"]), secrets


@pytest.fixture
def configured(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A user with a mail channel and nothing else set."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    write_config(lab, MAIL)
    return lab


def test_mailbox_without_configuration(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a configuration, alerts go to the mailbox."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    found, secrets = channels(None)
    assert [channel["name"] for channel in found] == ["mailbox"]
    assert secrets == {}


def test_configured_channel(configured: Lab) -> None:
    """A channel's settings are checked and converted; a reference to a secret is not resolved."""
    (channel,), secrets = channels(None)
    assert channel["name"] == "ops"
    assert channel["settings"]["to"] == ["a@example.org", "b@example.org"]
    assert channel["settings"]["password"] == "env:SMTP_PASSWORD"
    assert secrets == {}


def test_project_and_user_channels(configured: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels of a project are added to those of its user."""
    monkeypatch.chdir(configured.home)
    (configured.home / "gpualert.toml").write_text(
        '[channels.chat]\nkind = "apprise"\nurl = "env:CHAT"\n'
    )
    found, _secrets = channels(["ops", "chat"])
    assert [channel["name"] for channel in found] == ["ops", "chat"]


TARGETS = {
    "mailbox:/there": ("mailbox", {"path": "/there"}),
    "command:page --now": ("command", {"command": ["page", "--now"]}),
    "env:CHAT": ("apprise", {"url": "env:CHAT"}),
    "file:/run/secrets/chat": ("apprise", {"url": "file:/run/secrets/chat"}),
    "json://host.example.org/hook": ("apprise", {"url": "withheld"}),
    "smtp://me@mail.example.org:2525/?to=a@example.org&security=none": (
        "smtp",
        {
            "host": "mail.example.org",
            "port": 2525,
            "user": "me",
            "security": "none",
            "to": ["a@example.org"],
        },
    ),
    "smtps://mail.example.org/?to=a@example.org,b@example.org": (
        "smtp",
        {"host": "mail.example.org", "security": "ssl", "to": ["a@example.org", "b@example.org"]},
    ),
}


@pytest.mark.parametrize("target", TARGETS)
def test_target_in_a_line(lab: Lab, target: str) -> None:
    """A channel can be given in one line; in a list it may contain commas and blanks."""
    (channel,), _secrets = channels([target])
    kind, settings = TARGETS[target]
    assert channel["kind"] == kind
    assert channel["settings"] == settings


def test_several_in_a_variable(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a variable, targets are separated by blanks, and quotes keep one together."""
    monkeypatch.setenv("GPUALERT_NOTIFY", "mailbox 'command:page --now' env:CHAT")
    found, _secrets = channels(None)
    assert [channel["kind"] for channel in found] == ["mailbox", "command", "apprise"]


def test_same_target_same_name(lab: Lab) -> None:
    """Equal targets have the same name, so that doubles are found; others have different names."""
    one, _ = channels(["env:A"])
    again, _ = channels(["env:A"])
    other, _ = channels(["env:B"])
    assert one[0]["name"] == again[0]["name"] != other[0]["name"]


@pytest.mark.parametrize(
    "target",
    [
        "smtp://me:hunter2@mail.example.org/?to=a@example.org",
        "smtp://me@mail.example.org/?to=a@example.org&password=hunter2",
        "slack://hunter2hunter2/B/C",
        {"kind": "smtp", "host": "h", "user": "me", "to": "a@example.org", "password": "hunter2"},
        {"kind": "somebody.else", "token": "hunter2"},
    ],
    ids=str,
)
def test_secret_given_directly(lab: Lab, target: object) -> None:
    """A secret that is given directly is separated: the launch record does not contain it."""
    found, secrets = channels([target])
    assert "hunter2" not in json.dumps(found)
    assert "hunter2" in json.dumps(secrets)


@pytest.mark.parametrize(
    ("notify", "words"),
    [
        (["opps"], r"'opps' is neither a known channel \(ops, mailbox, none\)"),
        (["smtp://mail.example.org/"], "to is missing"),
        (["smtp://mail.example.org/?to=a@example.org&sekurity=none"], "sekurity: unknown key"),
        (["smtp://mail.example.org:port/?to=a@example.org"], "Port could not be cast"),
        (["smtp://mail.example.org/?to=nobody"], "to: "),
        ([{"kind": "smpt"}], "kind: 'smpt' is none of apprise, command, mailbox, otlp, smtp"),
        ([{"host": "x"}], "kind: None is none of"),
        ([3], "has an entry that is neither a name nor an address"),
        (3, "3 is not a list"),
    ],
    ids=str,
)
def test_wrong_target(configured: Lab, notify: object, words: str) -> None:
    """An invalid channel is an error that names it and the reason."""
    with pytest.raises(ConfigError, match=words):
        channels(notify)


def test_two_of_one_name(lab: Lab) -> None:
    """Two channels of one name are an error: the second would never get an alert."""
    twice = [{"kind": "mailbox", "name": "x"}, {"kind": "mailbox", "name": "x", "path": "/y"}]
    with pytest.raises(ConfigError, match="two channels have the name x"):
        channels(twice)


def test_name_says_nothing_of_a_password(lab: Lab) -> None:
    """The name of a channel given in a line does not depend on its password."""
    target = "smtp://me:{}@mail.example.org/?to=a@example.org"
    (one,), _ = channels([target.format("hunter2")])
    (other,), _ = channels([target.format("hunter3")])
    assert one["name"] == other["name"]


def test_error_shows_no_token(lab: Lab) -> None:
    """An error names a wrong address by its scheme, since the rest may hold a token."""
    with pytest.raises(ConfigError) as caught:
        channels(["smtp://me:hunter2@mail.example.org/?no=1"])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[channels.ops]\nhost = 'x'\n", b"[channels.ops] needs a kind"),
        ("channels = 3\n", b"channels are tables"),
        ("notify = ['ops']\n[channels.ops]\nkind = 'smtp'\nhots = 'x'\n", b"hots: unknown key"),
        (
            "notify_on = 'sometimes'\n",
            b"'sometimes' is not one of failure, failure_or_stop, always, never",
        ),
        ("notify_deadline = 'none'\n", b"a deadline is required"),
    ],
    ids=["no kind", "no table", "unknown key", "no such choice", "no deadline"],
)
def test_wrong_file_launches_nothing(configured: Lab, text: str, words: bytes) -> None:
    """An error in a file is reported before the launch, with status 125, and nothing is started."""
    write_config(configured, text)
    done = configured.run(*shell("touch started"))
    assert done.returncode == 125
    assert words in done.stderr
    assert not (configured.home / "started").exists()


@pytest.mark.parametrize("settings", [{"notify_on": "never"}, {}], ids=["never", "none"])
def test_no_alerts(lab: Lab, settings: dict[str, str]) -> None:
    """With none or never there is no alert, and the record has no channels."""
    found, secrets = channels(["none"] if not settings else ["mailbox"], **settings)
    assert (found, secrets) == ([], {})


def test_kinds_are_files() -> None:
    """A kind of channel is a file in the folder of channels; there is no list of them."""
    assert channel_kinds() == ["apprise", "command", "mailbox", "otlp", "smtp"]


def test_config_show_masks_secrets(configured: Lab) -> None:
    """`config show` prints the place of a secret, and never a secret."""
    write_config(configured, MAIL.replace("env:SMTP_PASSWORD", "hunter2"))
    for arguments in (("config", "show"), ("config", "show", "--json")):
        done = configured.gpualert(*arguments)
        assert done.returncode == 0, done.stderr
        assert b"hunter2" not in done.stdout
        assert b"ops" in done.stdout


@pytest.mark.parametrize(
    "kind",
    [
        *("", ".", "..", "../../x", "/tmp/x", "x/y.z", "mailbox/../smtp", "smtp\0", "a b.c"),
        *("_interface", "__init__", "_settings", "smtp.x", "mailbox.py", ".smtp", "smtp.", "a..b"),
        *("a.__init__", "gpualert_common.notify.channels._interface", "nowhere"),
    ],
)
def test_kind_that_is_no_module(kind: str) -> None:
    """A kind that is neither shipped nor the name of a user's module is an error."""
    with pytest.raises(ConfigError, match=r"channel .*: kind: .* is none of apprise, command, "):
        resolve_channel({"kind": kind}, {})


def test_kind_that_is_no_module_launches_nothing(configured: Lab) -> None:
    """It is an error before the launch."""
    text = 'notify = ["x"]\n[channels.x]\nkind = "../../x"\n'
    (configured.home / "gpualert.toml").write_text(text)
    done = configured.gpualert("run", "--", "touch", "launched")
    assert done.returncode == 125
    assert b"[channels.x]: kind: '../../x' is none of " in done.stderr
    assert not (configured.home / "launched").exists()
