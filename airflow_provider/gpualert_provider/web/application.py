"""Application of the pages, mounted in Airflow's API server.  It only reads: all requests are GET.

Airflow's own dependencies decide who may see a page: they read the session's cookie or a token, and
ask the auth manager for the right to the logs and XComs of the DAG, which is all that a page shows.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from gpualert_provider.web import rendering
from gpualert_provider.web.failure_summary import FailureFilter, summarize
from gpualert_provider.web.task_report import find_report
from gpualert_provider.web.task_verdicts import MOST_ROWS, list_dag_ids, list_verdicts
from gpualert_provider.web.tries import TaskName, TaskTry, list_tries
from gpualert_provider.web.work_slots import NoFreeSlotError
from gpualert_provider.web.xcom_rights import keep_readable

_OURS = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
"""For a page that a task may have written: it has no origin and runs no script.  Without
``allow-scripts`` a browser would not load a live report again."""

_HEADERS = {
    "Content-Security-Policy": _OURS,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = Path(__file__).with_name("static")
_MEDIA_TYPES = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_TASK_PATH = "/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/{map_index}"
_NOT_MAPPED = "{MAP_INDEX}"
"""Airflow leaves the placeholder as it is for a task that is not mapped."""
_MAP_INDEX = re.compile(r"-1|[0-9]{1,9}", re.ASCII)
_PERIODS_DAYS = (7, 30, 90)
_MOST_NAME = 300

_may_see_task = [
    Depends(requires_access_dag("GET", DagAccessEntity.TASK_LOGS)),
    Depends(requires_access_dag("GET", DagAccessEntity.XCOM)),
]


def make_application() -> FastAPI:
    """Return the application."""
    application = FastAPI(title="GPUAlert", docs_url=None, redoc_url=None, openapi_url=None)
    application.middleware("http")(_add_headers)
    application.add_exception_handler(StarletteHTTPException, _show_error)
    application.add_exception_handler(RequestValidationError, _show_error)
    application.add_exception_handler(NoFreeSlotError, _show_busy)
    application.get("/static/{name}")(get_static_file)
    application.get(_TASK_PATH, dependencies=_may_see_task)(get_task_page)
    application.get(f"{_TASK_PATH}/report", dependencies=_may_see_task)(get_report)
    application.get("/failures")(get_failures)
    return application


async def _add_headers(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    response = await call_next(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _show_error(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, StarletteHTTPException) else 404
    return HTMLResponse(rendering.render_error(status), status)


async def _show_busy(_request: Request, _error: Exception) -> Response:
    headers = {"Retry-After": str(rendering.WAIT_S)}
    return HTMLResponse(rendering.render_error(503), 503, headers)


def get_static_file(name: str) -> Response:
    """Return a style sheet, a script or the icon: the same files for everyone."""
    if name not in _MEDIA_TYPES:
        raise HTTPException(404)
    headers = {"Cache-Control": "max-age=300"}
    return FileResponse(_STATIC / name, media_type=_MEDIA_TYPES[name], headers=headers)


def _get_task(dag_id: str, run_id: str, task_id: str, map_index: str) -> TaskName:
    if map_index == _NOT_MAPPED:
        return TaskName(dag_id, run_id, task_id)
    if not _MAP_INDEX.fullmatch(map_index):
        raise HTTPException(404)
    return TaskName(dag_id, run_id, task_id, int(map_index))


TaskDep = Annotated[TaskName, Depends(_get_task)]


def _list_tries(session: SessionDep, task: TaskDep) -> list[TaskTry]:
    """Return the tries of a task instance.  Raises HTTPException if there is no such one."""
    tries = list_tries(session, task)
    if tries is None:
        raise HTTPException(404)
    return tries


TriesDep = Annotated[list[TaskTry], Depends(_list_tries)]
TryNumberDep = Annotated[int | None, Query(alias="try", ge=0, le=10**6)]


def _find_try(tries: list[TaskTry], number: int | None) -> TaskTry:
    """Return the chosen try, the newest without a choice.  Raises HTTPException."""
    if number is None and tries:
        return tries[-1]
    for one in tries:
        if one.number == number:
            return one
    raise HTTPException(404)


def get_task_page(task: TaskDep, tries: TriesDep, try_number: TryNumberDep = None) -> HTMLResponse:
    """Return the page of a task instance: its tries, and a frame with the report of one."""
    if not tries:
        return HTMLResponse(rendering.render_not_started())
    return HTMLResponse(rendering.render_task(task, tries, _find_try(tries, try_number)))


def get_report(
    task: TaskDep, tries: TriesDep, session: SessionDep, try_number: TryNumberDep = None
) -> HTMLResponse:
    """Return the report of a try."""
    wanted = _find_try(tries, try_number)
    found = find_report(session, task, tries, wanted)
    if found.page is not None:
        return HTMLResponse(found.page, headers={"Content-Security-Policy": _REPORT})
    if found.verdict is not None:
        return HTMLResponse(rendering.render_verdict(found.verdict, found.problem))
    return HTMLResponse(rendering.render_missing(wanted, found.problem))


def get_failures(
    user: GetUserDep,
    session: SessionDep,
    days: Annotated[int, Query()] = 30,
    cause: Annotated[str, Query(max_length=_MOST_NAME)] = "",
    dag_id: Annotated[str, Query(alias="dag", max_length=_MOST_NAME)] = "",
    page: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1,
) -> HTMLResponse:
    """Return the failures of the DAGs whose XComs the user may see.

    No parameter of the query takes part in that decision.
    """
    days = days if days in _PERIODS_DAYS else _PERIODS_DAYS[1]
    since = datetime.now(UTC) - timedelta(days=days)
    wanted = list_dag_ids(session, since)
    permitted = keep_readable(wanted, user, session)
    if wanted and not permitted:
        raise HTTPException(403)
    chosen = FailureFilter(cause, dag_id, page)
    found = list_verdicts(session, since, permitted)
    shown = rendering.render_failures(
        summarize(found.verdicts, chosen),
        chosen,
        days=days,
        periods=_PERIODS_DAYS,
        is_cut=found.is_cut,
    )
    return HTMLResponse(shown)
