"""The location of a training in Airflow's task state store, for attempts on another host."""

from __future__ import annotations

import json
import time

import pytest

from gpualert_common.guardian.run_location import RunLocation
from tests.airflow.conftest import Trials, needs_store
from tests.supervised import Lab

pytestmark = needs_store

_SOURCE = """
import json
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

BEFORE = {before!r}

def put(context):
    if BEFORE is not None:
        context["task_state_store"].set("gpualert_run", BEFORE)

def check(context, *_result):
    kept = context["task_state_store"].get("gpualert_run")
    with open({kept!r}, "a") as file:
        print(json.dumps(kept), file=file)

with DAG({name!r}, schedule=None, default_args={{"on_failure_callback": check}}) as dag:
    GPUAlertOperator(
        task_id="train", bash_command={command!r}, pre_execute=put, post_execute=check
    )
"""
UNSEEN = {
    "record": "/nowhere/runs/20260101-000000-abc",
    "host": "another-host",
    "boot_id": "other",
    "pid_namespace": "pid:[1]",
    "ends_within_s": 2.0,
    "ended": False,
}


def kept_by(trials: Trials, lab: Lab, command: str, before: object = None) -> list[object]:
    """Run a task and return the store's values after it."""
    file = lab.home / "kept"
    name = f"remembered_{time.monotonic_ns()}"
    given = {"name": name, "command": command, "before": before, "kept": str(file)}
    trials.test(trials.dag_of(name, _SOURCE.format(**given)))
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")


@pytest.mark.parametrize("command", ["echo well", "exit 3"])
def test_run_is_remembered(trials: Trials, lab: Lab, command: str) -> None:
    """The store contains the run, its location, and its end."""
    (kept,) = kept_by(trials, lab, command)
    assert isinstance(kept, dict)
    assert kept["run_id"] == lab.record().run_id
    assert kept["ended"] is True
    assert RunLocation.from_json(kept) == RunLocation.of(lab.record())


@pytest.mark.parametrize(("ended", "least_s"), [(False, 2.0), (True, 0.0)])
def test_wait_for_a_run_on_another_host(
    trials: Trials, lab: Lab, ended: bool, least_s: float
) -> None:
    """A run on a host without a shared state directory has ended before the next one starts."""
    began = time.time()
    kept_by(trials, lab, "echo well", UNSEEN | {"ended": ended})
    ending = lab.record().ending
    assert ending is not None
    waited_s = ending.started_at - began
    assert waited_s >= least_s


@pytest.mark.parametrize("before", ["a text", {"run_id": 1}, UNSEEN | {"ends_within_s": -1}])
def test_store_with_something_else(trials: Trials, lab: Lab, before: object) -> None:
    """An invalid value in the store has no effect."""
    (kept,) = kept_by(trials, lab, "echo well", before)
    assert isinstance(kept, dict)
    assert kept["run_id"] == lab.record().run_id


def test_one_host_needs_no_store(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the LocalExecutor the store is not used."""
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "LocalExecutor")
    assert kept_by(trials, lab, "echo well") == [None]
