"""What the faults of a cluster do to a training, under our operator and under BashOperator.

One real Airflow for all rows; every row is done to both operators at the same time.  The table goes
to ``.bench/airflow-faults.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.airflow.matrix import LAST, OPERATORS, ROWS, STARTS_WITHIN_S, Case, play, table
from tests.airflow.standalone import Standalone, wait_for
from tests.observer import Observer

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / ".bench" / "airflow-faults.json"
AT_ONCE = 8

Cases = dict[tuple[str, str], Case]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    """Every row, done to both operators."""
    trainer = HERE / "trainer.py"
    home = tmp_path_factory.mktemp("airflow")
    lab = Standalone(home, HERE / "dags", {"MATRIX_TRAINER": str(trainer)})
    observer = Observer(trainer)
    try:
        lab.start()
        observer.start()
        yield _all_rows(lab, observer)
    finally:
        lab.end()


def _all_rows(lab: Standalone, observer: Observer) -> Cases:
    made = {
        (row, operator): Case(row, operator, lab, observer)
        for row in (*ROWS, LAST)
        for operator in OPERATORS
    }
    last = [made[LAST, operator] for operator in OPERATORS]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(play, [case for case in made.values() if case not in last]))
        playing = [pool.submit(play, case) for case in last]
        both = "both to train"
        wait_for(lambda: all(case.started for case in last), both, 2 * STARTS_WITHIN_S)
        lab.stop_api_server()
        lab.start_api_server()
        for one in playing:
            one.result()
    observer.end()
    told = [case.to_json() for case in made.values()]
    looks = {"looks": observer.looks, "longest_gap_s": round(observer.longest_gap_s, 3)}
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"schema": 1, **looks, "cases": told}, indent=1) + "\n")
    print(f"\n{table(told)}\n{looks}")
    return made


def ours(cases: Cases, row: str) -> Case:
    """Our operator in this row, played to its end, with nothing left and never two trainings."""
    case = cases[row, "GPUAlertOperator"]
    assert not case.problem
    assert not case.left
    assert case.most_at_once == 1
    assert all(run["state"] == "ended" for run in case.runs)
    return case


@pytest.mark.parametrize("row", ["runner_killed", "worker_killed", "worker_killed_result_waits"])
def test_training_survives_its_worker(cases: Cases, row: str) -> None:
    """The next attempt finishes with the result of the training that the first one began."""
    case = ours(cases, row)
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)
    assert (case.trainings, run["outcome"]) == (1, "success")


def test_training_without_a_next_attempt_is_ended(cases: Cases) -> None:
    """A training whose worker died on its last try is ended gracefully, and is no success."""
    case = ours(cases, "runner_killed_last_try")
    (run,) = case.runs
    assert (case.state, case.tries) == ("failed", 1)
    assert run["exit_code"] == -15
    assert run["disposition"] in ("cancelled", "preempted")


def test_no_adoption_where_none_is_wanted(cases: Cases) -> None:
    """With ``adopt_within=0`` the next attempt waits for the end of the first and trains anew."""
    case = ours(cases, "runner_killed_no_adoption")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    first, second = case.runs
    assert (first["exit_code"], first["claimed"]) == (0, False)
    assert first["disposition"] != "completed"
    assert second["disposition"] == "completed"


def test_drained_training_is_tried_again(cases: Cases) -> None:
    """A drained worker's training is stopped, and trained anew by the next attempt."""
    case = ours(cases, "drained")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    assert [run["outcome"] for run in case.runs] == ["up_for_retry", "success"]


def test_drained_training_that_saves_is_no_success(cases: Cases) -> None:
    """A training that saves and exits 0 because its worker was drained has failed."""
    case = ours(cases, "drained_saves_and_exits_0")
    (run,) = case.runs
    assert (case.state, case.returned, run["exit_code"]) == ("failed", None, 0)
    assert run["disposition"] in ("cancelled", "preempted")
    assert run["outcome"] == "failed"


@pytest.mark.parametrize("row", ["marked_failed", "marked_failed_deaf"])
def test_training_of_a_task_marked_failed_ends(cases: Cases, row: str) -> None:
    """A task that somebody marks failed leaves no training, also of a job that hangs."""
    case = ours(cases, row)
    (run,) = case.runs
    assert case.state == "failed"
    assert run["exit_code"] == (-9 if row.endswith("deaf") else -15)
    assert run["disposition"] in ("cancelled", "killed")


@pytest.mark.parametrize("row", ["timeout", "timeout_saves_and_exits_0", "timeout_deaf"])
def test_training_over_its_time_ends(cases: Cases, row: str) -> None:
    """``execution_timeout`` ends the training, whatever it does about a TERM, before the task."""
    case = ours(cases, row)
    (run,) = case.runs
    assert (case.state, case.returned, run["outcome"]) == ("failed", None, "failed")
    assert case.gone_after_s == 0
    assert run["disposition"] == "timeout"


def test_training_cleared_while_it_runs_begins_anew(cases: Cases) -> None:
    """Clearing a running task stops its training; the next attempt waits for that."""
    case = ours(cases, "cleared_while_running")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)


def test_training_cleared_after_success_begins_anew(cases: Cases) -> None:
    """A result that was taken is never used again."""
    case = ours(cases, "cleared_after_success")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)


def test_api_server_away(cases: Cases) -> None:
    """A restart of the API server while it trains does nothing to a training."""
    case = ours(cases, LAST)
    assert (case.state, case.tries, case.returned) == ("success", 1, "trained by try 1")
    assert case.trainings == 1
