"""Alerts of runs with a guardian: sender, time, and number."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.notify.alert_facts import read_facts
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.notify.alerting import alerts, entries, mails, send, states
from tests.supervised import PYTHON, Lab, python, shell, until

FAILS = shell("echo it broke; exit 3")
WAITS = shell('while [ ! -e "$HOME/go" ]; do sleep 0.05; done; echo it broke; exit 3')


def attempt(number: int = 1, *, is_last: bool = False) -> Attempt:
    """Return an attempt at the only task of these tests."""
    within_s = 0.0 if is_last else 60.0
    return Attempt(("task",), number, adopt_within_s=within_s, lease_s=1.0, is_last=is_last)


def launch(
    lab: Lab, number: int = 1, *, is_last: bool = False, command: Any = FAILS, sends: Any = None
) -> RunHandle:
    """Launch a run that alerts."""
    spec = RunSpec(
        command,
        cwd=str(lab.home),
        grace_s=2.0,
        state_dir=str(lab.state),
        alerts=alerts() if sends is None else sends,
    )
    return RunHandle.launch(spec, attempt(number, is_last=is_last))


def guardian(record: Record) -> int:
    """Return the process id of a run's guardian, also once it has become the sender."""
    return record.spec.supervisor_pid


def test_final_failure(lab: Lab) -> None:
    """A final failure is sent once, by the guardian, before the task returns."""
    with launch(lab, is_last=True) as handle:
        assert handle.wait().exit_code == 3
        handle.record_outcome("failed", final=True)
        sent = handle.await_alerts()
    assert [fields["state"] for fields in sent] == ["sent"]
    (mail,) = mails(lab)
    assert mail["References"] == mail["In-Reply-To"]
    assert mail["References"].endswith(".task@gpualert.invalid>")


def test_success(lab: Lab) -> None:
    """A success is not sent, and there is no wait."""
    with launch(lab, command=shell("true")) as handle:
        handle.wait()
        handle.record_outcome("success", final=True)
        began = time.monotonic()
        assert handle.await_alerts() == []
        assert time.monotonic() - began < alerts()["deadline_s"]
    until(lambda: not handle.record.is_locked(".watch"), "the guardian to go")
    assert mails(lab) == []


def test_retry_that_succeeds(lab: Lab) -> None:
    """A failure that is retried is held; the success of the next attempt retires it."""
    with launch(lab) as first:
        first.wait()
        first.record_outcome("up_for_retry", final=False, next_within_s=60.0)
        sent = first.await_alerts()
        assert [fields["state"] for fields in sent] == ["held"]
    with launch(lab, 2, is_last=True, command=shell("true")) as second:
        second.wait()
        second.record_outcome("success", final=True)
        assert second.await_alerts() == []
    until(lambda: states(first.record) == {"mailbox": "superseded"}, "the guardian to see it")
    assert mails(lab) == []


def test_retry_that_fails(lab: Lab) -> None:
    """Two failed attempts are one alert, that of the last one."""
    with launch(lab) as first:
        first.wait()
        first.record_outcome("up_for_retry", final=False, next_within_s=60.0)
    with launch(lab, 2, is_last=True) as second:
        second.wait()
        second.record_outcome("failed", final=True)
        second.await_alerts()
    (mail,) = mails(lab)
    assert "attempt 2" in mail["Subject"]


def test_attempts_share_a_thread(lab: Lab) -> None:
    """Mails about attempts at one task are one thread."""
    for number in (1, 2):
        with launch(lab, number, sends=alerts(on="always"), is_last=True) as handle:
            handle.wait()
            handle.record_outcome("failed", final=True)
            handle.await_alerts()
    one, two = mails(lab)
    assert one["References"] == two["References"]
    assert one["Message-ID"] != two["Message-ID"]


def test_retry_that_never_comes(lab: Lab) -> None:
    """If no attempt comes in time, the guardian sends the held alert."""
    with launch(lab) as handle:
        handle.wait()
        handle.record_outcome("up_for_retry", final=False, next_within_s=1.0)
    until(lambda: states(handle.record) == {"mailbox": "sent"}, "the guardian to send it")
    assert "will be retried" in mails(lab)[0]["Subject"]


FACE = """
import sys
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
import json
spec = RunSpec(**json.loads(sys.argv[1]))
last = Attempt(("task",), 1, adopt_within_s=0.0, lease_s=1.0, is_last=True)
handle = RunHandle.launch(spec, last)
print(handle.record.path, flush=True)
handle.wait()
"""


def worker(lab: Lab, command: Any) -> tuple[subprocess.Popen[bytes], Record]:
    """Start a process that follows a run as the last attempt at its task."""
    import json

    spec = {"command": command, "cwd": str(lab.home), "grace_s": 2.0, "alerts": alerts()}
    text = json.dumps({**spec, "state_dir": str(lab.state)})
    process = lab.start((PYTHON, "-c", FACE, text), stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, Record.open(process.stdout.readline().decode().strip())


def test_worker_is_killed(lab: Lab) -> None:
    """A killed worker reports no outcome, and its alert is still sent."""
    process, record = worker(lab, WAITS)
    until(lambda: record.event("launched"), "the launch")
    process.kill()
    until(lambda: states(record) == {"mailbox": "sent"}, "the guardian to send it")
    assert "cancelled" in mails(lab)[0]["Subject"]


def test_adoption_ends_a_time_after_the_task(lab: Lab) -> None:
    """The alert of a run that its task left waits for an adoption from then on."""
    with launch(lab, command=WAITS) as handle:
        record = handle.record
        until(lambda: record.event("launched"), "the launch")
    until(lambda: record.event("orphaned"), "the guardian to notice that its task has gone")
    (lab.home / "go").touch()
    until(lambda: record.ending, "the end of the run")
    left = record.event("orphaned")
    assert left is not None
    assert read_facts(record).adoptable_until == left.at + 60.0


def test_guardian_is_killed(lab: Lab) -> None:
    """If the guardian was killed, its task sends."""
    with launch(lab, is_last=True, command=WAITS) as handle:
        until(lambda: handle.record.event("launched"), "the launch")
        os.kill(guardian(handle.record), signal.SIGKILL)
        assert handle.wait().exit_code is None
        handle.record_outcome("failed", final=True)
        sent = handle.await_alerts()
    assert [fields["state"] for fields in sent] == ["sent"]
    assert len(mails(lab)) == 1


def test_guardian_is_killed_while_it_holds(lab: Lab) -> None:
    """An alert that a killed guardian held is sent by the next run on the machine when it is
    due."""
    with launch(lab) as handle:
        handle.wait()
        handle.record_outcome("up_for_retry", final=False, next_within_s=5.0)
        assert [fields["state"] for fields in handle.await_alerts()] == ["held"]
    os.kill(guardian(handle.record), signal.SIGTERM)
    until(lambda: not handle.record.is_locked(".watch"), "the guardian to be gone")
    (entry,) = entries(handle.record)
    assert entry.state == "held"
    until(lambda: time.time() > entry.due, "the time of the alert")
    lab.run("true", env={**os.environ, "GPUALERT_NOTIFY": "mailbox"})
    until(lambda: states(handle.record) == {"mailbox": "sent"}, "the next run to send it")


@pytest.mark.parametrize("state", ["success", "skipped"])
def test_task_that_passes_a_failed_training(lab: Lab, state: str) -> None:
    """The outcome of the task decides: a skipped task is no failure."""
    with launch(lab, is_last=True) as handle:
        handle.wait()
        handle.record_outcome(state, final=True)
        assert handle.await_alerts() == []


def test_silent_channel(lab: Lab) -> None:
    """A task waits for a hanging channel until its deadline, and the sender goes on."""
    flag = lab.home / "flag"
    line = f"while [ ! -e {flag} ]; do sleep 0.1; done"
    channel = {"name": "slow", "kind": "command", "settings": {"command": ["sh", "-c", line]}}
    with launch(lab, is_last=True, sends=alerts(channel, deadline_s=3.0)) as handle:
        handle.wait()
        handle.record_outcome("failed", final=True)
        assert [fields["state"] for fields in handle.await_alerts()] == ["pending"]
    flag.touch()
    until(lambda: states(handle.record) == {"slow": "sent"}, "the sender to go on")


def test_callback_without_the_secret(lab: Lab) -> None:
    """A callback without the secret of a held alert leaves it to the guardian."""
    channel = {"name": "given", "kind": "command", "settings": {"command": "withheld"}}
    spec = RunSpec(
        FAILS,
        cwd=str(lab.home),
        state_dir=str(lab.state),
        alerts=alerts(channel),
        secrets={"given": {"command": "true"}},
    )
    with RunHandle.launch(spec, attempt()) as handle:
        handle.wait()
        handle.record_outcome("up_for_retry", final=False, next_within_s=12.0)
        handle.await_alerts()
    send(handle.record, extra_channels=[alerts()["channels"][0]], send_now=True)
    assert states(handle.record) == {"given": "held", "mailbox": "sent"}
    until(lambda: states(handle.record)["given"] == "sent", "the guardian to send its own")


def test_detached_run(lab: Lab) -> None:
    """The guardian sends the alert of a detached run at once."""
    env = {**os.environ, "GPUALERT_NOTIFY": "mailbox"}
    done = lab.gpualert("run", "--detach", "--", *FAILS, env=env)
    record = Record.open(str(lab.state / "runs" / done.stdout.decode().strip()))
    until(lambda: states(record) == {"mailbox": "sent"}, "the guardian to send it")


def test_secret_passes_through_the_guardian(lab: Lab) -> None:
    """A secret that is given directly reaches the sender, and is in no file."""
    received = lab.home / "received"
    code = f"import sys; open({str(received)!r}, 'w').write(sys.argv[1])"
    channel = {"name": "given", "kind": "command", "settings": {"command": "withheld"}}
    spec = RunSpec(
        FAILS,
        cwd=str(lab.home),
        state_dir=str(lab.state),
        alerts=alerts(channel),
        secrets={"given": {"command": [*python(code), "hunter2-hunter2"]}},
    )
    with RunHandle.launch(spec, attempt(is_last=True)) as handle:
        handle.wait()
        handle.record_outcome("failed", final=True)
        assert [fields["state"] for fields in handle.await_alerts()] == ["sent"]
    assert received.read_text() == "hunter2-hunter2"
    for path in Path(lab.state).rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path
