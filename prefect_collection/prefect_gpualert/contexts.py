"""Whose code runs: a task of a flow, or a flow that was called without a task of ours."""

from __future__ import annotations

from prefect.context import FlowRunContext, TaskRunContext


def current() -> tuple[TaskRunContext | None, FlowRunContext | None]:
    """The task that runs, and its flow; no task in a flow that a task has called."""
    task, flow = TaskRunContext.get(), FlowRunContext.get()
    if task is not None and flow is not None and flow.flow_run is not None:
        is_inner = flow.flow_run.id != task.task_run.flow_run_id
        return (None if is_inner else task), flow
    return task, flow
