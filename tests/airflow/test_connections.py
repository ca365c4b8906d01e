"""Channels in Airflow's connections: ``airflow:CONN_ID`` as a target."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from gpualert_provider import alerts, get_provider_info
from gpualert_provider.hooks import gpualert as hooks
from gpualert_provider.hooks.gpualert import GPUAlertHook

from gpualert_common.errors import ConfigError
from gpualert_common.notify.channel_config import resolve_alerts
from gpualert_common.settings import load_settings
from tests.airflow.conftest import Trials
from tests.notify.alerting import states
from tests.notify.faults import mail_process
from tests.supervised import Lab, free_port

TO = "?to=a@example.org"


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a connection of Airflow, called ``mine``."""

    def make(**fields: Any) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_MINE", json.dumps(fields))

    return make


def resolved(target: str) -> dict[str, Any]:
    """Return the checked settings of a target's channel."""
    settings = load_settings({"notify": [target]}, given_as="argument")
    alerts.resolve_settings(settings)
    (found,) = settings["notify"].value
    assert resolve_alerts(settings)[0] is not None
    return dict(found)


@pytest.mark.parametrize(
    ("extra", "security"),
    [
        ({}, "ssl"),
        ({"disable_ssl": True}, "starttls"),
        ({"disable_ssl": True, "disable_tls": True}, "none"),
    ],
)
def test_mail(connect: Any, database: None, extra: dict[str, Any], security: str) -> None:
    """A connection of type smtp is mail, encrypted as SmtpHook would."""
    connect(
        conn_type="smtp",
        host="mail.example.org",
        port=2525,
        login="me",
        password="secret",
        extra={"from_email": "b@example.org", "to": "a@example.org", **extra},
    )
    assert resolved("airflow:mine") == {
        "kind": "smtp",
        "name": "airflow:mine",
        "host": "mail.example.org",
        "port": 2525,
        "user": "me",
        "password": "secret",
        "security": security,
        "from": "b@example.org",
        "to": "a@example.org",
    }


def test_recipients_of_a_target(connect: Any, database: None) -> None:
    """Recipients after the question mark replace those of the connection; each is separate."""
    connect(conn_type="smtp", host="mail.example.org", extra={"to": "c@example.org"})
    assert resolved(f"airflow:mine{TO}&to=b@example.org")["to"] == "a@example.org,b@example.org"


@pytest.mark.parametrize(
    "fields",
    [
        {"conn_type": "generic", "extra": {"url": "ntfy://host.test/topic"}},
        {"conn_type": "apprise", "extra": {"config": {"path": "ntfy://host.test/topic"}}},
        {"conn_type": "generic", "password": "ntfy://host.test/topic"},
        {"conn_type": "generic", "host": "ntfy://host.test/topic"},
    ],
)
def test_any_other_service(connect: Any, database: None, fields: dict[str, Any]) -> None:
    """A connection that holds a URL is a channel of apprise."""
    connect(**fields)
    found = resolved("airflow:mine")
    assert found == {"kind": "apprise", "name": "airflow:mine", "url": "ntfy://host.test/topic"}


def test_own_type_for_mail(connect: Any, database: None) -> None:
    """A connection of type gpualert with a host is mail; empty fields of its form do not count."""
    connect(
        conn_type="gpualert",
        host="mail.example.org",
        port=2525,
        login="me",
        password="secret",
        extra={"security": "ssl", "from": "b@example.org", "to": "a@example.org", "ca_file": ""},
    )
    assert resolved("airflow:mine") == {
        "kind": "smtp",
        "name": "airflow:mine",
        "host": "mail.example.org",
        "port": 2525,
        "user": "me",
        "password": "secret",
        "security": "ssl",
        "from": "b@example.org",
        "to": "a@example.org",
    }


@pytest.mark.parametrize("url", ["ntfy://host.test/topic", "env:CHAT_URL", "file:/run/chat-url"])
def test_own_type_for_a_chat(connect: Any, database: None, url: str) -> None:
    """Without a host its password is an apprise URL, or a reference to one."""
    connect(conn_type="gpualert", password=url, extra={"text_bytes": "2KB", "to": None})
    found = resolved("airflow:mine")
    assert found == {"kind": "apprise", "name": "airflow:mine", "url": url, "text_bytes": "2KB"}


def test_own_type_as_a_uri(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection may be given as Airflow's URI."""
    uri = "gpualert://me:s3cret@mail.example.org:2525/?security=ssl&to=a%40example.org"
    monkeypatch.setenv("AIRFLOW_CONN_MINE", uri)
    found = resolved("airflow:mine")
    assert (found["kind"], found["security"], found["to"]) == ("smtp", "ssl", "a@example.org")


@pytest.mark.parametrize(
    "fields",
    [
        {"conn_type": "gpualert"},
        {"conn_type": "gpualert", "password": "not a URL"},
        {"conn_type": "gpualert", "host": "host.test"},
        {"conn_type": "gpualert", "host": "host.test", "login": "me", "extra": {"to": "a@b.c"}},
        {"conn_type": "gpualert", "host": "host.test", "extra": {"to": "a@b.c", "tls": "yes"}},
        {"conn_type": "gpualert", "password": "ntfy://host.test/topic", "extra": {"to": "a@b.c"}},
        {"conn_type": "generic", "host": "host.test"},
        {"conn_type": "smtp", "host": "host.test", "extra": {"auth_type": "oauth2", "to": "a@b.c"}},
        {"conn_type": "smtp", "host": "host.test"},
    ],
)
def test_connection_of_no_use(connect: Any, database: None, fields: dict[str, Any]) -> None:
    """A connection without address or recipients, or with half a login, is invalid."""
    connect(**fields)
    with pytest.raises(ConfigError, match="airflow:mine"):
        resolved("airflow:mine")


def test_missing_connection(trials: Trials, lab: Lab) -> None:
    """A connection that cannot be read fails the task before the launch, and the error names it."""
    done = trials.train("bash_command='true', notify='airflow:nowhere'")
    assert done.state == "failed"
    assert isinstance(done.error, ConfigError)
    assert "airflow:nowhere" in str(done.error)
    assert lab.records() == []


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        ("smtp", {"disable_ssl": True, "disable_tls": True, "from_email": "b@example.org"}),
        ("gpualert", {"security": "none", "from": "b@example.org"}),
    ],
)
def test_delivery(
    trials: Trials, lab: Lab, connect: Any, tmp_path: Path, kind: str, extra: dict[str, Any]
) -> None:
    """The mail server gets the password of a connection, and no file of the record contains it."""
    caught = tmp_path / "caught"
    caught.mkdir()
    login = ("--login", "me:Tr0ub4dor")
    with mail_process("good", "--folder", str(caught), *login) as port:
        connect(
            conn_type=kind,
            host="127.0.0.1",
            port=port,
            login="me",
            password="Tr0ub4dor",
            extra=extra,
        )
        target = f"airflow:mine{TO}"
        command = "echo Tr0ub4''dor; exit 1"  # in the log, and not in the command
        done = trials.train(f"bash_command={command!r}, notify={target!r}")
    assert done.state == "failed"
    assert states(lab.record()) == {target: "sent"}
    (mail,) = caught.iterdir()
    assert b"Tr0ub4dor" not in mail.read_bytes()
    logs = {"output.log", "output.idx"}
    written = [path for path in lab.state.rglob("*") if path.is_file() and path.name not in logs]
    assert [path for path in written if b"Tr0ub4dor" in path.read_bytes()] == []


def test_password_that_is_kept_on_the_worker(
    trials: Trials, lab: Lab, connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection may refer to a variable that holds its password, and the record keeps that."""
    monkeypatch.setenv("MAIL_PASSWORD", "Tr0ub4dor")
    login = ("--login", "me:Tr0ub4dor")
    with mail_process("good", "--folder", str(tmp_path / "caught"), *login) as port:
        (tmp_path / "caught").mkdir()
        connect(**mail(port, login="me", password="env:MAIL_PASSWORD"))
        assert tried()[0]
        trials.train("bash_command='exit 1', notify='airflow:mine', env={'A': 'b'}")
    assert states(lab.record()) == {"airflow:mine": "sent"}
    alerts = lab.record().spec.alerts
    assert alerts is not None
    (channel,) = alerts["channels"]
    assert channel["settings"]["password"] == "env:MAIL_PASSWORD"


# -- the button "Test" of a connection ------------------------------------------------------


def tried() -> tuple[bool, str]:
    """Return Airflow's answer to a test of the connection ``mine``."""
    from airflow.models.connection import Connection

    found = Connection.get_connection_from_secrets("mine")
    answer: tuple[bool, str] = found.test_connection()  # type: ignore[no-untyped-call]
    return answer


def mail(port: int, **more: Any) -> dict[str, Any]:
    """Make a connection to a mail server of this machine."""
    extra = {"security": "none", "to": "a@example.org"}
    return {"conn_type": "gpualert", "host": "127.0.0.1", "port": port, "extra": extra, **more}


def test_tried_mail(connect: Any, database: None, tmp_path: Path) -> None:
    """The test logs in to the server and sends no mail."""
    with mail_process("good", "--folder", str(tmp_path), "--login", "me:Tr0ub4dor") as port:
        connect(**mail(port, login="me", password="Tr0ub4dor"))
        assert tried() == (True, f"127.0.0.1:{port} let me log in")
    assert list(tmp_path.iterdir()) == []


def test_tried_mail_without_recipients(connect: Any, database: None) -> None:
    """A connection may lack recipients, and the message names the target as their place."""
    with mail_process("good") as port:
        connect(**mail(port, extra={"security": "none"}))
        worked, message = tried()
    assert worked
    assert "airflow:mine?to=" in message


@pytest.mark.parametrize("kind", ["bad_login", "echo", "garbage", "421"])
def test_tried_mail_that_does_not_work(
    connect: Any, database: None, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """The message contains the server's answer, and never the password."""
    with mail_process(kind) as port:
        connect(**mail(port, login="me", password="Tr0ub4dor"))
        worked, message = tried()
    assert not worked
    assert f"127.0.0.1:{port}" in message
    coded = base64.b64encode(b"\0me\0Tr0ub4dor").decode()
    for text in (message, *capfd.readouterr()):
        assert "Tr0ub4dor" not in text
        assert coded not in text


def test_tried_mail_that_is_not_there(connect: Any, database: None) -> None:
    """The message names the address of a server that does not run."""
    connect(**mail(free_port()))
    worked, message = tried()
    assert not worked
    assert "Connection refused" in message


def test_tried_mail_that_says_nothing(
    connect: Any, database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of a connection returns within its time limit."""
    monkeypatch.setattr(hooks, "TRIAL_S", 0.2)
    with mail_process("silent") as port:
        connect(**mail(port))
        assert tried() == (False, "no answer within 0.2 s")


@pytest.mark.parametrize(
    ("url", "works"),
    [("ntfy://host.test/topicOfMine", True), ("nosuch://host.test/topicOfMine", False)],
)
def test_tried_chat(connect: Any, database: None, url: str, works: bool) -> None:
    """The test of a chat says whether apprise knows its URL, without the token in it."""
    connect(conn_type="gpualert", password=url)
    worked, message = tried()
    assert worked is works
    assert "apprise knows" in message
    assert "topicOfMine" not in message


def test_tried_connection_of_no_use(connect: Any, database: None) -> None:
    """The test reports errors of the connection as a launch does."""
    connect(conn_type="gpualert", host="host.test", extra={"tls": "yes"})
    worked, message = tried()
    assert not worked
    assert "tls: unknown key" in message


def test_form_is_the_same_for_every_airflow() -> None:
    """The hook describes the same form as the metadata, which Airflow reads from 3.2 on."""
    own: dict[str, Any] = get_provider_info()["connection-types"][0]  # type: ignore[index]
    behaviour = {key.replace("-", "_"): value for key, value in own["ui-field-behaviour"].items()}
    assert GPUAlertHook.get_ui_field_behaviour() == behaviour
    names = (own["connection-type"], own["hook-name"])
    assert (GPUAlertHook.conn_type, GPUAlertHook.hook_name) == names
