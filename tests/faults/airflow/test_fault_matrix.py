"""What the faults of a cluster do to a training, under our operator and under BashOperator.

One real Airflow an executor, for all rows; every row is done to both operators at the same time.
The tables go to ``.bench/airflow-faults.LocalExecutor.json`` and ``.CeleryExecutor.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.faults.airflow.case import STARTS_WITHIN_S, Case
from tests.faults.airflow.celery_workers import CeleryWorkers
from tests.faults.airflow.deployment import Deployment
from tests.faults.airflow.rows import (
    CELERY_LAST,
    CELERY_ROWS,
    LAST,
    MAPPED,
    OPERATORS,
    QUEUES,
    ROWS,
    play,
    table,
    workers,
)
from tests.faults.airflow.standalone import Standalone
from tests.observer import Observer
from tests.supervised import until

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
TRAINER = HERE / "trainer.py"
FIGURES = HERE.parents[2] / ".bench"
AT_ONCE = 8
EXECUTORS = (Standalone.executor, CeleryWorkers.executor)

Cases = dict[tuple[str, str], Case]


@pytest.fixture(scope="module", params=EXECUTORS)
def cases(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cases]:
    """Every row, done to both operators."""
    home = tmp_path_factory.mktemp("airflow")
    variables = {
        "MATRIX_TRAINER": str(TRAINER),
        "MATRIX_QUEUES": json.dumps(QUEUES),
        "MATRIX_MAPPED": str(MAPPED),
    }
    rows = [*ROWS, *LAST]
    lab: Deployment
    if request.param == CeleryWorkers.executor:
        rows += [*CELERY_ROWS, *CELERY_LAST]
        lab = CeleryWorkers(home, HERE / "dags", variables, workers(home))
    else:
        lab = Standalone(home, HERE / "dags", variables)
    observer = Observer(TRAINER)
    made = {
        (row, operator): Case(row, operator, lab, observer, queue=QUEUES.get(row, ""))
        for row in rows
        for operator in OPERATORS
    }
    try:
        lab.start()
        observer.start()
        _play_all(made, lab)
        observer.end()
        _tell(list(made.values()), observer)
        yield made
    finally:
        lab.end()


def _play_all(made: Cases, lab: Deployment) -> None:
    last = {row: act for row, act in (LAST | CELERY_LAST).items() if (row, OPERATORS[0]) in made}
    meeting: list[Case] = []
    others: list[Case] = []
    for case in made.values():
        if case.row not in last:
            meets = case.queue and isinstance(lab, CeleryWorkers)
            (meeting if meets else others).append(case)
    # Those that wait for each other must all be at work at once, and begin together.
    meeting.sort(key=lambda case: case.queue)
    with ThreadPoolExecutor(AT_ONCE) as pool, ThreadPoolExecutor(len(meeting) or 1) as hall:
        playing = [hall.submit(play, case) for case in meeting]
        playing += [pool.submit(play, case) for case in others]
        for one in playing:
            one.result()
        for row, act in last.items():
            both = [made[row, operator] for operator in OPERATORS]
            playing = [pool.submit(play, case) for case in both]
            started = partial(_all_started, both)
            until(started, f"both operators of {row} to train", 2 * STARTS_WITHIN_S)
            act(lab)
            for one in playing:
                one.result()


def _all_started(both: list[Case]) -> bool:
    return all(case.started for case in both)


def _tell(made: list[Case], observer: Observer) -> None:
    told = [one.to_json() for case in made for one in (case, *case.siblings)]
    looks = {"looks": observer.looks, "longest_gap_s": round(observer.longest_gap_s, 3)}
    executor = made[0].lab.executor
    FIGURES.mkdir(exist_ok=True)
    content = {"schema": 1, "executor": executor, **looks, "cases": told}
    path = FIGURES / f"airflow-faults.{executor}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\n{executor}\n{table(told)}\n{looks}")


only_celery = pytest.mark.parametrize("cases", [CeleryWorkers.executor], indirect=True)


def ours(cases: Cases, row: str) -> Case:
    """Our operator in this row, played to its end: nothing left, never two, no lost line."""
    case = cases[row, "GPUAlertOperator"]
    assert not case.problem
    for one in (case, *case.siblings):
        assert not one.left
        assert one.most_at_once == 1
        assert all(run["state"] == "ended" for run in one.runs)
        assert one.said
        assert not one.lost
    return case


@pytest.mark.parametrize("row", ["runner_killed", "worker_killed", "worker_killed_result_waits"])
def test_training_survives_its_worker(cases: Cases, row: str) -> None:
    """The next attempt finishes with the result of the training that the first one began."""
    survived(ours(cases, row), adopted=row != "worker_killed_result_waits")


def survived(case: Case, *, adopted: bool = True) -> None:
    """The case ended in its second attempt with the result of the first one's training."""
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)
    assert (case.trainings, run["outcome"], run["adopted"]) == (1, "success", adopted)


def test_mapped_training_survives_its_worker(cases: Cases) -> None:
    """Of a mapped task the killed index is adopted by its own next attempt; the others go on."""
    case = ours(cases, "mapped")
    survived(case)
    assert len(case.siblings) == MAPPED - 1
    for sibling in case.siblings:
        assert (sibling.state, sibling.tries, sibling.trainings) == ("success", 1, 1)


def test_training_whose_supervisor_is_killed(cases: Cases) -> None:
    """A task's process that lives on without its supervisor leaves its training to the next."""
    case = ours(cases, "supervisor_killed")
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)


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


def test_drained_training_that_is_deaf_ends(cases: Cases) -> None:
    """A training that ignores the signal is ended when its grace is over."""
    case = ours(cases, "drained_deaf")
    (run,) = case.runs
    assert (case.state, run["exit_code"], run["outcome"]) == ("failed", -9, "failed")
    assert run["disposition"] in ("cancelled", "preempted")


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
    undisturbed(ours(cases, "api_server_away"))


def undisturbed(case: Case) -> None:
    """The case ended as if nothing had been done."""
    assert (case.state, case.tries, case.returned) == ("success", 1, "trained by try 1")
    assert case.trainings == 1


@only_celery
@pytest.mark.parametrize("row", ["worker_killed_redelivered", "worker_killed_elsewhere"])
def test_training_survives_its_celery_worker(cases: Cases, row: str) -> None:
    """So it does when its message comes twice, and on another host that shares the directory."""
    survived(ours(cases, row))


@only_celery
@pytest.mark.parametrize("row", ["drained_warm", "redelivered", "broker_away"])
def test_training_goes_on(cases: Cases, row: str) -> None:
    """A warm shutdown, a message that comes twice and a broker's restart do nothing to it."""
    undisturbed(ours(cases, row))


@only_celery
def test_training_of_a_worker_whose_signals_are_remapped(cases: Cases) -> None:
    """Its supervisor dies of SIGQUIT and tells nobody: as if it had been killed."""
    case = ours(cases, "drained_remapped")
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)


@only_celery
def test_training_on_a_host_that_shares_nothing_is_waited_out(cases: Cases) -> None:
    """The next attempt knows by Airflow of a training that it cannot see, and trains after it."""
    case = ours(cases, "worker_killed_elsewhere_no_shared_disk")
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    first, second = case.runs
    assert (first["exit_code"], first["disposition"]) == (-15, "preempted")
    assert second["disposition"] == "completed"


@only_celery
def test_training_is_waited_out_that_ended_with_its_host(cases: Cases) -> None:
    """The next attempt trains anew once the guardian was silent for long enough."""
    case = cases["host_lost", "GPUAlertOperator"]
    assert not case.problem
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    assert (case.most_at_once, case.left) == (1, [])
    first, second = case.runs
    assert (first["state"], first["exit_code"]) == ("lost", None)
    assert second["disposition"] == "completed"
    assert len(case.lost) <= 1  # the line that was on its way when all ended
