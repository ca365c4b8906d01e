"""Tests of ``gpualert notify``, ``outbox`` and ``recover``."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from gpualert_common.record import Record
from tests.notify.alerting import (
    body,
    entries,
    kill_senders,
    mails,
    outbox,
    script,
    states,
    write_config,
)
from tests.supervised import Lab, python, shell, until

FAILS = shell("echo it broke; exit 3")
WAITS = shell("echo before; until [ -e go ]; do sleep 0.01; done; echo after; exit 3")


@pytest.fixture
def flag(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A channel ``gate`` that accepts messages only once this file exists."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    flag = lab.home / "open"
    path = script(lab.home / "gate", f"cat > {lab.home}/got\ntest -e {flag} || exit 75")
    write_config(
        lab,
        f'notify = ["gate"]\nnotify_deadline = 0\n[channels.gate]\nkind = "command"\n'
        f'command = "{path}"\n',
    )
    return flag


def only_run(lab: Lab) -> Record:
    """Return the only record."""
    (path,) = lab.records()
    return Record.open(str(path))


def test_last_message_names_the_alert(lab: Lab) -> None:
    """A failed run reports the state of its alert, except with --quiet; the status is unchanged."""
    loud = lab.gpualert("run", "--notify", "mailbox", "--", *FAILS)
    quiet = lab.gpualert("run", "--quiet", "--notify", "mailbox", "--", *FAILS)
    assert (loud.returncode, quiet.returncode) == (3, 3)
    assert b"gpualert: alert to mailbox sent: in " in loud.stderr
    assert quiet.stderr == b""
    assert len(mails(lab)) == 2


def test_success_is_sent_on_request(lab: Lab) -> None:
    """A success is sent only with --notify-on always."""
    for on in ("failure", "always"):
        lab.gpualert("run", "--notify", "mailbox", "--notify-on", on, "--", *shell("true"))
    (mail,) = mails(lab)
    assert "completed after" in mail["Subject"]


def test_artifacts_of_a_run(lab: Lab) -> None:
    """Files of the run are attached, earlier files are not, and a checkpoint is named."""
    work = lab.home / "work"
    (work / "deep").mkdir(parents=True)
    (work / "before.json").write_text("{}")
    (work / "deep" / "asked.dat").write_text("asked for")
    os.utime(work / "before.json", (1, 1))
    code = (
        "import time; time.sleep(1.7)\n"
        "open('after.json', 'w').write('{}')\nopen('model.pt', 'wb').write(b'x')\n1/0"
    )
    options = ("--cwd", str(work), "--notify", "mailbox", "--artifact", "deep/*.dat")
    lab.gpualert("run", *options, "--", *python(code))
    (mail,) = mails(lab)
    names = [part.get_filename() for part in mail.iter_attachments()]
    assert "after.json" in names
    assert "asked.dat" in names
    assert "before.json" not in names
    assert "model.pt" in body(mail)
    assert (Path(only_run(lab).path) / "baseline.json").exists()


def test_list_retry(lab: Lab, flag: Path) -> None:
    """An undelivered alert is listed with its reason; `retry` delivers it, as its status shows."""
    lab.run(*FAILS)
    record = only_run(lab)
    _stop_senders(lab)
    (row,) = outbox(lab)
    assert (row["state"], row["channel"]) == ("pending", "gate")
    assert lab.gpualert("outbox", "retry").returncode == 1
    flag.touch()
    done = lab.gpualert("outbox", "retry", "last")
    assert done.returncode == 0, done
    assert states(record) == {"gate": "sent"}
    assert outbox(lab) == []
    assert [one["state"] for one in outbox(lab, "--all")] == ["sent"]


def test_retry_elsewhere(lab: Lab, flag: Path) -> None:
    """An alert can be sent by a channel other than its own."""
    lab.run(*FAILS)
    _stop_senders(lab)
    lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert states(only_run(lab)) == {"gate": "pending", "mailbox": "sent"}
    refused = lab.gpualert("outbox", "retry", "--notify", "mailbox")
    assert refused.returncode == 2
    assert b"name the run" in refused.stderr


def test_retry_by_a_channel_that_was_mended(lab: Lab, flag: Path) -> None:
    """A channel that is named again has its current settings."""
    lab.run(*FAILS)
    _stop_senders(lab)
    write_config(lab, '[channels.gate]\nkind = "command"\ncommand = "true"\n')
    assert lab.gpualert("outbox", "retry", "last", "--notify", "gate").returncode == 0
    assert states(only_run(lab)) == {"gate": "sent"}


def test_dropped_alert_is_not_sent_elsewhere(lab: Lab, flag: Path) -> None:
    """Sending an alert by another channel does not bring back a dropped one."""
    lab.run(*FAILS)
    _stop_senders(lab)
    lab.gpualert("outbox", "drop", "last")
    flag.touch()
    lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert states(only_run(lab)) == {"gate": "dropped", "mailbox": "sent"}


def test_relative_paths(lab: Lab) -> None:
    """A path is relative to the place where it was given, wherever the sender runs."""
    script(lab.home / "hook.sh", f"cat > {lab.home}/got")
    (lab.home / "url").write_text("nosuchscheme://")
    target = ("--notify", "command:./hook.sh", "--notify", "file:url")
    lab.gpualert("run", *target, "--", *FAILS)
    by_kind = {entry.fields["channel"]["kind"]: entry for entry in entries(only_run(lab))}
    assert by_kind["command"].state == "sent"
    assert "not a URL that apprise knows" in by_kind["apprise"].fields["last"]["problem"]


def test_record_is_removed_under_the_run(lab: Lab) -> None:
    """A run that removed its own record still alerts."""
    code = f"rm -r {lab.state}/runs/*; sleep 1; exit 3"
    done = lab.gpualert("run", "--notify", "mailbox", "--", *shell(code))
    assert done.returncode == 3
    assert len(mails(lab)) == 1


def test_drop(lab: Lab, flag: Path) -> None:
    """A dropped alert is never sent, also not by later runs."""
    lab.run(*FAILS)
    _stop_senders(lab)
    assert lab.gpualert("outbox", "drop", "last").returncode == 0
    assert states(only_run(lab)) == {"gate": "dropped"}
    flag.touch()
    assert lab.gpualert("outbox", "retry").returncode == 0
    assert states(only_run(lab)) == {"gate": "dropped"}
    assert lab.gpualert("outbox", "drop", "last").returncode == 1


def test_notify_test(lab: Lab, flag: Path) -> None:
    """`notify test` really sends, once, and its status is 0 only if all channels accepted."""
    refused = lab.gpualert("notify", "test", "--json")
    assert refused.returncode == 1
    (row,) = json.loads(refused.stdout)["channels"]
    assert not row["accepted"]
    flag.touch()
    done = lab.gpualert("notify", "test")
    assert done.returncode == 0
    assert done.stdout.startswith(b"gate ")
    assert b"This is a test" in (lab.home / "got").read_bytes()
    assert lab.records() == []


def test_notify_test_without_a_channel(lab: Lab) -> None:
    """Without a channel `notify test` reports that there is nothing to test."""
    done = lab.gpualert("notify", "test", "--notify", "none")
    assert done.returncode == 2
    assert b"no channel is named" in done.stderr


def test_preview(lab: Lab, flag: Path) -> None:
    """`notify preview` prints the message and sends nothing; a live run has none."""
    lab.gpualert("run", "--notify", "none", "--name", "tiny", "--", *FAILS)
    text = lab.gpualert("notify", "preview")
    page = lab.gpualert("notify", "preview", "last", "--channel", "mailbox", "--html")
    assert b"Subject: [gpualert] tiny failed" in text.stdout
    assert b"it broke" in text.stdout
    assert page.stdout.startswith(b"<!doctype html>")
    assert not (lab.home / "got").exists()
    assert mails(lab) == []


def test_preview_as_json(lab: Lab, flag: Path) -> None:
    """`notify preview --json` prints the message with its attachments and manifest as JSON only."""
    work = lab.home / "work"
    work.mkdir()
    code = shell("echo '{}' > results.json; echo it broke; exit 3")
    lab.gpualert("run", "--cwd", str(work), "--name", "tiny", "--", *code)
    done = lab.gpualert("notify", "preview", "--channel", "mailbox", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    shown = json.loads(done.stdout)
    assert shown["schema"] == 1
    assert shown["run_id"] == only_run(lab).run_id
    assert shown["channel"]["kind"] == "mailbox"
    assert shown["subject"].startswith("[gpualert] tiny failed")
    assert "it broke" in shown["text"]
    assert shown["html"].startswith("<!doctype html>")
    assert {"name": "results.json", "media_type": "application/json", "bytes": 3} in shown[
        "attachments"
    ]
    (row,) = shown["artifacts"]
    assert (row["name"], row["fate"]) == ("results.json", "attached")
    assert shown["notes"] == []
    assert lab.gpualert("notify", "preview", "--json", "--html").returncode == 2


def test_both_logs_are_named(lab: Lab) -> None:
    """A run with separate streams names both logs at its end and in its alert."""
    done = lab.gpualert("run", "--streams", "apart", "--notify", "mailbox", "--", *FAILS)
    (mail,) = mails(lab)
    page = mail.get_body(("html",))
    assert page is not None
    for log in ("stdout.log", "stderr.log"):
        path = only_run(lab).log_path(log)
        assert path.encode() in done.stderr
        assert path in body(mail)
        assert path in page.get_content()


def test_recover_sends(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alert is sent when a run whose supervisor was killed is recovered."""
    run = lab.launch(*WAITS, options=("--notify", "mailbox"))
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    (lab.home / "go").touch()
    until(lambda: b"after" in run.log(), "the training to end")
    record = only_run(lab)
    until(lambda: not record.is_held, "its recorder to end")
    done = lab.gpualert("recover")
    assert done.returncode == 0, done.stderr
    assert b"alert" in done.stdout or b"to mailbox sent" in done.stdout
    assert states(record) == {"mailbox": "sent"}


def _stop_senders(lab: Lab) -> None:
    """Kill the sender of the only run, which would go on for an hour."""

    def gone() -> bool:
        kill_senders(lab)
        return not any(entry.is_locked for entry in entries(only_run(lab)))

    until(lambda: "last" in outbox(lab)[0], "the first attempt to end")
    until(gone, "the senders to be gone")
