"""Tests of the numbers of attempts that people are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect_gpualert import TrainingOperation, gpualert_hook, gpualert_run

from tests.prefect.running import records
from tests.prefect.test_alerts import mails

pytestmark = pytest.mark.usefixtures("harness")

FAIL = "exit 3"


@flow(retries=1)
def operate() -> None:
    """A training without a task."""
    TrainingOperation(commands=[FAIL], notify="mailbox", notify_on="always").run()


@flow(retries=1)
def train() -> None:
    """A training in a task."""
    gpualert_run(FAIL, notify="mailbox", notify_on="always")


@task(on_failure=[gpualert_hook("mailbox")])
def fetch() -> None:
    """A task of another kind, with a hook."""
    raise ValueError("the bucket is empty")


@flow(retries=1)
def other() -> None:
    """A flow without a training."""
    fetch()


@pytest.mark.parametrize("work", [operate, train, other], ids=lambda work: work.name)
def test_attempts_of_a_flow_are_counted_from_one(work: Any, home: Path) -> None:
    """The alert and the verdict of a flow's second attempt say attempt 2, whatever ran in it."""
    assert work(return_state=True).is_failed()
    first, second = records(home)
    subjects = [str(mail["Subject"]) for mail in mails(home / "state" / "mailbox")]
    numbered = [subject for subject in subjects if "attempt" in subject]
    assert ["attempt 2" in subject for subject in numbered] == [True]
    for number, record in enumerate((first, second), 1):
        assert (record.read_json("verdict.json") or {})["attempt"] == number
