"""Time until an Airflow task starts its command: GPUAlertOperator and BashOperator.

Run with the environment that has Airflow: ``.venv-airflow/bin/python -m
tests.benchmarks.airflow_start``.  The command is bash printing the time: measured is the time from
``execute``, before which Airflow does the same for both, to the first action of the command.  One
round is one ``dag.test()`` of each; the record is on a real disk, synced, and the other settings
are the defaults.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from tests.benchmarks import program
from tests.benchmarks.measure import Row

OPERATORS = ("GPUAlertOperator", "BashOperator")

Sample = tuple[float, float]
"""Milliseconds from ``execute`` to the command's start, and to the return of ``execute``."""

_SOURCE = """
import time
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

def note(*_anything):
    with open({times!r}, "a") as file:
        print(time.time(), file=file)

dags = []
for operator in (GPUAlertOperator, BashOperator):
    with DAG(operator.__name__, schedule=None) as dag:
        operator(
            task_id="print_time",
            bash_command="echo $EPOCHREALTIME",
            pre_execute=note,
            post_execute=note,
        )
    dags.append(dag)
"""


def measure(home: Path, rounds: int) -> list[Row]:
    """Measure two rows: until the command runs, and until the task has returned."""
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": f"{home}/dags",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "GPUALERT_STATE_DIR": f"{home}/state",
    }
    from airflow.utils.db import initdb

    initdb()
    times = home / "times"
    dags = _load(home, times)
    found: dict[str, list[Sample]] = {name: [] for name in OPERATORS}
    for number in range(rounds + 1):
        for dag in dags:
            sample = _run(dag, times)
            if number:  # the first one imports
                found[dag.dag_id].append(sample)
    started = Row("Airflow: execute to start of its command")
    returned = Row("Airflow: execute to its return")
    for name, samples in found.items():
        started.add(name, [sample[0] for sample in samples], "ms")
        returned.add(name, [sample[1] for sample in samples], "ms")
    return [started, returned]


def _load(home: Path, times: Path) -> list[Any]:
    path = home / "dags" / "start.py"
    path.parent.mkdir()
    path.write_text(_SOURCE.format(times=str(times)))
    spec = importlib.util.spec_from_file_location("start", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    dags: list[Any] = module.dags
    return dags


def _run(dag: Any, times: Path) -> Sample:
    times.unlink(missing_ok=True)
    run = dag.test()
    task = run.get_task_instance("print_time")
    assert task.state == "success", task.state
    began, ended = map(float, times.read_text().split())
    printed = float(task.xcom_pull(task_ids="print_time"))
    return (printed - began) * 1000, (ended - began) * 1000


if __name__ == "__main__":
    raise SystemExit(program.run(measure, rounds=30))
