"""Alerts in the outbox: queued, held, sent, given up, and found again."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.notify import channel_config
from gpualert_common.notify.delivery import GIVE_UP_S
from gpualert_common.notify.entry import EntryState
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.record_delivery import deliver
from gpualert_common.record import Record
from gpualert_common.spec import message_id
from tests.notify.alerting import (
    MAILBOX,
    alerts,
    ended_run,
    entries,
    mails,
    script,
    send,
    states,
    write_config,
)
from tests.supervised import PYTHON, Lab, is_alive, until

OWNERSHIP = {"key": ["engine", "task"], "number": 1, "adopt_within_s": 300.0, "is_last": False}


def command(name: str, line: str) -> dict[str, Any]:
    """Return a channel that is a program."""
    return {"name": name, "kind": "command", "settings": {"command": ["sh", "-c", line]}}


def outcome(record: Record, state: str, *, final: bool, **more: Any) -> None:
    """Record the outcome of a run's task."""
    record.write_json("outcome.json", {"schema": 1, "state": state, "final": final, **more})


def test_sent_once(lab: Lab) -> None:
    """With any number of deliveries, each channel gets an alert once."""
    record = ended_run(lab)
    for _time in range(3):
        send(record)
    assert states(record) == {"mailbox": "sent"}
    assert [mail["Message-ID"] for mail in mails(lab)] == [message_id(record.run_id)]


def test_sent_once_by_many(lab: Lab) -> None:
    """Ten simultaneous senders of one alert send it once."""
    counted = lab.home / "counted"
    record = ended_run(lab, alerts=alerts(command("slow", f"echo >> {counted}; sleep 0.3")))
    many = [threading.Thread(target=send, args=(record,)) for _number in range(10)]
    for one in many:
        one.start()
    for one in many:
        one.join()
    assert states(record) == {"slow": "sent"}
    assert counted.read_text() == "\n"


def test_queued_before_it_is_sent(lab: Lab) -> None:
    """While a channel sends, the alert is in the outbox, and the record is marked."""
    listed = lab.home / "listed"
    where = f"{lab.state}/undelivered {lab.state}/runs/*/outbox/*.json"
    record = ended_run(lab, alerts=alerts(command("list", f"cat {where} > {listed}; ls {where}")))
    send(record)
    assert json.loads(listed.read_text())["state"] == "pending"
    assert states(record) == {"list": "sent"}
    assert not os.listdir(lab.state / "undelivered")


def test_one_channel_does_not_wait_for_another(lab: Lab) -> None:
    """A channel that hangs does not delay one that works."""
    record = ended_run(lab, alerts=alerts(command("hangs", "sleep 60"), MAILBOX, deadline_s=2.0))
    send(record)
    assert states(record) == {"hangs": "pending", "mailbox": "sent"}


def test_permanent_fault(lab: Lab) -> None:
    """A permanent fault is reported and not tried again automatically."""
    record = ended_run(lab, alerts=alerts(command("no", "echo no such user >&2; exit 67")))
    send(record)
    send(record)
    (entry,) = entries(record)
    assert (entry.state, entry.fields["attempts"]) == ("failed", 1)
    assert "no such user" in entry.fields["last"]["problem"]
    assert not os.listdir(lab.state / "undelivered")


def test_transient_fault(lab: Lab) -> None:
    """A transient fault is tried again after a pause, until it passes."""
    flag = lab.home / "flag"
    record = ended_run(lab, alerts=alerts(command("later", f"test -e {flag} || exit 75")))
    send(record, deadline_s=0.5)
    until(lambda: [one.fields["attempts"] for one in entries(record)] == [1], "the first attempt")
    assert states(record) == {"later": "pending"}
    assert os.listdir(lab.state / "undelivered") == [record.run_id]
    flag.touch()
    until(lambda: states(record) == {"later": "sent"}, "the sender to go on by itself")
    (entry,) = entries(record)
    assert entry.fields["attempts"] >= 2


def test_given_up_after_days(lab: Lab) -> None:
    """An alert that was not delivered for days is given up and marked so."""
    record = ended_run(lab, alerts=alerts(command("never", "exit 75")))
    (entry,) = reconcile(record)[1]
    entry.save(queued_at=entry.fields["queued_at"] - GIVE_UP_S)
    deliver(record, retry_for_s=0.0)
    assert states(record) == {"never": "failed"}


def test_next_run_delivers_what_is_left(lab: Lab) -> None:
    """An undelivered alert is delivered by the next run on the machine, even a successful one."""
    flag = lab.home / "flag"
    line = f"test -e {flag} || exit 75"
    record = ended_run(lab, alerts=alerts(command("later", line)))
    deliver(record, retry_for_s=0.0)
    entries(record)[0].save(due=0.0)
    flag.touch()
    assert lab.run("true", env={**os.environ, "GPUALERT_NOTIFY": "mailbox"}).returncode == 0
    until(lambda: states(record) == {"later": "sent"}, "the next run to send it")


def test_pause_is_kept_by_later_runs(lab: Lab) -> None:
    """A later run does not send an alert before its pause is over."""
    record = ended_run(lab, alerts=alerts(command("later", "exit 75")))
    deliver(record, retry_for_s=0.0)
    entries(record)[0].save(due=9e9)
    send(ended_run(lab))
    assert entries(record)[0].fields["attempts"] == 1


def test_held_and_superseded(lab: Lab) -> None:
    """An alert that is not final is held, and retired once the next attempt has begun."""
    record = ended_run(lab, custody=OWNERSHIP)
    outcome(record, "up_for_retry", final=False, next_within_s=60.0)
    send(record)
    assert states(record) == {"mailbox": "held"}
    record.write_json("successor.json", {"schema": 1, "number": 2})
    send(record)
    assert states(record) == {"mailbox": "superseded"}
    assert mails(lab) == []


def test_held_and_due(lab: Lab) -> None:
    """A held alert is sent if no attempt came in time."""
    record = ended_run(lab, custody=OWNERSHIP)
    outcome(record, "up_for_retry", final=False, next_within_s=60.0)
    send(record)
    outcome(record, "up_for_retry", final=False, next_within_s=0.0)
    send(record)
    assert states(record) == {"mailbox": "sent"}


def test_request_for_a_held_alert(lab: Lab) -> None:
    """A callback's request sends a held alert once, although another attempt may follow."""
    record = ended_run(lab, custody=OWNERSHIP)
    outcome(record, "up_for_retry", final=False, next_within_s=60.0)
    send(record)
    send(record, send_now=True)
    send(record, send_now=True)
    assert states(record) == {"mailbox": "sent"}
    assert len(mails(lab)) == 1


def test_another_channel(lab: Lab) -> None:
    """A channel of a callback gets the alert, and the other channels get nothing twice."""
    record = ended_run(lab)
    send(record)
    send(record, extra_channels=[command("callback", "cat > /dev/null")])
    assert states(record) == {"mailbox": "sent", "callback": "sent"}
    assert len(mails(lab)) == 1


def test_secret_given_directly(lab: Lab) -> None:
    """A secret that is given directly reaches the channel, and is in no file of the record."""
    settings, secrets = channel_config.resolve_alerts(
        _settings(["json://user:hunter2hunter2@127.0.0.1:1/"])
    )
    assert settings is not None
    record = ended_run(lab, alerts=settings)
    send(record, secrets=secrets, deadline_s=0.0)
    last = until(
        lambda: [entry.fields["last"] for entry in entries(record) if "last" in entry.fields],
        "the first attempt to end",
    )[0]
    assert "127.0.0.1" in last["problem"]
    for path in Path(lab.state).rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


def test_missing_secret(lab: Lab) -> None:
    """Without the secret there are no further attempts; the alert has the next command."""
    settings, _secrets = channel_config.resolve_alerts(
        _settings(["json://user:hunter2hunter2@127.0.0.1:1/"])
    )
    record = ended_run(lab, alerts=settings)
    send(record)
    (entry,) = entries(record)
    assert (entry.state, entry.fields["attempts"]) == ("pending", 1)
    assert "gpualert outbox retry RUN --notify" in entry.fields["last"]["problem"]


def test_secret_of_the_configuration(lab: Lab) -> None:
    """A withheld secret is read from the configuration by a later sender."""
    received = lab.home / "received"
    (lab.home / "receive").write_text(f'#!/bin/sh\necho "$1" > {received}\n')
    (lab.home / "receive").chmod(0o755)
    write_config(
        lab, f'[channels.ops]\nkind = "command"\ncommand = ["{lab.home}/receive", "hunter2"]\n'
    )
    channel = {"name": "ops", "kind": "command", "settings": {"command": "withheld"}}
    send(ended_run(lab, alerts=alerts(channel)))
    assert received.read_text() == "hunter2\n"


@pytest.mark.parametrize("way", ["__init__", "send", "exit"])
def test_secret_in_an_error(lab: Lab, way: str) -> None:
    """The text of a channel's error is masked before it is recorded."""
    (lab.home / "ours").mkdir()
    (lab.home / "ours" / "leaky.py").write_text(LEAKY)
    settings = {"token": "withheld", "way": way}
    channel = {"name": "leaky", "kind": "ours.leaky", "settings": settings}
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from gpualert_common.notify.sender_launch import dispatch\n"
        "secrets = {'leaky': {'token': 'hunter2hunter2'}}\n"
        "print(dispatch(sys.argv[2], secrets=secrets, deadline_s=5)[0]['last'])"
    )
    record = ended_run(lab, alerts=alerts(channel))
    done = lab.call((PYTHON, "-c", code, str(lab.home), record.path))
    assert b"bad token" in done.stdout, done
    for path in Path(lab.state).rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


LEAKY = """
import sys
from gpualert_common.notify.message import Budget

class Channel:
    KEYS = {"token": (str, "a token"), "way": (str, "how it fails")}
    REQUIRED = ()
    SECRET = ("token",)
    address = "nowhere"
    budget = Budget(text_bytes=1000)

    def __init__(self, settings):
        self.settings = settings
        if settings["way"] == "__init__":
            raise ValueError("bad token " + settings["token"])

    def send(self, compose, progress, timeout_s):
        if self.settings["way"] == "exit":
            sys.exit("bad token " + self.settings["token"])
        raise RuntimeError("bad token " + self.settings["token"])
"""


def test_secret_of_the_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is read from the environment of the sender; an unset variable is named."""
    settings, secrets = channel_config.resolve_alerts(_settings(["env:NOT_SET_HERE"]))
    record = ended_run(lab, alerts=settings)
    send(record, secrets=secrets)
    (entry,) = entries(record)
    assert "the variable NOT_SET_HERE is not set" in entry.fields["last"]["problem"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": 1}',
        b'{"schema": 1, "state": 3}',
        b'{"schema": 1, "state": "pending", "channel": {}}',
    ],
    ids=str,
)
def test_damaged_entry(lab: Lab, damage: bytes) -> None:
    """An unreadable entry leads to a second mail at most, never to a lost alert."""
    record = ended_run(lab)
    folder = Path(record.path) / "outbox"
    folder.mkdir(mode=0o700)
    (folder / "ended.mailbox.json").write_bytes(damage)
    send(record)
    assert states(record) == {"mailbox": "sent"}


def test_entry_of_a_newer_release(lab: Lab) -> None:
    """An entry of a newer release is not touched."""
    record = ended_run(lab)
    path = Path(record.path) / "outbox" / "ended.mailbox.json"
    path.parent.mkdir(mode=0o700)
    path.write_text('{"schema": 99}')
    send(record)
    assert path.read_text() == '{"schema": 99}'
    assert mails(lab) == []


def test_entry_that_is_no_file(lab: Lab) -> None:
    """A folder or a link in place of an entry is moved aside."""
    record = ended_run(lab, alerts=alerts(MAILBOX, command("other", "true")))
    folder = Path(record.path) / "outbox"
    (folder / "ended.mailbox.json").mkdir(parents=True)
    folder.chmod(0o700)
    (folder / "ended.other.json").symlink_to("/etc/passwd")
    send(record)
    assert states(record) == {"mailbox": "sent", "other": "sent"}


def test_damage_in_one_record(lab: Lab) -> None:
    """A damaged record does not block the alerts of others."""
    damaged = ended_run(lab, alerts=[1, {"channels": 3}])
    later = ended_run(lab, alerts=alerts(command("later", "true")))
    for record in (damaged, later):
        Outbox(record).mark([Outbox(record).draft(MAILBOX, EntryState.PENDING)])
    (Path(damaged.path) / "outcome.json").write_text("{")
    send(ended_run(lab))
    until(lambda: states(later) == {"later": "sent"}, "the other record's alert to be sent")


@pytest.mark.parametrize("name", ["verdict.json", "outcome.json", "successor.json"])
def test_damaged_record(lab: Lab, name: str) -> None:
    """An alert is sent without the damaged parts of its record."""
    record = ended_run(lab, custody={**OWNERSHIP, "is_last": True})
    outcome(record, "failed", final=True)
    (Path(record.path) / name).write_text("{")
    ending = {**(record.read_json("exit.json") or {}), "ended_at": 1.0}
    record.write_json("exit.json", ending)
    send(record)
    assert states(record) == {"mailbox": "sent"}


def test_read_only_outbox(lab: Lab) -> None:
    """If the outbox is not writable, the alert is sent once, and known to be sent."""
    counted = lab.home / "counted"
    record = ended_run(lab, alerts=alerts(command("counts", f"echo >> {counted}")))
    (Path(record.path) / "outbox").write_text("in the way")
    for _time in range(3):
        send(record)
    lab.gpualert("outbox", "list")
    (Path(record.path) / "outbox").unlink()
    lab.gpualert("outbox", "list")
    send(record)
    assert counted.read_text() == "\n"


def test_list_writes_nothing(lab: Lab) -> None:
    """`outbox list` shows due alerts and does not send them."""
    record = ended_run(lab)
    done = lab.gpualert("outbox", "list")
    assert b"to mailbox pending" in done.stdout
    assert not (Path(record.path) / "outbox").exists()


def test_other_files_in_the_outbox(lab: Lab) -> None:
    """Files, folders and links that are no entries are not touched."""
    record = ended_run(lab)
    folder = Path(record.path) / "outbox"
    (folder / "a-folder.json").mkdir(parents=True)
    folder.chmod(0o700)
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / "notes.txt").write_text("mine")
    send(record)
    assert states(record) == {"mailbox": "sent"}


def test_removed_record(lab: Lab) -> None:
    """A removed record is not searched for ever."""
    record = ended_run(lab, alerts=alerts(command("later", "exit 75")))
    deliver(record, retry_for_s=0.0)
    for path in sorted(Path(record.path).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Path(record.path).rmdir()
    send(ended_run(lab))
    until(lambda: not os.listdir(lab.state / "undelivered"), "the marker to go")


def test_program_of_the_users_own(lab: Lab) -> None:
    """A user's own module is a channel by its name."""
    (lab.home / "ours").mkdir()
    (lab.home / "ours" / "pigeon.py").write_text(PIGEON)
    channel = {"name": "pigeon", "kind": "ours.pigeon", "settings": {"loft": str(lab.home)}}
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gpualert_common.notify.sender_launch import dispatch\n"
        "print(dispatch(sys.argv[2], deadline_s=15)[0]['last'])"
    )
    record = ended_run(lab, alerts=alerts(channel))
    done = lab.call((PYTHON, "-c", code, str(lab.home), record.path))
    assert b"flown" in done.stdout, done
    assert (lab.home / "landed").read_text().startswith("[gpualert]")


PIGEON = """
from pathlib import Path
from gpualert_common.notify.message import Budget

class Channel:
    KEYS = {"loft": (str, "where it lands")}
    REQUIRED = ("loft",)
    SECRET = ()
    address = "the loft"
    budget = Budget(text_bytes=1000)

    def __init__(self, settings):
        self.loft = settings["loft"]

    def send(self, compose, progress, timeout_s):
        Path(self.loft, "landed").write_text(compose(self.budget).subject)
        return "flown"
"""


def _settings(notify: list[Any]) -> Any:
    from gpualert_common.settings import load_settings

    return load_settings({"notify": notify}, given_as="argument")


def test_hanging_command_leaves_nothing(lab: Lab) -> None:
    """A hanging program is killed with all its processes."""
    pids = lab.home / "pids"
    path = script(lab.home / "hangs", f"sleep 300 & echo $! > {pids}; wait")
    channel = {"name": "hangs", "kind": "command", "settings": {"command": [path]}}
    record = ended_run(lab, alerts=alerts(channel))
    deliver(record, retry_for_s=0.0)
    assert states(record) == {"hangs": "pending"}
    assert not is_alive(int(pids.read_text()))
