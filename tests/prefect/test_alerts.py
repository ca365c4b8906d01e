"""Alerts of ``gpualert_run`` in real flows on an ephemeral server."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.blocks.system import Secret
from prefect_gpualert import TrainingFailed, gpualert_hook, gpualert_run

from tests.notify.alerting import entries, queued, states
from tests.notify.faults import mail_process, mail_target
from tests.notify.webhooks import web_server
from tests.prefect.running import FACES, records, run

pytestmark = pytest.mark.usefixtures("harness")


def mails(folder: Path) -> list[EmailMessage]:
    """Return the messages of a Maildir."""
    found = [path.read_bytes() for path in sorted(folder.glob("new/*"))]
    return [message_from_bytes(content, policy=policy.default) for content in found]


def everything_in(folder: str) -> bytes:
    """Return the bytes of all files of a record."""
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def keep(name: str, value: Any) -> None:
    """Save a Secret block of that name."""
    Secret(value=value).save(name, overwrite=True)


# -- whether and when ------------------------------------------------------------------------


@FACES
def test_final_failure_is_sent_once(way: str, home: Path, caplog: Any) -> None:
    """After the final failure of a task its alert has been sent, and the run log shows it."""
    with pytest.raises(TrainingFailed, match="exit code 3"):
        run(way, "exit 3", notify="mailbox")
    (record,) = records(home)
    assert states(record) == {"mailbox": "sent"}
    (mail,) = mails(home / "state" / "mailbox")
    assert "exit status 3" in mail.as_string()
    assert "Alert to mailbox sent" in caplog.text


def test_retry_that_succeeds_is_not_sent(home: Path) -> None:
    """The alert of an attempt is held, and dropped when the next attempt begins."""
    command = "test -e tried && echo second || { touch tried; exit 3; }"
    assert run("called", command, {"retries": 1}, cwd=home, notify="mailbox") == "second"
    first, second = records(home)
    assert states(first) == {"mailbox": "superseded"}
    assert states(second) == {}
    assert mails(home / "state" / "mailbox") == []


def test_retries_that_fail_are_sent_once(home: Path) -> None:
    """Only the last attempt sends an alert."""
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", {"retries": 2}, notify="mailbox")
    found = [states(record) for record in records(home)]
    assert found == [{"mailbox": "superseded"}] * 2 + [{"mailbox": "sent"}]
    assert len(mails(home / "state" / "mailbox")) == 1


def test_retry_of_the_flow_supersedes(home: Path) -> None:
    """An attempt whose flow is retried is not final either."""

    @flow(retries=1)
    def twice() -> Any:
        command = "test -e tried && echo second || { touch tried; exit 3; }"
        return gpualert_run(command, cwd=home, notify="mailbox")

    assert twice() == "second"
    first, second = records(home)
    assert states(first) == {"mailbox": "superseded"}
    assert states(second) == {}


@pytest.mark.parametrize(("wanted", "expected"), [(None, {}), ("always", {"mailbox": "sent"})])
def test_success(wanted: str | None, expected: dict[str, str], home: Path) -> None:
    """A success sends an alert only on request, and stays a success."""
    assert run("called", "echo done", notify="mailbox", notify_on=wanted) == "done"
    (record,) = records(home)
    assert states(record) == expected


def test_notify_never(home: Path) -> None:
    """With "never" a failure sends no alert."""
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", notify="mailbox", notify_on="never")
    assert states(records(home)[0]) == {}


def test_channels_of_the_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels come from gpualert's configuration."""
    monkeypatch.setenv("GPUALERT_NOTIFY", f"mailbox:{home / 'configured'}")
    with pytest.raises(TrainingFailed):
        run("called", "exit 3")
    assert len(mails(home / "configured")) == 1


def test_artifact(home: Path) -> None:
    """The alert carries a file that was named."""
    with pytest.raises(TrainingFailed):
        run(
            "called",
            "echo precious > notes.rst; exit 3",
            cwd=home,
            notify="mailbox",
            artifact="*.rst",
        )
    (mail,) = mails(home / "state" / "mailbox")
    assert "notes.rst" in [part.get_filename() for part in mail.iter_attachments()]


# -- never at the cost of the task -----------------------------------------------------------


@FACES
def test_silent_server_is_not_waited_for(way: str, home: Path) -> None:
    """The task fails as usual, before the first delivery of its alert has ended."""
    with mail_process("silent") as port, pytest.raises(TrainingFailed, match="exit code 3"):
        run(way, "exit 3", notify=mail_target(port), notify_deadline=0.5)
    (record,) = records(home)
    (entry,) = queued(record)
    assert entry.state == "pending"


@FACES
def test_alert_does_not_use_the_time_of_the_task(way: str, home: Path) -> None:
    """A training that ended in time is no timeout, even if its alert takes longer."""
    with mail_process("silent") as port:
        result = run(
            way,
            "echo done",
            {"timeout_seconds": 15},
            notify=mail_target(port),
            notify_on="always",
            notify_deadline=60,
        )
    assert result == "done"
    (entry,) = queued(records(home)[0])
    assert entry.state == "pending"


@FACES
def test_timeout_is_sent(way: str, home: Path) -> None:
    """A training that the task's timeout stops sends an alert, and the timeout is raised."""
    with pytest.raises(TimeoutError):
        run(way, "sleep 60; true", {"timeout_seconds": 2}, notify="mailbox")
    assert states(records(home)[0]) == {"mailbox": "sent"}


def test_guardian_that_died(home: Path) -> None:
    """Without a guardian the task sends the alert, with its secrets."""
    secret = (
        "smtp://me:hunter2hunter2@127.0.0.1:1/?to=a@example.org&from=b@example.org&security=none"
    )

    with pytest.raises(TrainingFailed):
        run(
            "called",
            f'kill -9 $(python3 -c "import json; print(json.load(open('
            f"'{home}/state/runs/$GPUALERT_RUN_ID/spec.json'))['supervisor_pid'])\"); exit 3",
            notify=["mailbox", secret],
            notify_deadline=10,
        )
    (record,) = records(home)
    by_channel = {entry.channel: entry for entry in entries(record)}
    assert by_channel.pop("mailbox").state == "sent"
    (mail,) = by_channel.values()
    assert "refused" in mail.fields["last"]["problem"]


# -- secrets ---------------------------------------------------------------------------------


def test_secret_block_with_mail(home: Path) -> None:
    """The password of a mail address in a Secret block reaches the server, but never the disk."""
    folder = home / "mails"
    folder.mkdir()
    with mail_process("good", "--folder", str(folder), "--login", "me:hunter2hunter2") as port:
        keep("mail", mail_target(port, user="me:hunter2hunter2@"))
        with pytest.raises(TrainingFailed):
            run("called", "exit 3", notify="prefect:secret/mail")
    (record,) = records(home)
    assert states(record) == {"prefect:secret/mail": "sent"}
    assert len(list(folder.glob("*.eml"))) == 1
    assert b"hunter2hunter2" not in everything_in(record.path)


@pytest.mark.parametrize("way", ["called", "awaited"])
def test_secret_block_with_a_url(way: str, home: Path) -> None:
    """A URL of apprise in a Secret block is used, and never on the disk."""
    with web_server() as server:
        url = f"json://me:hunter2hunter2@127.0.0.1:{server.port}/"
        keep("hook", url)
        with pytest.raises(TrainingFailed):
            run(way, "exit 3", notify=["prefect:secret/hook"])
    (record,) = records(home)
    assert states(record) == {"prefect:secret/hook": "sent"}
    assert server.requests
    assert b"hunter2hunter2" not in everything_in(record.path)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("prefect:secret/no-such-block", None),
        ("prefect:secret/no-url", "hunter2hunter2"),
        ("prefect:secret/no-mail", "smtp://127.0.0.1/?security=hunter2hunter2"),
        ("prefect:variable/mail", None),
        ("no-such-channel", None),
        ("command:nosuch-program", None),
        ("env:GPUALERT_NOT_SET", None),
    ],
)
def test_wrong_target_starts_nothing(target: str, value: str | None, home: Path) -> None:
    """A missing block, and a channel that cannot be used, are errors before the launch."""
    if value is not None:
        keep(target.rpartition("/")[2], value)
    with pytest.raises(Exception, match=target):
        run("called", "echo started", notify=target)
    assert not (home / "state" / "runs").exists()


# -- with hooks ------------------------------------------------------------------------------


def test_hook_sends_nothing_again(home: Path) -> None:
    """A task's own alert and two hooks send one alert to each channel."""
    hooks = [gpualert_hook("mailbox"), gpualert_hook(["mailbox", f"mailbox:{home / 'other'}"])]
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", {"on_failure": hooks}, notify="mailbox")
    (record,) = records(home)
    assert sorted(states(record).values()) == ["sent", "sent"]
    assert len(mails(home / "state" / "mailbox")) == 1
    assert len(mails(home / "other")) == 1


def test_hook_sends_a_held_alert(home: Path) -> None:
    """If a retry is refused, the alert is sent at once."""
    options = {
        "retries": 3,
        "retry_delay_seconds": 600,
        "retry_condition_fn": lambda *_: False,
        "on_failure": [gpualert_hook("none")],
    }
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", options, notify="mailbox")
    assert states(records(home)[0]) == {"mailbox": "sent"}


def test_hook_of_a_timeout(home: Path) -> None:
    """The alert of a timeout is that of the training that it stopped."""
    options = {"timeout_seconds": 2, "on_failure": [gpualert_hook("mailbox")]}
    with pytest.raises(TimeoutError):
        run("called", "sleep 60; true", options)
    (record,) = records(home)
    assert states(record) == {"mailbox": "sent"}


def test_hook_of_a_success(home: Path) -> None:
    """A hook sends successes that the task's own channel does not want."""
    options = {"on_completion": [gpualert_hook(f"mailbox:{home / 'hook'}")]}
    assert run("called", "echo done", options, notify="mailbox") == "done"
    (record,) = records(home)
    assert list(states(record).values()) == ["sent"]
    assert len(mails(home / "hook")) == 1


def test_flow_hook_sends_for_its_training(home: Path) -> None:
    """A flow that fails by its training sends the alert of that training, and no other."""

    @flow(on_failure=[gpualert_hook("mailbox")])
    def outer() -> Any:
        return gpualert_run("exit 3", notify="mailbox")

    with pytest.raises(TrainingFailed):
        outer()
    (record,) = records(home)
    assert states(record) == {"mailbox": "sent"}
    assert len(mails(home / "state" / "mailbox")) == 1


def test_flow_hook_sends_for_every_failure(home: Path) -> None:
    """A flow that fails by itself alerts for itself and its trainings, not for retries."""
    hook = gpualert_hook("mailbox")

    @flow(on_failure=[hook])
    def outer() -> None:
        gpualert_run.with_options(retries=1)("test -e a || { touch a; exit 3; }", cwd=home)
        with pytest.raises(TrainingFailed):
            gpualert_run("exit 4")
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        outer()
    of_flow, *trainings = records(home)
    assert [states(record) for record in trainings] == [{}, {}, {"mailbox": "sent"}]
    assert states(of_flow) == {"mailbox": "sent"}
    assert "of its own" in (of_flow.read_json("verdict.json") or {})["headline"]
