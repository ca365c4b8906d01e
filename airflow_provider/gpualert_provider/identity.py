"""Names of tasks and attempts, equal in operators and callbacks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.common.compat.sdk import conf

if TYPE_CHECKING:
    from gpualert_common.launch_record import EngineTask


def make_task_key(ti: Any) -> tuple[str, ...] | None:
    """Return the key that all attempts at a task share; None when *ti* is no task instance."""
    names = [getattr(ti, name, None) for name in ("dag_id", "run_id", "task_id")]
    if not all(isinstance(name, str) for name in names):
        return None
    return ("airflow", *map(str, names), str(get_map_index(ti)))


def make_unique_key(task_id: str) -> tuple[str, ...]:
    """Return a key for an operator that is executed outside any DAG run, as in unit tests."""
    return ("airflow", "by hand", task_id, os.urandom(8).hex())


def make_name(dag_id: str, task_id: str, map_index: int) -> str:
    """Return the name of a task for people, such as "dag.train[3]"."""
    return f"{dag_id}.{task_id}" + (f"[{map_index}]" if map_index >= 0 else "")


def describe_task(ti: Any, task: Any) -> EngineTask:
    """Return the names of a task instance for people; of *ti* that is none, no names.

    *task* is its operator, as far as it is known.
    """
    if make_task_key(ti) is None:
        return {}
    found: EngineTask = {
        "engine": "airflow",
        "workflow": ti.dag_id,
        "workflow_run": ti.run_id,
        "task": ti.task_id,
        "url": make_attempt_url(ti),
    }
    if get_map_index(ti) >= 0:
        found["map_index"] = get_map_index(ti)
    owner = getattr(task, "owner", None)
    if isinstance(owner, str) and owner:
        found["owner"] = owner
    return found


def make_attempt_url(ti: Any) -> str:
    """Return the URL of an attempt's page, which shows its log."""
    base = conf.get("api", "base_url", fallback="/").rstrip("/")
    index = get_map_index(ti)
    mapped = f"/mapped/{index}" if index >= 0 else ""
    path = f"dags/{quote(ti.dag_id)}/runs/{quote(ti.run_id)}/tasks/{quote(ti.task_id)}{mapped}"
    number = getattr(ti, "try_number", None)
    return f"{base}/{path}" + (f"?try_number={number}" if number else "")


def get_map_index(ti: Any) -> int:
    """Return the index of a mapped task instance; -1 for a task that is not mapped."""
    index = getattr(ti, "map_index", None)
    return index if isinstance(index, int) else -1


def make_state_key(ti: Any) -> str:
    """Return the name of *ti* in the answer of Airflow's ``get_task_states``."""
    index = get_map_index(ti)
    return str(ti.task_id) if index < 0 else f"{ti.task_id}_{index}"
