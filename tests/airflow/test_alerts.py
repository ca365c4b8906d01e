"""Alerts of a GPUAlertOperator, which never change its task."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from gpualert_common.errors import ConfigError
from gpualert_common.record import Record
from tests.airflow.conftest import Trials
from tests.notify.alerting import body, mails, queued, states
from tests.notify.faults import mail_process, mail_target
from tests.supervised import Lab, until

AGAIN = "retries=1, retry_delay=datetime.timedelta(0)"
When = Callable[[Callable[[], object], Callable[[], None]], None]


@pytest.fixture(autouse=True)
def _to_the_mailbox(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the tests' configuration of alerts."""
    monkeypatch.delenv("GPUALERT_NOTIFY")


def of_attempts(lab: Lab) -> list[dict[str, str]]:
    """Return the states of each run's alerts, oldest run first."""
    return [states(Record.open(str(path))) for path in lab.records()]


def test_final_failure_is_sent_once(trials: Trials, lab: Lab) -> None:
    """A failed task has sent its alert when it ends, and the mail contains the task's state."""
    done = trials.train("bash_command='echo ModuleNotFoundError: No module named x; exit 3'")
    assert done.state == "failed"
    (mail,) = mails(lab)
    assert ".train" in mail["Subject"]
    assert "exit status 3" in body(mail)
    assert of_attempts(lab) == [{"mailbox": "sent"}]


def test_failure_that_is_tried_again_is_held(trials: Trials, lab: Lab) -> None:
    """No alert is sent while another attempt may follow, and its success cancels the alert."""
    done = trials.train(f"bash_command='test $AIRFLOW_CTX_TRY_NUMBER = 2', {AGAIN}")
    assert done.state == "success"
    first, _second = lab.records()
    until(lambda: states(Record.open(str(first))) == {"mailbox": "superseded"}, "it to be void")
    assert mails(lab) == []


def test_last_of_two_failures_is_sent(trials: Trials, lab: Lab) -> None:
    """Of two failed attempts only the second sends an alert, as the final one."""
    assert trials.train(f"bash_command='exit 1', {AGAIN}").state == "failed"
    (mail,) = mails(lab)
    assert lab.records()[1].name in mail["Message-ID"]
    assert lab.records()[0].name not in mail["Message-ID"]


def test_time_of_a_held_alert(trials: Trials, lab: Lab) -> None:
    """An alert is held for the retry delay and the scheduler's delay, and no longer."""
    dag = trials.dag("bash_command='exit 1', retries=1, retry_delay=datetime.timedelta(0)")
    trials.test(dag)
    outcome = Record.open(str(lab.records()[0])).read_json("outcome.json") or {}
    assert (outcome["state"], outcome["next_within_s"]) == ("up_for_retry", 180.0)


@pytest.mark.parametrize(
    ("arguments", "state"),
    [("bash_command='true'", "success"), ("bash_command='exit 99'", "skipped")],
)
def test_success_and_skip_are_not_sent(
    trials: Trials, lab: Lab, arguments: str, state: str
) -> None:
    """A success and a skip send nothing."""
    assert trials.train(arguments).state == state
    assert (mails(lab), of_attempts(lab)) == ([], [{}])


def test_success_is_sent_on_request(trials: Trials, lab: Lab) -> None:
    """With ``notify_on="always"`` the mail of a success is there when the task ends."""
    assert trials.train("bash_command='true', notify_on='always'").state == "success"
    assert len(mails(lab)) == 1


def test_notify_none(trials: Trials, lab: Lab) -> None:
    """``notify="none"`` sends nothing."""
    assert trials.train("bash_command='exit 1', notify='none'").state == "failed"
    assert (mails(lab), of_attempts(lab)) == ([], [{}])


def test_failure_after_a_good_training_is_sent(trials: Trials, lab: Lab) -> None:
    """A task that fails without further retries sends its alert at once, also after status 0."""
    done = trials.train("bash_command='true', output_processor=fail, retries=3")
    assert done.state == "failed"
    assert len(mails(lab)) == 1


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("carrier-pigeon", "'carrier-pigeon' is neither a known channel"),
        ("command:nosuch-program", "there is no program nosuch-program in PATH"),
        ("env:GPUALERT_NOT_SET", "the variable GPUALERT_NOT_SET is not set"),
    ],
)
def test_error_before_launch(trials: Trials, lab: Lab, target: str, problem: str) -> None:
    """A target that cannot be used fails the task before the launch, and the error names it."""
    done = trials.train(f"bash_command='true', notify={target!r}")
    assert done.state == "failed"
    assert isinstance(done.error, ConfigError)
    assert problem in str(done.error)
    assert lab.records() == []


def test_artifact_of_a_temporary_directory(trials: Trials, lab: Lab) -> None:
    """An alert carries files of the directory that Airflow removes."""
    trials.train("bash_command='echo 1 > metrics.json; exit 1'")
    (mail,) = mails(lab)
    attached = {part.get_filename(): part.get_content() for part in mail.iter_attachments()}
    assert attached["metrics.json"] in (b"1\n", "1\n")
    assert list((lab.home / "tmp").glob("airflowtmp*")) == []


def test_artifact_that_was_named(trials: Trials, lab: Lab) -> None:
    """An author's pattern selects files that an alert would not carry otherwise."""
    trials.train("bash_command='echo 1 > a.dat; exit 1', artifact='*.dat'")
    (mail,) = mails(lab)
    assert "a.dat" in [part.get_filename() for part in mail.iter_attachments()]


def test_silent_server(trials: Trials, lab: Lab) -> None:
    """The task waits for a silent server until the deadline, not until its own timeout."""
    with mail_process("silent") as port:
        target = mail_target(port)
        done = trials.train(f"bash_command='exit 1', notify=[{target!r}], notify_deadline='500ms'")
        assert done.state == "failed"
        (entry,) = queued(lab.record())
        assert (entry.state, entry.fields["attempts"]) == ("pending", 0)
        assert target not in str(entry.fields)
        lab.end_everything()


def test_alerts_take_no_time_from_the_training(trials: Trials, lab: Lab) -> None:
    """A success just before ``execution_timeout`` stays one while the task waits for a server."""
    limit = "execution_timeout=datetime.timedelta(seconds=15)"
    with mail_process("silent") as port:
        target = f"notify=[{mail_target(port)!r}], notify_on='always', notify_deadline='1m'"
        assert trials.train(f"bash_command='true', {limit}, {target}").state == "success"
        assert queued(lab.record())[0].state == "pending"
        lab.end_everything()


def test_time_out_is_sent(trials: Trials, lab: Lab) -> None:
    """A training that exceeds its time sends its alert, and the task ends by its timeout."""
    limit = "execution_timeout=datetime.timedelta(seconds=1)"
    done = trials.train(f"bash_command='sleep 60', {limit}")
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout

    assert isinstance(done.error, AirflowTaskTimeout)
    (mail,) = mails(lab)
    assert "timeout" in body(mail) or "time" in mail["Subject"]


def test_kill_is_sent(trials: Trials, lab: Lab, when: When) -> None:
    """A task that Airflow kills has sent its alert when it fails."""
    when(
        lambda: lab.has_output(b"ready"),
        lambda: os.kill(os.getpid(), signal.SIGTERM),
    )
    assert trials.train("bash_command='echo ready; exec sleep 60'").state == "failed"
    assert len(mails(lab)) == 1


def test_kill_while_alerts_are_sent(trials: Trials, lab: Lab, when: When) -> None:
    """A task that Airflow kills while it waits for its alerts keeps its state."""
    when(
        lambda: lab.records() and states(lab.record()),
        lambda: os.kill(os.getpid(), signal.SIGTERM),
    )
    with mail_process("silent") as port:
        target = f"notify=[{mail_target(port)!r}], notify_on='always', notify_deadline='1s'"
        assert trials.train(f"bash_command='true', {target}").state == "success"
        lab.end_everything()


def test_target_as_a_table(trials: Trials, lab: Lab) -> None:
    """A target may be a table of settings; two targets get the alert of one failure."""
    program = [sys.executable, "-c", f"open({str(lab.home / 'sent')!r}, 'w')"]
    table = {"kind": "command", "command": program, "name": "mine"}
    trials.train(f"bash_command='exit 1', notify=['mailbox', {table!r}]")
    assert of_attempts(lab) == [{"mailbox": "sent", "mine": "sent"}]
    assert (lab.home / "sent").exists()
