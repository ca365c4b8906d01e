"""The task run and the flow run whose code is running."""

from __future__ import annotations

from prefect.context import FlowRunContext, TaskRunContext


def current() -> tuple[TaskRunContext | None, FlowRunContext | None]:
    """Return the current task and flow; the task is None in a flow that a task called."""
    task, flow = TaskRunContext.get(), FlowRunContext.get()
    if task is not None and flow is not None and flow.flow_run is not None:
        is_inner = flow.flow_run.id != task.task_run.flow_run_id
        return (None if is_inner else task), flow
    return task, flow
