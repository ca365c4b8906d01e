"""One DAG for each row of the fault matrix and each of the two operators."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

TRAINER = Path(os.environ["MATRIX_TRAINER"])
SOON = timedelta(seconds=1)

TASKS: dict[str, dict[str, Any]] = {
    "runner_killed": {"train": "quiet 75", "retries": 1},
    "runner_killed_last_try": {"train": "quiet 120"},
    "runner_killed_no_adoption": {"train": "save 15", "retries": 1, "ours": {"adopt_within": 0}},
    "worker_killed": {"train": "quiet 75", "retries": 1},
    "worker_killed_result_waits": {"train": "plain 10", "retries": 1},
    "drained": {"train": "plain 12", "retries": 1},
    "drained_saves_and_exits_0": {"train": "save 60"},
    "marked_failed": {"train": "plain 60"},
    "marked_failed_deaf": {"train": "deaf 60"},
    "timeout": {"train": "plain 60", "timeout": 5},
    "timeout_saves_and_exits_0": {"train": "save 60", "timeout": 5},
    "timeout_deaf": {"train": "deaf 60", "timeout": 5},
    "cleared_while_running": {"train": "save 12"},
    "cleared_after_success": {"train": "plain 2"},
    "api_server_away": {"train": "plain 45"},
}

for row, asked in TASKS.items():
    for operator in (GPUAlertOperator, BashOperator):
        name = f"{row}.{operator.__name__}"
        ours = {"grace": 6, **asked.get("ours", {})} if operator is GPUAlertOperator else {}
        with DAG(name, schedule=None) as dag:
            operator(
                task_id="train",
                bash_command=f"{sys.executable} {TRAINER} {asked['train']}",
                env={"MATRIX_TASK": name},
                append_env=True,
                retries=asked.get("retries", 0),
                retry_delay=SOON,
                execution_timeout=timedelta(seconds=asked["timeout"])
                if "timeout" in asked
                else None,
                **ours,
            )
        globals()[name] = dag
