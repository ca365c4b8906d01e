"""Time that an Airflow task takes around its command: GPUAlertOperator and BashOperator.

Measured is the time from ``execute``, before which Airflow does the same for both, to the first
action of the command, which prints the time, and to the return of ``execute``, for that command,
``true`` and ``sleep``.  One round is one ``dag.test()`` of each; the record is on a real disk,
synced, and the other settings are the defaults.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from tests.benchmarks.engine import report
from tests.benchmarks.measure import Row

OPERATORS = ("GPUAlertOperator", "BashOperator")
COMMANDS = {"prints": "echo $EPOCHREALTIME", "silent": "true", "lasting": "sleep 0.5"}
MOST_LONGER_MS = 150.0
"""Promise about the task of a silent command, compared with BashOperator's."""

Sample = tuple[float | None, float]
"""Milliseconds from ``execute`` to the command's start, if it prints that, and to its return."""

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
    for name, command in {commands!r}.items():
        with DAG(operator.__name__ + "-" + name, schedule=None) as dag:
            operator(
                task_id="measured", bash_command=command, pre_execute=note, post_execute=note
            )
        dags.append(dag)
"""


def measure(home: Path, rounds: int) -> Row:
    """Measure until a command runs, and until the task of each has returned."""
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
    found: dict[str, list[Sample]] = {dag.dag_id: [] for dag in dags}
    for number in range(rounds + 1):
        for dag in dags:
            sample = _run(dag, times)
            if number:  # the first one imports
                found[dag.dag_id].append(sample)
    row = Row("Airflow: from execute to the start of the command, and to the return of execute")
    for operator in OPERATORS:
        starts = [sample[0] for sample in found[f"{operator}-prints"]]
        row.add(f"start, {operator}", [start for start in starts if start is not None], "ms")
    for name, command in COMMANDS.items():
        for operator in OPERATORS:
            returns = [sample[1] for sample in found[f"{operator}-{name}"]]
            row.add(f"return of {command}, {operator}", returns, "ms")
    silent = COMMANDS["silent"]
    ours, theirs = (row.entries[f"return of {silent}, {name}"].median for name in OPERATORS)
    what = f"return of {silent}, longer than BashOperator"
    row.promise(what, ours - theirs, MOST_LONGER_MS, "ms", base=theirs)
    return row


def _load(home: Path, times: Path) -> list[Any]:
    path = home / "dags" / "start.py"
    path.parent.mkdir()
    path.write_text(_SOURCE.format(times=str(times), commands=COMMANDS))
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
    task = run.get_task_instance("measured")
    assert task.state == "success", task.state
    began, ended = map(float, times.read_text().split())
    printed = task.xcom_pull(task_ids="measured")
    start_ms = (float(printed) - began) * 1000 if printed else None
    return start_ms, (ended - began) * 1000


if __name__ == "__main__":
    report(measure)
