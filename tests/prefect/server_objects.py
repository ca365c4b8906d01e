"""The artifacts and events of a task run, read from the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    ArtifactFilterTaskRunId,
)
from prefect.client.schemas.objects import Artifact
from prefect.client.schemas.sorting import ArtifactSort
from prefect.events.filters import EventFilter, EventNameFilter

from tests.supervised import until

VERDICT_EVENT = "gpualert.verdict"


def artifacts(run_id: UUID | None) -> dict[str, Artifact]:
    """Return the newest artifacts of a task run or a flow run by their keys."""
    assert run_id is not None
    of_task = ArtifactFilter(task_run_id=ArtifactFilterTaskRunId(any_=[run_id]))
    of_flow = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
    with get_client(sync_client=True) as client:
        for one in (of_task, of_flow):
            found = client.read_artifacts(
                artifact_filter=one, sort=ArtifactSort.CREATED_DESC, limit=200
            )
            if found:
                return {str(artifact.key): artifact for artifact in reversed(found)}
    return {}


def versions_of(task_run_id: UUID | None) -> list[Artifact]:
    """Return all artifacts of a task run, also several of one key."""
    assert task_run_id is not None
    wanted = ArtifactFilter(task_run_id=ArtifactFilterTaskRunId(any_=[task_run_id]))
    with get_client(sync_client=True) as client:
        return list(client.read_artifacts(artifact_filter=wanted, limit=200))


def text_of(artifact: Artifact) -> str:
    """Return the Markdown of an artifact."""
    assert isinstance(artifact.data, str), artifact
    return artifact.data


def events(name: str = VERDICT_EVENT) -> list[dict[str, Any]]:
    """Return every event of that name, newest first."""
    wanted = EventFilter(event=EventNameFilter(name=[name]))
    with get_client(sync_client=True) as client:
        found = client.request(
            "POST",
            "/events/filter",
            json={"filter": wanted.model_dump(mode="json", exclude_none=True), "limit": 50},
        )
    page: list[dict[str, Any]] = found.json()["events"]
    return page


def event_of(task_run_id: UUID | None) -> dict[str, Any]:
    """Wait until Prefect has stored the event of a task run, and return it."""

    def stored() -> dict[str, Any] | None:
        wanted = f"prefect.task-run.{task_run_id}"
        return next(
            (one for one in events() if one["resource"]["prefect.resource.id"] == wanted), None
        )

    return until(stored, "the event to be stored")
