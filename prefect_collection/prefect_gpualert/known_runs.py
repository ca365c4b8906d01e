"""The trainings of a task run or a flow run of Prefect.

A hook of a task runs in the process that ran the task, which remembers its trainings.  A hook of a
flow may run in another process after the flow's own was killed; then the records on disk are
searched.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from uuid import UUID

from prefect.client.schemas.objects import TaskRun

from gpualert_common import record_locations
from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.alert_facts import has_ended, read_lenient, read_verdict
from gpualert_common.record import OUTCOME, SUCCESSOR, Record
from prefect_gpualert.contexts import current

_MOST_REMEMBERED = 1000
_MOST_SEARCHED = 2000
"""Number of the newest records; a launch record is read in a fraction of a millisecond."""

_trainings: deque[tuple[UUID | None, int, UUID | None, str]] = deque(maxlen=_MOST_REMEMBERED)


def remember(path: str) -> None:
    """Remember a training of the current task run or flow run."""
    context, flow = current()
    if context is not None:
        run = context.task_run
        _trainings.append((run.id, run.run_count, run.flow_run_id, path))
    elif flow is not None and flow.flow_run is not None:
        _trainings.append((None, 0, flow.flow_run.id, path))


def of_task(run: TaskRun) -> list[Record]:
    """Return the trainings that this attempt of the task had in this process, oldest first."""
    this = (run.id, run.run_count)
    return _open_records(
        [path for id_, count, _, path in _trainings.copy() if (id_, count) == this]
    )


def of_flow(flow_run_id: UUID, state_dir: str | None) -> list[Record]:
    """Return the trainings of a flow run, from memory and from disk, oldest first."""
    paths = {path for _, _, id_, path in _trainings.copy() if id_ == flow_run_id}
    places = record_locations.list_places(state_dir)
    for path in record_locations.list_record_paths(places)[-_MOST_SEARCHED:]:
        if path not in paths and _belongs(path, str(flow_run_id)):
            paths.add(path)
    return _open_records(sorted(paths, key=os.path.basename))


def is_final_failure(record: Record) -> bool:
    """Return True for a run that failed, and that no later attempt has replaced.

    A run that skipped its task has not failed.  A damaged file counts as unknown.
    """
    if not has_ended(record) or record.has(SUCCESSOR):
        return False
    outcome = read_lenient(record, OUTCOME)
    if outcome is not None:
        return outcome.get("state") not in ("success", "skipped")
    verdict = read_verdict(record)
    return verdict is None or verdict.cause != "none"


def _belongs(path: str, flow_run_id: str) -> bool:
    try:
        record = Record.open(path)
    except GPUAlertError:
        return False
    try:
        return record.spec.owner.get("key", ())[:2] == ("prefect", flow_run_id)
    except GPUAlertError:
        return False
    finally:
        record.close()


def _open_records(paths: Iterable[str]) -> list[Record]:
    found = []
    for path in dict.fromkeys(paths):
        try:
            found.append(Record.open(path))
        except GPUAlertError:
            continue  # removed meanwhile, or of another user
    return found
