"""The event by which an automation of Prefect knows the flow runs to run again after a crash."""

from __future__ import annotations

import contextlib

from prefect.context import FlowRunContext
from prefect.events import emit_event

RESCUABLE = "gpualert.rescuable"
"""Event about a flow run: it has launched a training, and is to be run again if it crashes, also
after the end of that training."""


def mark_rescuable(flow: FlowRunContext, run_id: str) -> None:
    """Emit the event that a flow run has launched a training.  Raises nothing."""
    flow_run = flow.flow_run
    if flow_run is None:
        return
    with contextlib.suppress(Exception):  # the training is supervised without it, too
        emit_event(
            RESCUABLE,
            resource={
                "prefect.resource.id": f"prefect.flow-run.{flow_run.id}",
                "prefect.resource.name": flow_run.name,
                "gpualert.run-id": run_id,
            },
        )
