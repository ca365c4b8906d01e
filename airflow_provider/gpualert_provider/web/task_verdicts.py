"""Verdicts of all task instances in a period, from XCom: a few fields of each, within limits."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from airflow.models.xcom import XComModel
from sqlalchemy import String, cast, select

from gpualert_common.causes import CAUSES, NO_CAUSES
from gpualert_common.model import Attribution, Disposition
from gpualert_common.report.verdict_view import to_finite_number
from gpualert_common.structs import Struct
from gpualert_provider.web.tries import TaskName
from gpualert_provider.web.xcoms import MOST_VERDICT_CHARACTERS, is_at_most
from gpualert_provider.xcom import VERDICT_KEY

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

MOST_ROWS = 20_000
"""Of more task instances in a period only the newest are counted, and the page says so."""
_AT_ONCE = 500
_MOST_HEADLINE = 1000
_CAUSES = frozenset((*CAUSES, *NO_CAUSES))
_ATTRIBUTIONS = frozenset(str(one) for one in Attribution)
_UNKNOWN = "unknown"


class TaskVerdict(Struct, frozen=True):
    """The verdict of a task instance in short.  GPU times are in seconds, 0 if not measured.

    ``headline`` is as the task wrote it, not yet safe to show.
    """

    task: TaskName
    at: datetime
    cause: str
    headline: str
    attribution: str
    is_failed: bool
    gpu_seconds: float
    wasted_gpu_seconds: float


class FoundVerdicts(Struct, frozen=True):
    """Verdicts, newest first.  ``is_cut`` is True if the period has older ones."""

    verdicts: tuple[TaskVerdict, ...] = ()
    is_cut: bool = False


class _Fields(Struct):
    """The fields of a verdict that are read; a task may have written anything into them."""

    cause: object = None
    headline: object = None
    attribution: object = None
    disposition: object = None
    measured: object = None


_decoder = msgspec.json.Decoder(_Fields | str)
"""Skips all other fields: reading them would take three times as long."""


def list_verdicts(
    session: Session, since: datetime, dag_ids: Collection[str], most_rows: int = MOST_ROWS
) -> FoundVerdicts:
    """Return the verdicts of these DAGs since a time, of the newest task instances.

    A value that is no verdict is left out; one that an XCom back-end keeps elsewhere, too.
    """
    if not dag_ids:
        return FoundVerdicts()
    columns = (
        XComModel.dag_id,
        XComModel.run_id,
        XComModel.task_id,
        XComModel.map_index,
        XComModel.timestamp,
        cast(XComModel.value, String),
    )
    found = session.execute(
        select(*columns)
        .where(
            XComModel.key == VERDICT_KEY,
            XComModel.timestamp >= since,
            XComModel.dag_id.in_(dag_ids),
            is_at_most(MOST_VERDICT_CHARACTERS),
        )
        .order_by(XComModel.timestamp.desc())
        .limit(most_rows + 1)
        .execution_options(yield_per=_AT_ONCE)
    )
    verdicts: list[TaskVerdict] = []
    for row, (dag_id, run_id, task_id, map_index, at, value) in enumerate(found):
        if row == most_rows:
            return FoundVerdicts(tuple(verdicts), is_cut=True)
        verdict = _read(TaskName(dag_id, run_id, task_id, map_index), at, value)
        if verdict is not None:
            verdicts.append(verdict)
    return FoundVerdicts(tuple(verdicts))


def list_dag_ids(session: Session, since: datetime) -> set[str]:
    """Return the DAGs that have verdicts since a time."""
    found = session.scalars(
        select(XComModel.dag_id)
        .where(XComModel.key == VERDICT_KEY, XComModel.timestamp >= since)
        .distinct()
    )
    return set(found)


def _read(task: TaskName, at: datetime, text: str) -> TaskVerdict | None:
    try:
        fields = _decoder.decode(text)
        if isinstance(fields, str):  # a back-end may store JSON as a text
            fields = _decoder.decode(fields)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    if isinstance(fields, str) or not isinstance(fields.cause, str):
        return None
    cause = fields.cause if fields.cause in _CAUSES else _UNKNOWN
    measured = fields.measured if isinstance(fields.measured, dict) else {}
    is_failed = fields.disposition != Disposition.COMPLETED or cause not in NO_CAUSES
    return TaskVerdict(
        task=task,
        at=at,
        cause=cause,
        headline=fields.headline[:_MOST_HEADLINE] if isinstance(fields.headline, str) else "",
        attribution=_read_attribution(fields.attribution),
        is_failed=is_failed,
        gpu_seconds=_read_seconds(measured.get("gpu_seconds")),
        wasted_gpu_seconds=_read_seconds(measured.get("wasted_gpu_seconds")) if is_failed else 0.0,
    )


def _read_attribution(value: object) -> str:
    return value if isinstance(value, str) and value in _ATTRIBUTIONS else Attribution.UNKNOWN


def _read_seconds(value: object) -> float:
    """Return a measured time; 0 for a value that is none."""
    seconds = to_finite_number(value)
    return max(0.0, seconds) if seconds is not None else 0.0
