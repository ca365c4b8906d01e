"""Names of tasks and attempts, equal in operators and callbacks."""

from __future__ import annotations

import os
from typing import Any


def make_task_key(ti: Any) -> tuple[str, ...] | None:
    """Return the key that all attempts at a task share; None when *ti* is no task instance."""
    names = [getattr(ti, name, None) for name in ("dag_id", "run_id", "task_id")]
    if not all(isinstance(name, str) for name in names):
        return None
    return ("airflow", *map(str, names), str(get_map_index(ti)))


def make_unique_key(task_id: str) -> tuple[str, ...]:
    """Return a key for an operator that is executed outside any DAG run, as in unit tests."""
    return ("airflow", "by hand", task_id, os.urandom(8).hex())


def get_map_index(ti: Any) -> int:
    """Return the index of a mapped task instance; -1 for a task that is not mapped."""
    index = getattr(ti, "map_index", None)
    return index if isinstance(index, int) else -1


def make_state_key(ti: Any) -> str:
    """Return the name of *ti* in the answer of Airflow's ``get_task_states``."""
    index = get_map_index(ti)
    return str(ti.task_id) if index < 0 else f"{ti.task_id}_{index}"
