"""Rows of the fault matrix: the faults of a task."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

from tests.faults.airflow.case import ENDS_WITHIN_S, Case
from tests.faults.airflow.celery_workers import CeleryWorkers, Worker
from tests.faults.airflow.deployment import Deployment, send
from tests.observer import command_of, parent_of
from tests.supervised import until

OURS = "GPUAlertOperator"
OPERATORS = (OURS, "BashOperator")
FINAL = ("success", "failed")
MAPPED = 3
"""Number of trainings of the mapped task; the runner of the middle one is killed."""


def runner_killed(case: Case) -> None:
    """The process that runs the task is killed, as the kernel does when memory is out."""
    case.start()
    send(case.runner(), signal.SIGKILL)
    case.reaches(2, *FINAL)


def runner_killed_last_try(case: Case) -> None:
    """The same, when no attempt is left."""
    case.start()
    send(case.runner(), signal.SIGKILL)
    case.reaches(1, *FINAL)


def mapped(case: Case) -> None:
    """The same for one index of a mapped task, without a fault of the others."""
    case.index = MAPPED // 2
    cases = case.with_siblings(MAPPED)
    case.start()
    for sibling in case.siblings:
        sibling.run = case.run
        sibling.begins()
    send(case.runner(), signal.SIGKILL)
    for one in cases:
        one.reaches(2 if one is case else 1, *FINAL)


def supervisor_killed(case: Case) -> None:
    """Only the executor's worker is killed, and not the process that runs the task."""
    case.start()
    send(parent_of(case.runner()), signal.SIGKILL)
    case.reaches(2, *FINAL)


def worker_killed(case: Case) -> None:
    """The runner and its executor's worker are killed, as by the loss of the host."""
    case.start()
    case.lab.kill_worker(case.queue, case.runner)
    case.reaches(2, *FINAL)


def drained(case: Case) -> None:
    """The executor's worker is drained or evicted."""
    case.start()
    case.lab.drain_worker(case.queue, case.runner)
    case.reaches(2, *FINAL)


def drained_once(case: Case) -> None:
    """The same, when no attempt is left."""
    case.start()
    case.lab.drain_worker(case.queue, case.runner)
    case.reaches(1, *FINAL)


def marked_failed(case: Case) -> None:
    """A user marks the task failed; its runner notices at its next heartbeat."""
    case.start()
    runner = case.runner()
    case.lab.mark_failed(case.dag, case.run)
    until(lambda: not command_of(runner), "the runner to be gone", ENDS_WITHIN_S)


def ends_by_itself(case: Case) -> None:
    """The task ends by itself."""
    case.start()
    case.reaches(1, *FINAL)


def cleared_while_running(case: Case) -> None:
    """A user clears the task during its training."""
    case.start()
    case.lab.clear(case.dag, case.run)
    case.reaches(2, *FINAL)


def cleared_after_success(case: Case) -> None:
    """A user clears the task after it succeeded."""
    case.run = case.lab.trigger(case.dag)
    over = "the DAG run to be over"
    until(lambda: case.lab.is_over(case.dag, case.run), over, ENDS_WITHIN_S, poll_s=1.0)
    case.lab.clear(case.dag, case.run)
    case.reaches(2, *FINAL)


# -- what only Celery has ------------------------------------------------------------------


def drained_warm(case: Case) -> None:
    """SIGTERM to the worker, which then waits for its tasks."""
    case.start()
    _celery(case).terminate_worker(case.queue)
    case.reaches(1, *FINAL)


def drained_remapped(case: Case) -> None:
    """The same for a worker whose ``REMAP_SIGTERM`` causes a cold shutdown."""
    case.start()
    _celery(case).terminate_worker(case.queue)
    case.reaches(2, *FINAL)


def worker_killed_redelivered(case: Case) -> None:
    """The broker redelivers a killed worker's message before Airflow misses its task."""
    case.start()
    case.lab.kill_worker(case.queue, case.runner)
    assert case.task()["state"] == "running"
    assert _celery(case).redeliver(case.dag)
    case.reaches(2, *FINAL)


def redelivered(case: Case) -> None:
    """The broker redelivers the message of a task that runs: its visibility timeout is over."""
    case.start()
    assert _celery(case).redeliver(case.dag)
    case.reaches(1, *FINAL)


def host_lost(case: Case) -> None:
    """The worker's host or container ends, with its guardians and trainings."""
    case.start()
    _celery(case).lose_host(case.queue)
    case.reaches(2, *FINAL)


def _celery(case: Case) -> CeleryWorkers:
    assert isinstance(case.lab, CeleryWorkers)
    return case.lab


Row = Callable[[Case], None]

ROWS: dict[str, Row] = {
    "runner_killed": runner_killed,
    "runner_killed_last_try": runner_killed_last_try,
    "runner_killed_no_adoption": runner_killed,
    "mapped": mapped,
    "supervisor_killed": supervisor_killed,
    "worker_killed": worker_killed,
    "worker_killed_result_waits": worker_killed,
    "drained": drained,
    "drained_saves_and_exits_0": drained_once,
    "drained_deaf": drained_once,
    "marked_failed": marked_failed,
    "marked_failed_deaf": marked_failed,
    "timeout": ends_by_itself,
    "timeout_saves_and_exits_0": ends_by_itself,
    "timeout_deaf": ends_by_itself,
    "cleared_while_running": cleared_while_running,
    "cleared_after_success": cleared_after_success,
    "drained_warm": drained_warm,
    "drained_remapped": drained_remapped,
    "worker_killed_redelivered": worker_killed_redelivered,
    "redelivered": redelivered,
    "worker_killed_elsewhere": worker_killed,
    "worker_killed_elsewhere_no_shared_disk": worker_killed,
    "host_lost": host_lost,
}


def api_server_away(lab: Deployment) -> None:
    """The API server is restarted."""
    lab.stop_api_server()
    lab.start_api_server()


def broker_away(lab: Deployment) -> None:
    """Redis is restarted."""
    assert isinstance(lab, CeleryWorkers)
    lab.restart_broker()


LAST_ROWS = {"api_server_away": api_server_away, "broker_away": broker_away}
"""Faults of all tasks, which therefore run one by one after the others."""
ALL_ROWS = (*ROWS, *LAST_ROWS)

QUEUES = {
    "worker_killed": "killed",
    "worker_killed_result_waits": "killed",
    "worker_killed_redelivered": "killed",
    "drained": "drained",
    "drained_saves_and_exits_0": "drained",
    "drained_deaf": "drained",
    "drained_warm": "warm",
    "drained_remapped": "remapped",
    "worker_killed_elsewhere": "elsewhere",
    "worker_killed_elsewhere_no_shared_disk": "apart",
    "host_lost": "lost",
}
"""Under Celery the tasks of a queue have a worker of their own, which gets the fault."""
HOSTS = ("elsewhere", "apart", "lost")
"""Workers that are on a host of that name."""
REMAPPED = {"REMAP_SIGTERM": "SIGQUIT"}
"""Makes Celery treat SIGTERM as SIGQUIT, and send that to the processes of its tasks, too."""


def workers(home: Path, keys: Sequence[tuple[str, str]]) -> list[Worker]:
    """Return a worker for each queue of these cases, each a row and an operator."""
    found = []
    for queue, tasks in Counter(QUEUES[row] for row, _ in keys if row in QUEUES).items():
        found.append(
            Worker(
                queue,
                tasks,
                host=queue if queue in HOSTS else "",
                disk=home / "apart" if queue == "apart" else None,
                variables=REMAPPED if queue == "remapped" else {},
            )
        )
    return found


def play(case: Case) -> None:
    """Run the case to its end and record its result, errors included."""
    try:
        ROWS.get(case.row, ends_by_itself)(case)
        case.record_result()
    except (AssertionError, OSError, BrokenBarrierError) as error:
        case.problem = f"{type(error).__name__}: {error}"


def table(cases: list[dict[str, Any]]) -> str:
    """Return the matrix as aligned text, with a column for each operator."""
    heads = ("row", "operator", "state", "tries", "returned", "trainings", "at once", "left", "log")
    rows: list[tuple[str, ...]] = [heads]
    for case in cases:
        left = f"{case['left_alive']} alive" if case["left_alive"] else "none"
        if case["gone_after_s"]:
            left += f" after {case['gone_after_s']} s"
        row = case["row"] if case["index"] < 0 else f"{case['row']}[{case['index']}]"
        values = (case["state"], case["tries"], case["returned"] or "-", case["trainings"])
        log = f"{case['lines_lost']} of {case['lines_printed']} lost"
        cells = (row, case["operator"], *values, case["most_at_once"], left, log)
        rows.append(tuple(map(str, cells)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
