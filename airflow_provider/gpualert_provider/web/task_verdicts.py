"""Verdicts of all task instances in a period, from XCom: a few fields of each, within limits."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from airflow.models.xcom import XComModel
from sqlalchemy import select

from gpualert_common.causes import CAUSES, NO_CAUSES
from gpualert_common.model import Attribution, Disposition
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
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
_HEADLINE = 200
_UNKNOWN = "unknown"


class TaskVerdict(Struct, frozen=True):
    """The verdict of a task instance in short.  GPU times are in seconds, 0 if not measured."""

    task: TaskName
    at: datetime
    cause: str
    headline: str
    attribution: str
    is_failed: bool
    gpu_seconds: float
    wasted_gpu_seconds: float


def list_verdicts(
    session: Session, since: datetime, dag_ids: Collection[str]
) -> Iterator[TaskVerdict]:
    """Yield the verdicts of these DAGs since a time, newest first, at most :data:`MOST_ROWS`.

    A value that is no verdict is left out; one that an XCom back-end keeps elsewhere, too.
    """
    if not dag_ids:
        return
    text = TextSanitizer(NoMasks())  # the operator masked its secrets
    columns = (
        XComModel.dag_id,
        XComModel.run_id,
        XComModel.task_id,
        XComModel.map_index,
        XComModel.timestamp,
        XComModel.value,
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
        .limit(MOST_ROWS)
        .execution_options(yield_per=_AT_ONCE)
    )
    for dag_id, run_id, task_id, map_index, at, value in found:
        verdict = _read(TaskName(dag_id, run_id, task_id, map_index), at, value, text)
        if verdict is not None:
            yield verdict


def _read(task: TaskName, at: datetime, value: object, text: TextSanitizer) -> TaskVerdict | None:
    if isinstance(value, str):  # a back-end may store JSON as a text
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, Mapping) or not isinstance(value.get("cause"), str):
        return None
    cause = value["cause"] if value["cause"] in _CAUSES else _UNKNOWN
    measured = value.get("measured")
    measured = measured if isinstance(measured, Mapping) else {}
    is_failed = value.get("disposition") != Disposition.COMPLETED or cause not in NO_CAUSES
    return TaskVerdict(
        task=task,
        at=at,
        cause=cause,
        headline=text.line(value.get("headline"), _HEADLINE),
        attribution=_read_attribution(value.get("attribution")),
        is_failed=is_failed,
        gpu_seconds=_read_seconds(measured.get("gpu_seconds")),
        wasted_gpu_seconds=_read_seconds(measured.get("wasted_gpu_seconds")) if is_failed else 0.0,
    )


_CAUSES = frozenset((*CAUSES, *NO_CAUSES))


def _read_attribution(value: object) -> str:
    return value if isinstance(value, str) and value in set(Attribution) else Attribution.UNKNOWN


def _read_seconds(value: object) -> float:
    """Return a measured time; 0 for a value that is none."""
    seconds = to_finite_number(value)
    return max(0.0, seconds) if seconds is not None else 0.0
