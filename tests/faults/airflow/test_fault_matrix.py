"""Effects of cluster faults on a training under our operator.

One real Airflow per executor plays all rows that the selected tests need.  CI plays the rows that
both executors have under LocalExecutor, and under Celery those that only Celery has; ``make
nightly`` plays the others.  With ``--controls`` BashOperator plays every row at the same time, and
the tables go to ``.bench/airflow-faults.LocalExecutor.json`` and ``.CeleryExecutor.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.faults.airflow.case import STARTS_WITHIN_S, Case
from tests.faults.airflow.celery_workers import CeleryWorkers
from tests.faults.airflow.deployment import Deployment
from tests.faults.airflow.rows import (
    ALL_ROWS,
    LAST_ROWS,
    MAPPED,
    OPERATORS,
    OURS,
    QUEUES,
    play,
    table,
    workers,
)
from tests.faults.airflow.standalone import Standalone
from tests.observer import Observer
from tests.supervised import until

HERE = Path(__file__).parent
TRAINER = HERE / "trainer.py"
FIGURES = HERE.parents[2] / ".bench"
AT_ONCE = 8
LOCAL, CELERY = Standalone.executor, CeleryWorkers.executor

Test = Callable[..., None]
Cases = dict[tuple[str, str], Case]


def rows_of_both(*rows: str) -> Callable[[Test], Test]:
    """Return rows of both executors: under LocalExecutor in CI, under Celery each night."""
    return _rows_under({LOCAL: pytest.mark.e2e, CELERY: pytest.mark.nightly}, rows)


def rows_of_celery(*rows: str) -> Callable[[Test], Test]:
    """Return rows of Celery only."""
    return _rows_under({CELERY: pytest.mark.e2e}, rows)


def _rows_under(
    targets: dict[str, pytest.MarkDecorator], rows: tuple[str, ...]
) -> Callable[[Test], Test]:
    """Parametrize a test by rows and executors, each with the marker of its target."""
    executors = [pytest.param(name, marks=target) for name, target in targets.items()]
    by_row = pytest.mark.parametrize("row", rows)
    by_executor = pytest.mark.parametrize("executor", executors, indirect=True)
    return lambda test: by_executor(by_row(test))


@pytest.fixture(scope="module")
def executor(request: pytest.FixtureRequest) -> str:
    """Name of the executor."""
    return str(request.param)


@pytest.fixture(scope="module")
def cases(
    request: pytest.FixtureRequest, executor: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cases]:
    """Run every row that a selected test needs under this executor."""
    controls = bool(request.config.getoption("controls"))
    operators = OPERATORS if controls else (OURS,)
    keys = [(row, operator) for row in _rows(request.session, executor) for operator in operators]
    home = tmp_path_factory.mktemp("airflow")
    variables = {
        "MATRIX_TRAINER": str(TRAINER),
        "MATRIX_QUEUES": json.dumps(QUEUES),
        "MATRIX_MAPPED": str(MAPPED),
        "MATRIX_DAGS": json.dumps(keys),
    }
    lab: Deployment
    if executor == CELERY:
        lab = CeleryWorkers(home, HERE / "dags", variables, workers(home, keys))
    else:
        lab = Standalone(home, HERE / "dags", variables)
    observer = Observer(TRAINER)
    made = {key: Case(*key, lab, observer, queue=QUEUES.get(key[0], "")) for key in keys}
    try:
        lab.start()
        observer.start()
        _play_all(made, lab)
        observer.end()
        _report(list(made.values()), observer, keep=controls)
        yield made
    finally:
        lab.end()


def _rows(session: pytest.Session, executor: str) -> list[str]:
    """Return the rows of the selected tests under an executor, in the order of the table."""
    parameters = [
        item.callspec.params
        for item in session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__)
    ]
    wanted = {one["row"] for one in parameters if one["executor"] == executor}
    return [row for row in ALL_ROWS if row in wanted]


def _play_all(made: Cases, lab: Deployment) -> None:
    meeting: list[Case] = []
    others: list[Case] = []
    for case in made.values():
        if case.row not in LAST_ROWS:
            meets = case.queue and isinstance(lab, CeleryWorkers)
            (meeting if meets else others).append(case)
    # Those that wait for each other must all be at work at once, and start together.
    meeting.sort(key=lambda case: case.queue)
    with ThreadPoolExecutor(AT_ONCE) as pool, ThreadPoolExecutor(len(meeting) or 1) as hall:
        playing = [hall.submit(play, case) for case in meeting]
        playing += [pool.submit(play, case) for case in others]
        for one in playing:
            one.result()
        for row, act in LAST_ROWS.items():
            cases = [case for case in made.values() if case.row == row]
            if not cases:
                continue
            playing = [pool.submit(play, case) for case in cases]
            started = partial(_all_started, cases)
            until(started, f"every operator of {row} to train", 2 * STARTS_WITHIN_S)
            act(lab)
            for one in playing:
                one.result()


def _all_started(cases: list[Case]) -> bool:
    return all(case.started for case in cases)


def _report(made: list[Case], observer: Observer, *, keep: bool) -> None:
    """Print the table, and keep it for docs/faults.md if it has all operators."""
    found = [one.to_json() for case in made for one in (case, *case.siblings)]
    checks = {"checks": observer.checks, "longest_gap_s": round(observer.longest_gap_s, 3)}
    executor = made[0].lab.executor
    print(f"\n{executor}\n{table(found)}\n{checks}")
    if keep:
        FIGURES.mkdir(exist_ok=True)
        content = {"schema": 1, "executor": executor, **checks, "cases": found}
        path = FIGURES / f"airflow-faults.{executor}.json"
        path.write_text(json.dumps(content, indent=1) + "\n")


def ours(cases: Cases, row: str) -> Case:
    """Return GPUAlertOperator's case: no process left, no overlap, no lost line."""
    case = cases[row, OURS]
    assert not case.problem
    for one in (case, *case.siblings):
        assert not one.left
        assert one.most_at_once == 1
        assert all(run["state"] == "ended" for run in one.runs)
        assert one.printed
        assert not one.lost
    return case


@rows_of_both("runner_killed", "worker_killed", "worker_killed_result_waits")
def test_training_survives_its_worker(cases: Cases, row: str) -> None:
    """The next attempt succeeds with the result of the first one's training."""
    survived(ours(cases, row), adopted=row != "worker_killed_result_waits")


def survived(case: Case, *, adopted: bool = True) -> None:
    """Assert that the second attempt ended with the result of the first one's training."""
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)
    assert (case.trainings, run["outcome"], run["adopted"]) == (1, "success", adopted)


@rows_of_both("mapped")
def test_mapped_training_survives_its_worker(cases: Cases, row: str) -> None:
    """The next attempt of a killed index adopts its training; the other indexes continue."""
    case = ours(cases, row)
    survived(case)
    assert len(case.siblings) == MAPPED - 1
    for sibling in case.siblings:
        assert (sibling.state, sibling.tries, sibling.trainings) == ("success", 1, 1)


@rows_of_both("supervisor_killed")
def test_training_whose_supervisor_is_killed(cases: Cases, row: str) -> None:
    """The next attempt adopts the training of a task process without its supervisor."""
    case = ours(cases, row)
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)


@rows_of_both("runner_killed_last_try")
def test_training_without_a_next_attempt_is_ended(cases: Cases, row: str) -> None:
    """A training whose worker died on its last try is stopped gracefully, and has failed."""
    case = ours(cases, row)
    (run,) = case.runs
    assert (case.state, case.tries) == ("failed", 1)
    assert run["exit_code"] == -15
    assert run["disposition"] in ("cancelled", "preempted")


@rows_of_both("runner_killed_no_adoption")
def test_no_adoption_where_none_is_wanted(cases: Cases, row: str) -> None:
    """With ``adopt_within=0`` the next attempt waits for the first and starts a new training."""
    case = ours(cases, row)
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    first, second = case.runs
    assert (first["exit_code"], first["claimed"]) == (0, False)
    assert first["disposition"] != "completed"
    assert second["disposition"] == "completed"


@rows_of_both("drained")
def test_drained_training_is_tried_again(cases: Cases, row: str) -> None:
    """A drained worker's training is stopped, and the next attempt starts a new one."""
    case = ours(cases, row)
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    assert [run["outcome"] for run in case.runs] == ["up_for_retry", "success"]


@rows_of_both("drained_saves_and_exits_0")
def test_drained_training_that_saves_is_no_success(cases: Cases, row: str) -> None:
    """A training that saves and exits 0 because its worker was drained has failed."""
    case = ours(cases, row)
    (run,) = case.runs
    assert (case.state, case.returned, run["exit_code"]) == ("failed", None, 0)
    assert run["disposition"] in ("cancelled", "preempted")
    assert run["outcome"] == "failed"


@rows_of_both("drained_deaf")
def test_drained_training_that_ignores_term(cases: Cases, row: str) -> None:
    """A training that ignores the signal is killed after its grace period."""
    case = ours(cases, row)
    (run,) = case.runs
    assert (case.state, run["exit_code"], run["outcome"]) == ("failed", -9, "failed")
    assert run["disposition"] in ("cancelled", "preempted")


@rows_of_both("marked_failed", "marked_failed_deaf")
def test_training_of_a_task_marked_failed_ends(cases: Cases, row: str) -> None:
    """A task that a user marks failed leaves no training, also one that hangs."""
    case = ours(cases, row)
    (run,) = case.runs
    assert case.state == "failed"
    assert run["exit_code"] == (-9 if row.endswith("deaf") else -15)
    assert run["disposition"] in ("cancelled", "killed")


@rows_of_both("timeout", "timeout_saves_and_exits_0", "timeout_deaf")
def test_training_over_its_time_ends(cases: Cases, row: str) -> None:
    """``execution_timeout`` stops the training before the task, also one that ignores SIGTERM."""
    case = ours(cases, row)
    (run,) = case.runs
    assert (case.state, case.returned, run["outcome"]) == ("failed", None, "failed")
    assert case.gone_after_s == 0
    assert run["disposition"] == "timeout"


@rows_of_both("cleared_while_running")
def test_training_cleared_while_it_runs_restarts(cases: Cases, row: str) -> None:
    """Clearing a running task stops its training; the next attempt waits for that."""
    case = ours(cases, row)
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)


@rows_of_both("cleared_after_success")
def test_training_cleared_after_success_restarts(cases: Cases, row: str) -> None:
    """A claimed result is never used again."""
    case = ours(cases, row)
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)


@rows_of_both("api_server_away")
def test_api_server_away(cases: Cases, row: str) -> None:
    """A restart of the API server does not affect a training."""
    undisturbed(ours(cases, row))


def undisturbed(case: Case) -> None:
    """Assert that the case ended as without a fault."""
    assert (case.state, case.tries, case.returned) == ("success", 1, "trained by try 1")
    assert case.trainings == 1


@rows_of_celery("worker_killed_redelivered", "worker_killed_elsewhere")
def test_training_survives_its_celery_worker(cases: Cases, row: str) -> None:
    """A redelivered message and another host with the shared directory lead to adoption, too."""
    survived(ours(cases, row))


@rows_of_celery("drained_warm", "redelivered", "broker_away")
def test_training_continues(cases: Cases, row: str) -> None:
    """A warm shutdown, a repeated message and a restart of the broker do not affect a training."""
    undisturbed(ours(cases, row))


@rows_of_celery("drained_remapped")
def test_training_of_a_worker_whose_signals_are_remapped(cases: Cases, row: str) -> None:
    """A task whose supervisor dies of SIGQUIT is adopted as after SIGKILL."""
    case = ours(cases, row)
    assert (case.state, case.tries, case.returned) == ("success", 2, "trained by try 1")
    (run,) = case.runs
    assert (run["exit_code"], run["disposition"], run["claimed"]) == (0, "completed", True)


@rows_of_celery("worker_killed_elsewhere_no_shared_disk")
def test_training_on_a_host_that_shares_nothing_is_waited_out(cases: Cases, row: str) -> None:
    """The next attempt waits for an unseen training that Airflow's store names, and then trains."""
    case = ours(cases, row)
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    first, second = case.runs
    assert (first["exit_code"], first["disposition"]) == (-15, "cancelled")
    assert second["disposition"] == "completed"


@rows_of_celery("host_lost")
def test_training_is_waited_out_that_ended_with_its_host(cases: Cases, row: str) -> None:
    """The next attempt starts a new training once the guardian was silent for long enough."""
    case = cases[row, OURS]
    assert not case.problem
    assert (case.state, case.returned, case.trainings) == ("success", "trained by try 2", 2)
    assert (case.most_at_once, case.left) == (1, [])
    first, second = case.runs
    assert (first["state"], first["exit_code"]) == ("lost", None)
    assert second["disposition"] == "completed"
    assert len(case.lost) <= 1  # the line that was on its way when all ended
