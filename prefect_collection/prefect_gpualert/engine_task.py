"""The task of a training in Prefect's names, for alerts and lists."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from prefect.client.schemas.objects import FlowRun, TaskRun
from prefect.settings import PREFECT_UI_URL

from gpualert_common.launch_record import EngineTask
from prefect_gpualert.contexts import current

_OWNER = "owner:"
"""Prefix of a tag that names the person or team that answers for a run."""


def describe_current_task() -> EngineTask:
    """Return the current task run and flow run; empty outside of both."""
    task, flow = current()
    flow_run = None if flow is None else flow.flow_run
    flow_name = None if flow is None or flow.flow is None else flow.flow.name
    return describe_task(None if task is None else task.task_run, flow_run, flow_name)


def describe_task(
    task_run: TaskRun | None, flow_run: FlowRun | None, flow_name: str | None
) -> EngineTask:
    """Return the names of a task run or a flow run, as far as they are known.

    The name of a task run ends in its dynamic key unless its author names it, which distinguishes
    mapped ones.
    """
    described = EngineTask()
    tags: list[str] = []
    if flow_run is not None:
        described["workflow_run"] = flow_run.name
        described["url"] = _page("flow-run", flow_run.id)
        tags = [*flow_run.tags]
    if task_run is not None:
        described["task"] = task_run.name
        described["url"] = _page("task-run", task_run.id)
        tags = [*task_run.tags, *tags]
        if flow_name:
            described["workflow"] = flow_name
    elif flow_name:
        described["task"] = flow_name
    if described:
        described["engine"] = "prefect"
    owner = _find_owner(tags)
    if owner:
        described["owner"] = owner
    return described


def _page(kind: str, id_: UUID) -> str:
    return f"{(PREFECT_UI_URL.value() or '').rstrip('/')}/runs/{kind}/{id_}"


def _find_owner(tags: Iterable[str]) -> str:
    owners = (tag.removeprefix(_OWNER).strip() for tag in tags if tag.startswith(_OWNER))
    return next(owners, "")
