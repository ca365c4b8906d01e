"""The names of Airflow's task in alerts, in the outbox and in the names of runs."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from gpualert_common.record import Record
from tests.airflow.conftest import Trials
from tests.notify.alerting import body, mails
from tests.supervised import Lab, until

AGAIN = "retries=1, retry_delay=datetime.timedelta(0)"
NOTIFIER = "on_failure_callback=GPUAlertNotifier('mailbox')"
FAILING = [
    ("GPUAlertOperator", "bash_command='exit 3', notify='mailbox'"),
    ("GPUAlertOperator", "bash_command='sleep 1; exit 3', notify='mailbox', deferrable=True"),
    ("BashOperator", f"bash_command='exit 3', {NOTIFIER}"),
]


@pytest.fixture(autouse=True)
def _with_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Airflow's pages an address, as a deployment does."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.org/")


def facts(lab: Lab) -> list[dict[str, object]]:
    """Return the rows of ``gpualert outbox list``."""
    done = lab.gpualert("outbox", "list", "--all", "--json")
    rows: list[dict[str, object]] = json.loads(done.stdout)["alerts"]
    return rows


@pytest.mark.parametrize(("operator", "arguments"), FAILING)
def test_alert_names_the_task(trials: Trials, lab: Lab, operator: str, arguments: str) -> None:
    """Alert and outbox have DAG, DAG run, task, try, owner and the page of the last try."""
    dag = trials.dag(f"{arguments}, {AGAIN}, owner='speech team'", operator=operator)
    run = dag.test()
    # A task waits for its alert for a time only; on a busy machine it may end before.
    (mail,) = until(
        lambda: [one for one in mails(lab) if "exit status 3" in body(one)][-1:], "the alert"
    )
    path = f"dags/{dag.dag_id}/runs/{quote(run.run_id)}/tasks/train"
    page = f"https://airflow.example.org/{path}?try_number=2"
    text = " ".join(body(mail).split())
    for fact in (f"{dag.dag_id}.train", run.run_id, "speech team", page):
        assert fact in text
    (row,) = until(lambda: [one for one in facts(lab) if one["state"] == "sent"][-1:], "its entry")
    assert row["attempt"] == 2
    task = row["task"]
    assert isinstance(task, dict)
    assert (task["workflow"], task["workflow_run"]) == (dag.dag_id, run.run_id)
    assert (task["owner"], task.get("map_index")) == ("speech team", None)
    assert task["url"] == page


def test_alert_names_the_mapped_task(trials: Trials, lab: Lab) -> None:
    """Names of runs, subjects and facts of a mapped task have its index."""
    how = ".partial(notify='mailbox', task_id='train').expand"
    dag = trials.dag_of(
        "mapped_facts",
        f"""
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator
with DAG("mapped_facts", schedule=None) as dag:
    GPUAlertOperator{how}(bash_command=["true", "exit 3"])
""",
    )
    dag.test()
    names = {Record.open(str(path)).spec.name for path in lab.records()}
    assert names == {"mapped_facts.train[0]", "mapped_facts.train[1]"}
    (mail,) = until(lambda: mails(lab), "mail")
    assert "mapped_facts.train[1]" in mail["Subject"]
    (row,) = facts(lab)
    assert isinstance(row["task"], dict)
    assert row["task"]["map_index"] == 1
    assert "/tasks/train/mapped/1?try_number=1" in row["task"]["url"]
