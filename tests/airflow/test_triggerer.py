"""Deferred trainings in a real Airflow: actions of users and faults without a worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.airflow.case import ENDS_WITHIN_S, STARTS_WITHIN_S, Case
from tests.faults.airflow.rows import FINAL
from tests.faults.airflow.standalone import Standalone
from tests.observer import Observer, command_of, left_of
from tests.supervised import until

pytestmark = pytest.mark.e2e

TRAINER = Path(__file__).parents[1] / "faults" / "airflow" / "trainer.py"
TASKS = {
    "marked": ("plain 300", None),
    "marked_success": ("save 300", None),
    "cleared": ("plain 40", None),
    "late": ("plain 300", 25),
    "late_alone": ("plain 300", 75),
    "survives": ("quiet 130", None),
}
"""The kind of each training, and its ``execution_timeout`` in seconds."""
_DAG = """
from datetime import timedelta
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator
with DAG({name!r}, schedule=None) as dag:
    GPUAlertOperator(
        task_id="train",
        bash_command='{python} {trainer} {train}',
        env={{"MATRIX_TASK": {name!r}}},
        append_env=True,
        deferrable=True,
        grace=6,
        execution_timeout={limit} and timedelta(seconds={limit} or 0),
    )
"""

Cases = dict[str, Case]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    """Run every case to its end in one Airflow."""
    home = tmp_path_factory.mktemp("airflow")
    dags = home / "dags"
    dags.mkdir()
    observer = Observer(TRAINER)
    lab = Standalone(home, dags, {})
    made = {row: Case(row, "deferred", lab, observer) for row in TASKS}
    for row, case in made.items():
        how, limit = TASKS[row]
        given = {"name": case.dag, "train": how, "limit": limit}
        text = _DAG.format(python=sys.executable, trainer=TRAINER, **given)
        (dags / f"{row}.py").write_text(text)
    try:
        lab.start()
        observer.start()
        _play(made, lab)
        observer.end()
        yield made
    finally:
        lab.end()


def _play(made: Cases, lab: Standalone) -> None:
    for case in made.values():
        case.start()
    for row in ("marked", "marked_success", "cleared", "survives", "late_alone"):
        made[row].reaches(1, "deferred")
        _wait_for_trigger(made[row])
    lab.mark_failed(made["marked"].dag, made["marked"].run)
    body = {"new_state": "success"}
    success = made["marked_success"]
    lab.call("PATCH", f"dags/{success.dag}/dagRuns/{success.run}/taskInstances/train", body)
    lab.clear(made["cleared"].dag, made["cleared"].run)
    for row in ("marked", "marked_success"):
        _gone(made[row].dag)
    made["late"].reaches(1, *FINAL)
    made["cleared"].reaches(2, "running", "deferred", *FINAL)
    for pid in _triggerers(lab):
        os.kill(pid, signal.SIGKILL)
    made["late_alone"].reaches(1, *FINAL)
    lab.spawn("triggerer")
    made["survives"].reaches(1, *FINAL)
    made["cleared"].reaches(2, *FINAL)
    for case in made.values():
        case.record_result()


def _wait_for_trigger(case: Case) -> None:
    """Wait until the trigger, and no longer the worker, renews the lease of the run."""

    def leases() -> list[dict[str, int]]:
        return [record.leases() for record in case.records()]

    before = leases()
    until(lambda: leases() != before, f"the trigger of {case.dag}", STARTS_WITHIN_S)


def _gone(dag: str) -> None:
    until(lambda: not left_of(dag), f"the training of {dag} to be gone", ENDS_WITHIN_S)


def _triggerers(lab: Standalone) -> list[int]:
    found = [pid for pid in lab.living() if "triggerer" in " ".join(command_of(pid))]
    assert found
    return found


def ended(cases: Cases, row: str) -> Case:
    """Return the case; assert that no process is left and trainings never overlapped."""
    case = cases[row]
    assert not case.left
    assert case.most_at_once == 1
    assert all(run["state"] == "ended" for run in case.runs)
    return case


@pytest.mark.parametrize(
    ("row", "code", "outcome"), [("marked", -15, "failed"), ("marked_success", 0, "success")]
)
def test_marked_while_deferred(cases: Cases, row: str, code: int, outcome: str) -> None:
    """A deferred task that a user marks leaves no training; its record has reason and state."""
    case = ended(cases, row)
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["outcome"]) == (code, "cancelled", outcome)


def test_cleared_while_deferred(cases: Cases) -> None:
    """Clearing a deferred task stops its training; the next attempt waits and starts a new one."""
    case = ended(cases, "cleared")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    assert [run["disposition"] for run in case.runs] == ["cancelled", "completed"]


@pytest.mark.parametrize("row", ["late", "late_alone"])
def test_late_while_deferred(cases: Cases, row: str) -> None:
    """``execution_timeout`` stops the training, also without a triggerer."""
    case = ended(cases, row)
    (run,) = case.runs
    assert (case.state, case.tries, run["disposition"]) == ("failed", 1, "timeout")
    assert run["outcome"] == "failed"


def test_triggerer_killed(cases: Cases) -> None:
    """A training survives its triggerer; the task returns the result of that training."""
    case = ended(cases, "survives")
    assert (case.state, case.tries, case.returned) == ("success", 1, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)
