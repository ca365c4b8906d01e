"""Trainings that exit with 0 although their log reports a failure."""

from __future__ import annotations

import pytest
from gpualert_provider.exceptions import TrainingTaskFailed

from gpualert_common.errors import UsageError
from tests.airflow.conftest import Trials
from tests.airflow.test_task_log import FAILED
from tests.notify.alerting import mails
from tests.supervised import Lab, until

DIVERGING = """
import time
time.sleep(1)
for step in range(60):
    print(f"step {step} loss nan lr 0.1")
"""


def task(lab: Lab, more: str) -> str:
    """Return the arguments of a task whose losses are NaN, and which exits with 0."""
    script = lab.script("train.py", DIVERGING)
    return f"bash_command='python3 {script}', notify='mailbox'{more}"


@pytest.mark.parametrize("choice", ["", ", on_suspect='warn'", ", deferrable=True"])
def test_warn(trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], choice: str) -> None:
    """The task succeeds with its result; its log ends with the verdict as a warning; it alerts."""
    done = trials.train(task(lab, choice))
    assert (done.state, done.returned) == ("success", "step 59 loss nan lr 0.1")
    log, _ = capfd.readouterr()
    block = log[log.rindex("Verdict") :].splitlines()
    assert "NaN" in block[1]
    assert "[warning" in block[1]
    (mail,) = until(lambda: mails(lab), "mail")
    assert "nan_loss" in mail["Subject"]


@pytest.mark.parametrize("more", ["", ", deferrable=True"])
def test_fail(trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], more: str) -> None:
    """The task fails by the usual error, which says so; the log has the verdict; it alerts."""
    done = trials.train(task(lab, f", on_suspect='fail'{more}"))
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert (done.error.cause, done.error.exit_code) == ("nan_loss", 0)
    first, second, *_ = str(done.error).splitlines()
    assert first.startswith("nan_loss: ")
    assert second == "Bash command failed. It returned 0, but its log reports a failure."
    before, _ = capfd.readouterr()[0].split(FAILED)
    assert "its task failed" in before[before.rindex("Verdict") :]
    assert len(until(lambda: mails(lab), "mail")) == 1


def test_retries_follow_the_verdict(trials: Trials, lab: Lab) -> None:
    """A suspect training that fails is tried again, unless its cause stops the retries."""
    more = ", on_suspect='fail', retries=1, retry_delay=datetime.timedelta(0)"
    trials.train(task(lab, more))
    assert len(lab.records()) == 2
    trials.train(task(lab, f"{more}, retry_by_cause={{'nan_loss': 'stop'}}"))
    assert len(lab.records()) == 3


@pytest.mark.parametrize("more", ["", ", deferrable=True"])
def test_skip(trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], more: str) -> None:
    """The task is skipped, its log ends with the verdict as a warning, and it alerts."""
    done = trials.train(task(lab, f", on_suspect='skip'{more}"))
    assert done.state == "skipped"
    assert (lab.record().read_json("outcome.json") or {})["state"] == "skipped"
    log, _ = capfd.readouterr()
    assert "[warning" in log[log.rindex("Verdict") :].splitlines()[1]
    assert len(until(lambda: mails(lab), "mail")) == 1


@pytest.mark.parametrize("choice", ["warn", "fail", "skip"])
def test_healthy_training(
    trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], choice: str
) -> None:
    """A training that ended well succeeds in any case, without a block and without an alert."""
    done = trials.train(f"bash_command='true', notify='mailbox', on_suspect={choice!r}")
    assert done.state == "success"
    assert "Verdict" not in capfd.readouterr()[0]
    assert mails(lab) == []


_DECORATED = """
from airflow.sdk import DAG, task
with DAG("suspect_decorated", schedule=None, default_args={{"on_suspect": "fail"}}) as dag:
    @task.gpualert
    def train():
        return "python3 {script}"
    train()
"""


def test_decorator(trials: Trials, lab: Lab) -> None:
    """``@task.gpualert`` takes it, too, also from ``default_args``."""
    script = lab.script("train.py", DIVERGING)
    dag = trials.dag_of("suspect_decorated", _DECORATED.format(script=script))
    assert trials.test(dag).state == "failed"


def test_invalid_choice(trials: Trials) -> None:
    """Parsing the DAG fails on another choice, and the error lists the valid ones."""
    with pytest.raises(UsageError, match="warn, fail, skip"):
        trials.dag("bash_command='true', on_suspect='ignore'")
