"""Channels in Airflow's connections: ``airflow:CONN_ID`` as a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gpualert_provider import alerts

from gpualert_common import config
from gpualert_common.errors import ConfigError
from gpualert_common.notify.targets import alerts_of
from tests.airflow.conftest import Trials
from tests.alerts.alerting import states
from tests.alerts.faults import mail_process
from tests.supervised import Lab

TO = "?to=a@example.org"


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes a connection of Airflow, called ``mine``."""

    def make(**fields: Any) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_MINE", json.dumps(fields))

    return make


def resolved(target: str) -> dict[str, Any]:
    """The settings that are made of a target, checked as those of any channel are."""
    settings = config.load({"notify": [target]}, given_as="argument")
    alerts.resolve(settings)
    (found,) = settings["notify"].value
    assert alerts_of(settings)[0] is not None
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
    """Recipients after the question mark go before those of the connection; each is its own."""
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


@pytest.mark.parametrize(
    "fields",
    [
        {"conn_type": "generic", "host": "host.test"},
        {"conn_type": "smtp", "host": "host.test", "extra": {"auth_type": "oauth2", "to": "a@b.c"}},
        {"conn_type": "smtp", "host": "host.test"},
    ],
)
def test_connection_of_no_use(connect: Any, database: None, fields: dict[str, Any]) -> None:
    """A connection without an address, with a login that is not known, or without recipients."""
    connect(**fields)
    with pytest.raises(ConfigError, match="airflow:mine"):
        resolved("airflow:mine")


def test_missing_connection(trials: Trials, lab: Lab) -> None:
    """A connection that cannot be had fails the task before the launch, and is named."""
    done = trials.train("bash_command='true', notify='airflow:nowhere'")
    assert done.state == "failed"
    assert isinstance(done.error, ConfigError)
    assert "airflow:nowhere" in str(done.error)
    assert lab.records() == []


def test_delivery(trials: Trials, lab: Lab, connect: Any, tmp_path: Path) -> None:
    """The password of a connection reaches the mail server, and no file of the record."""
    caught = tmp_path / "caught"
    caught.mkdir()
    login = ("--login", "me:Tr0ub4dor")
    with mail_process("good", "--folder", str(caught), *login) as port:
        connect(
            conn_type="smtp",
            host="127.0.0.1",
            port=port,
            login="me",
            password="Tr0ub4dor",
            extra={"disable_ssl": True, "disable_tls": True, "from_email": "b@example.org"},
        )
        target = f"airflow:mine{TO}"
        said = "echo Tr0ub4''dor; exit 1"  # in the log, and not in the command
        done = trials.train(f"bash_command={said!r}, notify={target!r}")
    assert done.state == "failed"
    assert states(lab.record()) == {target: "sent"}
    (mail,) = caught.iterdir()
    assert b"Tr0ub4dor" not in mail.read_bytes()
    logs = {"output.log", "output.idx"}
    written = [path for path in lab.state.rglob("*") if path.is_file() and path.name not in logs]
    assert [path for path in written if b"Tr0ub4dor" in path.read_bytes()] == []
