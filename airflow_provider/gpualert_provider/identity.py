"""Names of tasks and attempts, the same for operators and callbacks."""

from __future__ import annotations

import os
from typing import Any


def key_of(ti: Any) -> tuple[str, ...] | None:
    """What all attempts at one task have in common; None where *ti* is no task instance."""
    names = [getattr(ti, name, None) for name in ("dag_id", "run_id", "task_id")]
    if not all(isinstance(name, str) for name in names):
        return None
    return ("airflow", *map(str, names), str(index_of(ti)))


def key_by_hand(task_id: str) -> tuple[str, ...]:
    """A key for an operator that is executed outside any DAG run, as unit tests do."""
    return ("airflow", "by hand", task_id, os.urandom(8).hex())


def index_of(ti: Any) -> int:
    """Which of a mapped task's instances it is; -1 for a task that is not mapped."""
    index = getattr(ti, "map_index", None)
    return index if isinstance(index, int) else -1


def name_among_states(ti: Any) -> str:
    """Under which name Airflow's ``get_task_states`` has the state of *ti*."""
    index = index_of(ti)
    return str(ti.task_id) if index < 0 else f"{ti.task_id}_{index}"
