"""Tries of a task instance, from Airflow's database."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from sqlalchemy import select

from gpualert_common.structs import Struct

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

_MOST_TRIES = 200
_LIVE = ("running", "deferred", "restarting", "queued", "scheduled")
_FINAL = ("success", "failed", "skipped", "upstream_failed", "removed")


class TaskName(Struct, frozen=True):
    """The names of a task instance, without its try."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1

    @property
    def key(self) -> tuple[str, ...]:
        """GPUAlert's key of the task: that of the operator."""
        return ("airflow", self.dag_id, self.run_id, self.task_id, str(self.map_index))


class TaskTry(Struct, frozen=True):
    """One try of a task instance.  ``is_latest`` is True for the one that XCom is about."""

    number: int
    state: str
    started_at: float | None
    ended_at: float | None
    is_latest: bool = False

    @property
    def is_live(self) -> bool:
        """True while the try has not ended."""
        return self.state in _LIVE

    @property
    def is_final(self) -> bool:
        """True if the task instance goes on only when a user clears it."""
        return self.state in _FINAL


def list_tries(session: Session, task: TaskName) -> list[TaskTry] | None:
    """Return the newest tries, oldest first; None for a task instance that does not exist."""
    latest = session.execute(_select(TaskInstance, task)).first()
    if latest is None:
        return None
    current = _make_try(latest, is_latest=True)
    earlier = session.execute(
        _select(TaskInstanceHistory, task)
        .order_by(TaskInstanceHistory.try_number.desc())
        .limit(_MOST_TRIES)
    )
    found = {one.number: one for one in (_make_try(row) for row in earlier)}
    if current.number > 0:
        found[current.number] = current
    return [found[number] for number in sorted(found)]


def _select(model: Any, task: TaskName) -> Any:
    columns = (model.try_number, model.state, model.start_date, model.end_date)
    return select(*columns).where(
        model.dag_id == task.dag_id,
        model.run_id == task.run_id,
        model.task_id == task.task_id,
        model.map_index == task.map_index,
    )


def _make_try(row: Any, *, is_latest: bool = False) -> TaskTry:
    number, state, started, ended = row
    state = str(getattr(state, "value", state) or "none")
    return TaskTry(number or 0, state, _to_seconds(started), _to_seconds(ended), is_latest)


def _to_seconds(at: object) -> float | None:
    return at.timestamp() if isinstance(at, datetime) else None
