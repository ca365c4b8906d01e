"""GPUAlertNotifier in a real Airflow: callbacks in the task's process, and after its death."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from pathlib import Path

import pytest

from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from tests.faults.airflow.case import ENDS_WITHIN_S, STARTS_WITHIN_S
from tests.faults.airflow.standalone import Standalone
from tests.notify.alerting import body
from tests.observer import command_of
from tests.supervised import until

pytestmark = pytest.mark.e2e

DAGS = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from gpualert_provider.notifications.gpualert import GPUAlertNotifier
from gpualert_provider.operators.gpualert import GPUAlertOperator

alert = GPUAlertNotifier()
with DAG("fails", schedule=None):
    BashOperator(
        task_id="train",
        bash_command="echo \\"ModuleNotFoundError: No module named 'apex'\\"; exit 3",
        on_failure_callback=alert,
    )
with DAG("killed", schedule=None):
    BashOperator(task_id="train", bash_command="exec sleep 600", on_failure_callback=alert)
with DAG("ours_killed", schedule=None):
    GPUAlertOperator(task_id="train", bash_command="exec sleep 601", on_failure_callback=alert)
with DAG("ours_fails", schedule=None):
    GPUAlertOperator(task_id="train", bash_command="exit 3", on_failure_callback=[alert, alert])
"""
NAMES = ("fails", "killed", "ours_killed", "ours_fails")
VARIABLES = {"AIRFLOW__WORKERS__SOCKET_CLEANUP_TIMEOUT": "600"}
"""Airflow calls back for a killed task only if it misses the heartbeat before its supervisor gives
up on the sockets that the training still holds; both take 60 s by default."""
KILLED = {"killed": "600", "ours_killed": "601"}
"""DAGs whose task is killed during its training, a ``sleep`` of that many seconds."""

Sent = dict[str, list[EmailMessage]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """An Airflow with these DAGs."""
    home = tmp_path_factory.mktemp("airflow")
    dags = home / "dags"
    dags.mkdir()
    (dags / "callbacks.py").write_text(DAGS)
    made = Standalone(home, dags, VARIABLES)
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def sent(lab: Standalone) -> Sent:
    """Run every DAG to its end; return the mails about each."""
    runs = {dag: lab.trigger(dag) for dag in NAMES}
    for dag in KILLED:
        os.kill(_runner(lab, dag, runs[dag]), signal.SIGKILL)
    for dag, run in runs.items():
        until(partial(lab.is_over, dag, run), f"the end of {dag}", ENDS_WITHIN_S, 1.0)
        assert lab.task(dag, runs[dag])["state"] == "failed"
    until(lambda: len(_mails(lab)) >= len(NAMES), "the alerts", ENDS_WITHIN_S)
    time.sleep(5)  # for one too many
    return {dag: [one for one in _mails(lab) if f" {dag}.train" in one["Subject"]] for dag in NAMES}


def _runner(lab: Standalone, dag: str, run: str) -> int:
    def running() -> int:
        task = lab.task(dag, run)
        return int(task["pid"] or 0) if task["state"] == "running" else 0

    pid = until(running, f"{dag} to run", STARTS_WITHIN_S, 1.0)
    training = ["sleep", KILLED[dag]]
    until(
        lambda: any(command_of(one) == training for one in lab.living()),
        f"the training of {dag}",
        STARTS_WITHIN_S,
    )
    return pid


def _mails(lab: Standalone) -> list[EmailMessage]:
    found: list[Path] = sorted((lab.state / "mailbox" / "new").glob("*"))
    return [message_from_bytes(path.read_bytes(), policy=policy.default) for path in found]


@pytest.mark.parametrize("dag", NAMES)
def test_one_alert_of_each(sent: Sent, dag: str) -> None:
    """Each failed task sends one alert, in whichever process its callback runs."""
    assert len(sent[dag]) == 1


def test_log_of_a_task(sent: Sent) -> None:
    """The alert of another operator's task names the cause, by the task's log."""
    (mail,) = sent["fails"]
    assert "missing_module" in mail["Subject"]
    assert "No module named 'apex'" in body(mail)


def test_killed_training_has_one_record(lab: Standalone, sent: Sent) -> None:
    """The guardian sends the alert of a training whose task was killed, from its own record."""
    (mail,) = sent["ours_killed"]
    ours = [path for path in (lab.state / "runs").iterdir() if path.name in mail["Message-ID"]]
    record = Record.open(str(ours[0]))
    assert record.spec.owner["key"][1] == "ours_killed"
    assert [entry.state for entry in Outbox(record).entries()] == ["sent"]
