"""Paths of our pages in Airflow's API server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from airflow.providers.common.compat.sdk import conf

if TYPE_CHECKING:
    from gpualert_provider.web.tries import TaskName

PREFIX = "/gpualert"
"""Path of all pages, below that of the API server."""
TAB = "gpualert-report"
"""Name of the tab in the address of Airflow's page of a task instance."""


def get_root_path() -> str:
    """Return the path at which Airflow's pages begin, without a slash at its end."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def make_page_path(task: TaskName) -> str:
    """Return the path of our page of a task instance."""
    return f"{get_root_path()}{PREFIX}/{_join(task)}/{task.map_index}"


def make_tab_path(task: TaskName) -> str:
    """Return the path of Airflow's page of a task instance, with our tab open."""
    mapped = f"/mapped/{task.map_index}" if task.map_index >= 0 else ""
    return f"{get_root_path()}/{_join(task)}{mapped}/plugin/{TAB}"


def _join(task: TaskName) -> str:
    names = [quote(name, safe="") for name in (task.dag_id, task.run_id, task.task_id)]
    return "dags/{}/runs/{}/tasks/{}".format(*names)
