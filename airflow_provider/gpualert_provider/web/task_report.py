"""The report of one try of a task instance, from the first place that has it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpualert_common.errors import GPUAlertError
from gpualert_common.structs import Struct
from gpualert_provider.report_store import (
    ReportName,
    ReportStoreError,
    get_store,
    is_in_xcom,
    read_file,
)
from gpualert_provider.web import xcoms
from gpualert_provider.web.records import find_record
from gpualert_provider.web.report_cache import ReportCache
from gpualert_provider.web.tries import TaskName, TaskTry
from gpualert_provider.web.work_slots import STORE_READS, NoFreeSlotError, WorkSlots

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from gpualert_common.model import Verdict

REFRESH_S = 10
"""A browser loads the report of a live run again after so many seconds."""

_REPORTS = WorkSlots(2, wait_s=3.0, deadline_s=60.0)
"""Of a run without a verdict all of the log is read, which takes a second for 100 MB."""
_CACHE = ReportCache(keep_s=5.0, most=16)

_LOG = logging.getLogger(__name__)


class TaskReport(Struct, frozen=True):
    """A report: a whole page, or else a verdict, or else nothing.

    ``problem`` says why a page that exists could not be read or made.
    """

    page: str | None = None
    verdict: Verdict | None = None
    problem: str = ""


def find_report(
    session: Session, task: TaskName, tries: Sequence[TaskTry], wanted: TaskTry
) -> TaskReport:
    """Return the report of a try: from its record, the report store, or the verdict in XCom.

    Raises NoFreeSlotError when too many reports are made or read.
    """
    session.close()  # no connection to the database is held while a report is made
    page, problem = _read_record(task, tries, wanted)
    if page is None and not wanted.is_live:
        page, store_problem = _read_store(session, task, wanted)
        problem = problem or store_problem
    if page is not None:
        return TaskReport(page=page)
    verdict = xcoms.read_verdict(session, task) if wanted.is_latest else None
    return TaskReport(verdict=verdict, problem=problem)


def _read_record(
    task: TaskName, tries: Sequence[TaskTry], wanted: TaskTry
) -> tuple[str | None, str]:
    try:
        return _REPORTS.run(lambda: _make_report(task, tries, wanted)), ""
    except NoFreeSlotError:
        raise
    except TimeoutError:
        return None, "The report of its record was not made in time."
    except (GPUAlertError, OSError) as error:
        return None, f"Its record cannot be read: {error}"
    except Exception:  # noqa: BLE001 - the tab shows the verdict in XCom instead
        _LOG.exception("No report of %s, try %s", task, wanted.number)
        return None, "The report of its record could not be made; the API server's log says why."


def _make_report(task: TaskName, tries: Sequence[TaskTry], wanted: TaskTry) -> str | None:
    """Return the report of the record of a try; None without one."""
    record = find_record(task, tries, wanted.number)
    if record is None:
        return None
    from gpualert_common.run_report import make_report

    try:
        page = _CACHE.get(record.path)
        if page is None:
            page = make_report(record, refresh_s=REFRESH_S)
            _CACHE.put(record.path, page)
        return page
    finally:
        record.close()


def _read_store(session: Session, task: TaskName, wanted: TaskTry) -> tuple[str | None, str]:
    try:
        store = get_store()
    except ReportStoreError as error:
        _LOG.warning("%s", error)
        return None, f"{error}."
    if not store:
        return None, ""
    if is_in_xcom(store):
        return (xcoms.read_report(session, task) if wanted.is_latest else None), ""
    name = ReportName(task.dag_id, task.run_id, task.task_id, task.map_index, wanted.number)
    try:
        return STORE_READS.run(lambda: read_file(store, name)), ""
    except NoFreeSlotError:
        raise
    except TimeoutError:
        return None, "The report store does not answer."
    except Exception:  # noqa: BLE001 - a store may raise anything
        _LOG.exception("The report store %s cannot be read", store)
        return None, "The report store cannot be read; the API server's log says why."
