"""Verdicts and reports in XCom: values that a task wrote, so that nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from airflow.models.xcom import XComModel
from sqlalchemy import String, cast, func, select

from gpualert_common.codec import decode
from gpualert_common.errors import GPUAlertError
from gpualert_common.model import Verdict
from gpualert_provider.report_store import REPORT_KEY, read_xcom
from gpualert_provider.xcom import MOST_BYTES, VERDICT_KEY

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from gpualert_provider.web.tries import TaskName

MOST_VERDICT_CHARACTERS = 4 * MOST_BYTES
"""A value that a database stores may be longer than the operator made it: it escapes characters."""
_MOST_REPORT_CHARACTERS = 2 << 20


def is_at_most(characters: int) -> Any:
    """Return the condition that a value has at most so many characters, for a query."""
    return func.length(cast(XComModel.value, String)) <= characters


def read_verdict(session: Session, task: TaskName) -> Verdict | None:
    """Return the verdict of the latest try; None without one that is valid."""
    fields = _read(session, task, VERDICT_KEY, MOST_VERDICT_CHARACTERS)
    if not isinstance(fields, Mapping):
        return None
    names = Verdict.__struct_fields__
    try:
        return decode(Verdict, {name: fields[name] for name in names if name in fields}, "XCom")
    except (GPUAlertError, ValueError, TypeError):
        return None


def read_report(session: Session, task: TaskName) -> str | None:
    """Return the stored report of the latest try; None if XCom has none."""
    return read_xcom(_read(session, task, REPORT_KEY, _MOST_REPORT_CHARACTERS))


def _read(session: Session, task: TaskName, key: str, most_characters: int) -> object:
    """Return a value, as the configured XCom back-end reads it; None if that is not possible."""
    row = session.execute(
        select(XComModel.value).where(
            XComModel.dag_id == task.dag_id,
            XComModel.run_id == task.run_id,
            XComModel.task_id == task.task_id,
            XComModel.map_index == task.map_index,
            XComModel.key == key,
            is_at_most(most_characters),
        )
    ).first()
    if row is None:
        return None
    from airflow.sdk.execution_time.xcom import XCom

    try:
        value: object = XCom.deserialize_value(SimpleNamespace(value=row[0], key=key))
    except Exception:  # noqa: BLE001 - a back-end may raise anything
        return None
    return value
