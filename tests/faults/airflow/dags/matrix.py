"""One DAG for each case of the fault matrix: a row and an operator."""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, TaskGroup
from gpualert_provider.operators.gpualert import GPUAlertOperator

TRAINER = Path(os.environ["MATRIX_TRAINER"])
QUEUES: dict[str, str] = json.loads(os.environ["MATRIX_QUEUES"])
CASES: list[tuple[str, str]] = json.loads(os.environ["MATRIX_DAGS"])
MAPPED = int(os.environ["MATRIX_MAPPED"])
SOON = timedelta(seconds=1)

TASKS: dict[str, dict[str, Any]] = {
    "runner_killed": {"train": "quiet 170", "retries": 1},
    "runner_killed_last_try": {"train": "quiet 120"},
    "runner_killed_no_adoption": {"train": "save 15", "retries": 1, "ours": {"adopt_within": 0}},
    "mapped": {"train": "quiet 170", "retries": 1},
    "worker_killed": {"train": "quiet 170", "retries": 1},
    "worker_killed_result_waits": {"train": "plain 20", "retries": 1},
    "worker_killed_redelivered": {"train": "quiet 170", "retries": 1},
    "worker_killed_elsewhere": {"train": "quiet 170", "retries": 1},
    "worker_killed_elsewhere_no_shared_disk": {
        "train": "quiet 90",
        "retries": 1,
        "ours": {"adopt_within": 10},
    },
    "host_lost": {"train": "plain 30", "retries": 1},
    "redelivered": {"train": "plain 20", "retries": 1},
    "drained": {"train": "plain 25", "retries": 1},
    "drained_saves_and_exits_0": {"train": "save 60"},
    "supervisor_killed": {"train": "plain 30", "retries": 1},
    "drained_deaf": {"train": "deaf 40"},
    "drained_remapped": {"train": "plain 30", "retries": 1},
    "drained_warm": {"train": "plain 25", "retries": 1},
    "marked_failed": {"train": "plain 60"},
    "marked_failed_deaf": {"train": "deaf 60"},
    "timeout": {"train": "plain 60", "timeout": 5},
    "timeout_saves_and_exits_0": {"train": "save 60", "timeout": 5},
    "timeout_deaf": {"train": "deaf 60", "timeout": 5},
    "cleared_while_running": {"train": "save 12"},
    "cleared_after_success": {"train": "plain 2"},
    "api_server_away": {"train": "plain 45"},
    "broker_away": {"train": "plain 30"},
}


def arguments(row: str, operator: type, mark: str) -> dict[str, Any]:
    """Return the arguments of a task of this row."""
    asked = TASKS[row]
    ours = {"grace": 6, **asked.get("ours", {})} if operator is GPUAlertOperator else {}
    limit = timedelta(seconds=asked["timeout"]) if "timeout" in asked else None
    return {
        "bash_command": f"{sys.executable} {TRAINER} {asked['train']}",
        "env": {"MATRIX_TASK": mark},
        "append_env": True,
        "retries": asked.get("retries", 0),
        "retry_delay": SOON,
        "execution_timeout": limit,
        **({"queue": QUEUES[row]} if row in QUEUES else {}),
        **ours,
    }


OPERATORS = {one.__name__: one for one in (GPUAlertOperator, BashOperator)}

for row, name in CASES:
    operator = OPERATORS[name]
    dag_id = f"{row}.{name}"
    with DAG(dag_id, schedule=None) as dag:
        if row == "mapped":
            given = arguments(row, operator, f"{dag_id}[{{{{ ti.map_index }}}}]")
            commands = [given.pop("bash_command")] * MAPPED
            with TaskGroup("group"):
                operator.partial(task_id="train", **given).expand(bash_command=commands)
        else:
            operator(task_id="train", **arguments(row, operator, dag_id))
    globals()[dag_id] = dag
