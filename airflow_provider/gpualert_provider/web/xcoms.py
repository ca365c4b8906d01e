"""Verdicts and reports in XCom: values that a task wrote, so that nothing in them is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from airflow.models.xcom import XComModel
from sqlalchemy import String, cast, func, select

from gpualert_common.codec import decode
from gpualert_common.errors import GPUAlertError
from gpualert_common.model import Verdict
from gpualert_provider.report_store import REPORT_KEY, read_xcom
from gpualert_provider.web.work_slots import STORE_READS, NoFreeSlotError
from gpualert_provider.xcom import MOST_BYTES, VERDICT_KEY

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from gpualert_provider.web.tries import TaskName

MOST_VERDICT_CHARACTERS = 4 * MOST_BYTES
"""A value that a database stores may be longer than the operator made it: it escapes characters."""
_MOST_REPORT_CHARACTERS = 2 << 20
_RESERVED = frozenset(("__classname__", "__type", "__var"))
"""Keys by which Airflow names the class of a value."""


def is_at_most(characters: int) -> Any:
    """Return the condition that a value has at most so many characters, for a query."""
    return func.length(cast(XComModel.value, String)) <= characters


def read_verdict(session: Session, task: TaskName) -> Verdict | None:
    """Return the verdict of the latest try; None without one that is valid."""
    fields = _read(session, task, VERDICT_KEY, MOST_VERDICT_CHARACTERS)
    if isinstance(fields, str):  # a back-end may store JSON as a text
        fields = _parse(fields)
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
    """Return a value of lists, dicts, strings and numbers; None if there is no such one.

    No class that a task names is imported, which Airflow's own way of reading would do.
    """
    text = session.execute(
        select(cast(XComModel.value, String)).where(
            XComModel.dag_id == task.dag_id,
            XComModel.run_id == task.run_id,
            XComModel.task_id == task.task_id,
            XComModel.map_index == task.map_index,
            XComModel.key == key,
            is_at_most(most_characters),
        )
    ).scalar()
    value = _parse(text)
    if value is None:
        return None
    session.close()  # no connection to the database is held while a back-end reads
    try:
        found = _read_elsewhere(value, key)
    except NoFreeSlotError:
        raise
    except Exception:  # noqa: BLE001 - a back-end may raise anything
        return None
    return found if _is_plain(found, most_characters) else None


def _parse(text: object) -> object:
    """Return the value of a text in JSON; None for another one."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if _is_plain(value, _MOST_REPORT_CHARACTERS) else None


def _read_elsewhere(value: object, key: str) -> object:
    """Return the value that the configured XCom back-end has for a stored one."""
    from airflow.sdk.bases.xcom import BaseXCom
    from airflow.sdk.execution_time.xcom import XCom

    if XCom is BaseXCom:
        return value
    return STORE_READS.run(lambda: XCom.deserialize_value(SimpleNamespace(value=value, key=key)))


def _is_plain(value: object, most_characters: int) -> bool:
    """Return True for a value of JSON, of limited size, that names no class."""
    left, parts = most_characters, [value]
    while parts and left >= 0:
        part = parts.pop()
        left -= 1
        if isinstance(part, str):
            left -= len(part)
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            if not _RESERVED.isdisjoint(part):
                return False
            parts += (*part, *part.values())
        elif not (part is None or isinstance(part, bool | int | float)):
            return False
    return left >= 0
