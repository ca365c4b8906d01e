"""GPUAlertNotifier in the callbacks of any task."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpualert_provider.notifications.gpualert import GPUAlertNotifier

from gpualert_common.record import Record
from tests.airflow.conftest import Trials, needs_marked_callback
from tests.airflow.test_ending import When, mark
from tests.notify.alerting import body, mails, queued, states
from tests.notify.faults import mail_process, mail_target
from tests.supervised import Lab

FAILED = "on_failure_callback=GPUAlertNotifier()"
RETRIED = "on_retry_callback=GPUAlertNotifier()"
AGAIN = "retries=1, retry_delay=datetime.timedelta(0)"
BASH, PYTHON = "BashOperator", "PythonOperator"


@pytest.fixture(autouse=True)
def _to_the_mailbox(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the tests' configuration of alerts."""
    monkeypatch.delenv("GPUALERT_NOTIFY")


def test_task_of_another_operator(trials: Trials, lab: Lab) -> None:
    """The alert of a failed BashOperator contains its status, command and state."""
    done = trials.train(f"bash_command='exit 3', {FAILED}", operator=BASH)
    assert done.state == "failed"
    (mail,) = mails(lab)
    assert "exit status 3" in body(mail)
    assert "bash -c 'exit 3'" in body(mail)
    assert lab.record().read_json("outcome.json") is not None
    assert states(lab.record()) == {"mailbox": "sent"}


def test_task_that_launched_nothing(trials: Trials, lab: Lab) -> None:
    """The alert of a task that launches nothing contains its command."""
    trials.train(f"command=['torchrun', 'train.py'], cwd='{lab.home}/gone', {FAILED}")
    assert lab.record().spec.command == ("torchrun", "train.py")


def test_error_of_another_operator(trials: Trials, lab: Lab) -> None:
    """The exception of a Python task is in the alert and in the verdict."""
    trials.train(f"python_callable=lambda: {{}}['gone'], {FAILED}", operator=PYTHON)
    (mail,) = mails(lab)
    assert "KeyError: 'gone'" in body(mail)
    assert (lab.record().read_json("verdict.json") or {})["disposition"] == "failed"


def test_operator_and_callback_send_once(trials: Trials, lab: Lab) -> None:
    """A callback does not repeat the operator's alert, and makes no other record."""
    assert trials.train(f"bash_command='exit 1', {FAILED}").state == "failed"
    assert len(mails(lab)) == 1
    assert len(lab.records()) == 1


@pytest.mark.parametrize("operator", [BASH, "GPUAlertOperator"])
def test_two_callbacks_send_once(trials: Trials, lab: Lab, operator: str) -> None:
    """A channel gets one message of an attempt, and another channel its own."""
    other = lab.home / "other"
    both = f"[GPUAlertNotifier(), GPUAlertNotifier(['mailbox', 'mailbox:{other}'])]"
    trials.train(f"bash_command='exit 1', on_failure_callback={both}", operator=operator)
    assert len(mails(lab)) == 1
    assert len(list(other.glob("new/*"))) == 1
    assert list(states(lab.record()).values()) == ["sent", "sent"]


@needs_marked_callback
def test_task_that_a_user_marked_failed(trials: Trials, lab: Lab, when: When) -> None:
    """``on_retry_callback`` of a task that was marked failed sends an alert without a retry."""
    started = lab.home / "started"

    def mark_and_go_on() -> None:
        mark("failed")
        started.unlink()

    when(started.exists, mark_and_go_on)
    first = f"touch {started}; while [ -e {started} ]; do sleep 0.1; done; exit 1"
    command = f"[ $AIRFLOW_CTX_TRY_NUMBER = 1 ] || exit 99; {first}"
    trials.train(f"bash_command={command!r}, {AGAIN}, {RETRIED}", operator=BASH)
    (mail,) = mails(lab)
    assert (lab.record().read_json("outcome.json") or {})["state"] == "failed"
    assert "now failed" in body(mail)
    assert "retried" not in f"{mail['Subject']} {body(mail)}"


@pytest.mark.parametrize("operator", [BASH, "GPUAlertOperator"])
def test_each_attempt_on_request(trials: Trials, lab: Lab, operator: str) -> None:
    """``on_retry_callback`` sends an alert for each attempt, and all are one mail thread."""
    trials.train(f"bash_command='exit 1', {AGAIN}, {FAILED}, {RETRIED}", operator=operator)
    first, second = mails(lab)
    assert first["Message-ID"] != second["Message-ID"]
    assert first["References"] == second["References"]


def test_secret_of_the_operator_on_retry(
    trials: Trials, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback that sends a held alert has the secrets of its channel."""
    caught = tmp_path / "caught"
    caught.mkdir()
    with mail_process("good", "--folder", str(caught), "--login", "me:pw") as port:
        target = mail_target(port, user="me:pw@")
        trials.train(f"bash_command='exit 1', notify=[{target!r}], {AGAIN}, {RETRIED}")
        assert len(list(caught.iterdir())) == 2


def test_success_on_request(trials: Trials, lab: Lab) -> None:
    """``on_success_callback`` sends an alert after a success."""
    callback = "on_success_callback=GPUAlertNotifier()"
    assert trials.train(f"bash_command='true', {callback}", operator=BASH).state == "success"
    assert len(mails(lab)) == 1
    assert (lab.record().read_json("verdict.json") or {})["cause"] == "none"


def test_success_callback_uses_its_own_channels(trials: Trials, lab: Lab) -> None:
    """A success callback uses its own channels; the operator's get failures only."""
    other = lab.home / "other"
    callback = f"notify='mailbox:{other}', on_success_callback=GPUAlertNotifier('mailbox')"
    assert trials.train(f"bash_command='true', {callback}").state == "success"
    assert len(mails(lab)) == 1
    assert not other.exists()


@pytest.mark.parametrize("targets", ["'carrier-pigeon'", "'airflow:nowhere'", "[{'kind': 7}]"])
def test_notifier_never_fails_its_task(trials: Trials, lab: Lab, targets: str) -> None:
    """An invalid target is logged; the task's state and other callbacks are unaffected."""
    done = trials.train(
        f"bash_command='exit 1', on_failure_callback=[GPUAlertNotifier({targets}), keep]",
        operator=BASH,
    )
    assert done.state == "failed"
    assert "exit code 1" in str(done.error)


def test_other_targets_get_their_alert(trials: Trials, lab: Lab) -> None:
    """Other channels get their alert when a connection is missing."""
    callback = "on_failure_callback=GPUAlertNotifier(['airflow:nowhere', 'mailbox'])"
    trials.train(f"bash_command='exit 1', {callback}", operator=BASH)
    assert len(mails(lab)) == 1


def test_never(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``notify_on="never"`` in the configuration no record is made."""
    monkeypatch.setenv("GPUALERT_NOTIFY_ON", "never")
    GPUAlertNotifier().notify(seen_by_processor())
    assert (mails(lab), lab.records()) == ([], [])


def seen_by_processor(**changes: Any) -> Any:
    """The context of a task whose process was killed: the DAG processor knows no more."""
    task = {"dag_id": "nightly", "task_id": "train", "run_id": "manual", "map_index": -1}
    ti = SimpleNamespace(**{**task, "try_number": 2, "max_tries": 1, **changes})
    return {"ti": ti, "dag": SimpleNamespace(dag_id=ti.dag_id)}


def test_callback_in_another_process(lab: Lab) -> None:
    """An alert without an exception, a state or a start contains the known facts."""
    for _ in range(2):
        GPUAlertNotifier().notify(seen_by_processor())
    (mail,) = mails(lab)
    assert "nightly.train" in mail["Subject"]
    assert lab.record().spec.owner["number"] == 2


@pytest.mark.parametrize(
    ("error", "state"),
    [(ValueError("the bucket is empty"), "failed"), (None, "up_for_retry"), ("", "up_for_retry")],
)
def test_state_of_a_later_attempt(lab: Lab, error: Any, state: str) -> None:
    """A final state is a user's mark in the attempt's own process only, which has the exception.

    In the DAG processor a later attempt may have it.
    """
    states_now = {"manual": {"train": "failed"}}
    context = seen_by_processor(max_tries=3, get_task_states=lambda **_asked: states_now)
    context["exception"] = error
    GPUAlertNotifier().notify(context)
    assert (lab.record().read_json("outcome.json") or {})["state"] == state


def test_training_whose_task_was_killed(trials: Trials, lab: Lab) -> None:
    """In another process, too, the callback finds the training's own record."""
    dag = trials.dag("bash_command='echo from the training; exit 1', notify='none'")
    run = dag.test()
    known = {"dag_id": dag.dag_id, "run_id": run.run_id, "try_number": 1, "max_tries": 0}
    GPUAlertNotifier().notify(seen_by_processor(**known))
    (mail,) = mails(lab)
    assert "from the training" in body(mail)
    assert len(lab.records()) == 1


@pytest.mark.parametrize("context", [{}, {"run_id": "manual", "reason": "timed_out"}])
def test_callback_of_a_dag(lab: Lab, context: Any) -> None:
    """The alert of a callback without a task contains what is known."""
    GPUAlertNotifier().notify(context)
    assert len(mails(lab)) == 1


def test_silent_server(trials: Trials, lab: Lab) -> None:
    """A callback waits until its deadline, not until a server's time-out."""
    with mail_process("silent") as port:
        callback = f"on_failure_callback=GPUAlertNotifier([{mail_target(port)!r}], None, '500ms')"
        assert trials.train(f"bash_command='exit 1', {callback}", operator=BASH).state == "failed"
        (entry,) = queued(lab.record())
        assert (entry.state, entry.fields["attempts"]) == ("pending", 0)
        lab.end_everything()


def test_log_of_the_task(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task's log on this host is read for the verdict, as JSON or as plain lines."""
    logs = tmp_path / "logs"
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(logs))
    path = logs / "dag_id=nightly" / "run_id=manual" / "task_id=train" / "attempt=2.log"
    path.parent.mkdir(parents=True)
    message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a"
    lines = [
        json.dumps({"event": "::group::x"}),
        json.dumps({"event": message}),
        '{"event',
        "plain",
    ]
    path.write_text("\n".join(lines) + "\n")
    GPUAlertNotifier().notify(seen_by_processor())
    log = (lab.records()[0] / "output.log").read_text()
    assert log.splitlines() == [message, '{"event', "plain"]
    assert (lab.record().read_json("verdict.json") or {})["cause"] == "cuda_oom"


def test_error_of_any_kind(lab: Lab) -> None:
    """The alert of an error whose ``str()`` fails contains its type and the status 1."""

    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    context = seen_by_processor()
    context["exception"] = OddError()
    GPUAlertNotifier().notify(context)
    (mail,) = mails(lab)
    assert "OddError" in body(mail)
    ending = lab.record().ending
    assert ending is not None
    assert ending.exit_code == 1


def test_artifacts_of_another_operator(lab: Lab, tmp_path: Path) -> None:
    """The alert of another operator's task carries only files that were named."""
    (tmp_path / "metrics.json").write_text("{}")
    GPUAlertNotifier(artifact=f"{tmp_path}/*.json").notify(seen_by_processor())
    (mail,) = mails(lab)
    assert "metrics.json" in [part.get_filename() for part in mail.iter_attachments()]


def test_damaged_record(trials: Trials, lab: Lab) -> None:
    """An alert is sent also when the training's record cannot be read."""
    dag = trials.dag("bash_command='exit 1', notify='none'")
    run = dag.test()
    (record,) = lab.records()
    (record / "spec.json").write_text("{")
    known = {"dag_id": dag.dag_id, "run_id": run.run_id, "try_number": 1, "max_tries": 0}
    GPUAlertNotifier().notify(seen_by_processor(**known))
    assert len(mails(lab)) == 1


def test_record_of_a_running_training(lab: Lab) -> None:
    """No alert is sent for a training that goes on without its task."""
    from gpualert_common.guardian import Attempt, RunHandle
    from gpualert_common.spec import RunSpec

    context = seen_by_processor(try_number=1)
    key = ("airflow", "nightly", "manual", "train", "-1")
    spec = RunSpec(["sleep", "60"], state_dir=str(lab.state))
    with RunHandle.launch(spec, Attempt(key, adopt_within_s=60.0)) as handle:
        GPUAlertNotifier().notify(context)
        handle.stop("the test is over")
        handle.wait()
    assert mails(lab) == []
    assert [path.name for path in lab.records()] == [os.path.basename(handle.record.path)]
    assert Record.open(handle.record.path).ending is not None
