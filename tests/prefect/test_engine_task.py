"""Tests of the names of flow, run and task in alerts and in the list of alerts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, tags, task
from prefect_gpualert import TrainingOperation, gpualert_hook, gpualert_run

from tests.prefect.test_alerts import mails

pytestmark = pytest.mark.usefixtures("harness")

PAGE = re.compile(r"http://\S+/runs/(?:task|flow)-run/[0-9a-f-]{36}")


@task(on_failure=[gpualert_hook("mailbox")])
def fetch() -> None:
    """A task of another kind, with a hook."""
    raise ValueError("the bucket is empty")


@flow(name="nightly", flow_run_name="run-7")
def nightly(way: str) -> None:
    """Fail in a task, in a flow without a task, or in a task of another kind."""
    with tags("owner:vision"):
        if way == "task":
            job = gpualert_run.with_options(task_run_name="train-{command}")
            job("exit 3", notify="mailbox")
        elif way == "flow":
            TrainingOperation(commands=["exit 3"], notify="mailbox").run()
        else:
            fetch.with_options(task_run_name="fetch-1")()


@pytest.mark.parametrize(
    ("way", "facts"),
    [
        ("task", ["nightly.train-exit 3", "run-7", "vision"]),
        ("flow", ["nightly", "run-7"]),
        ("hook", ["nightly.fetch-1", "run-7", "vision"]),
    ],
)
def test_alert_names_the_run(way: str, facts: list[str], home: Path) -> None:
    """An alert has the task or flow, the flow run, the owner and the page in Prefect's UI."""
    assert nightly(way, return_state=True).is_failed()
    (mail,) = mails(home / "state" / "mailbox")
    body: Any = mail.get_body(("plain",))
    text = body.get_content()
    for fact in facts:
        assert fact in text
    assert PAGE.search(text)


def test_outbox_names_the_run(home: Path) -> None:
    """The list of alerts has the same names."""
    assert nightly("task", return_state=True).is_failed()
    done = subprocess.run(
        [sys.executable, "-m", "gpualert_common", "outbox", "list", "--all", "--json"],
        capture_output=True,
        check=True,
    )
    listed = json.dumps(json.loads(done.stdout))
    assert "train-exit 3" in listed
    assert "run-7" in listed
    assert PAGE.search(listed)
