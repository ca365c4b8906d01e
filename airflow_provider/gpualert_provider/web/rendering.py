"""Pages made of templates; every value is escaped, and made safe to show before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jinja2

from gpualert_common.model import Verdict
from gpualert_common.redact import Redactor
from gpualert_common.report.formatting import hours, one_line
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.report.verdict_view import EvidenceItem, view_verdict
from gpualert_common.report.wording import describe_attribution
from gpualert_provider.identity import make_name
from gpualert_provider.page_paths import (
    PREFIX,
    get_root_path,
    make_page_path,
    make_tab_path,
)
from gpualert_provider.web.failure_summary import FailureFilter, FailureSummary
from gpualert_provider.web.task_verdicts import MOST_ROWS
from gpualert_provider.web.tries import TaskName, TaskTry

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_NAME = 120
_MOST_HEADLINE = 200
_MANY_SECONDS = 100 * 3600
_TITLES = {
    "Do": "What to do",
    "Shows": "The evidence shows",
    "Implies": "This implies",
    "Cannot decide": "It cannot decide",
}
"""Titles of sections as the report has them."""
WAIT_S = 5
"""A page without a report, which may have one soon, is loaded again after so many seconds."""

_ERRORS = {
    401: (
        "Not logged in",
        "Log in to Airflow, then open this page again. A page needs Airflow 3.1.1 or newer.",
    ),
    403: ("No access", "Your account may not read the task logs and XComs that this page shows."),
    404: ("Not found", "There is no such task instance, try or page."),
    503: ("One moment", "The API server is making other reports. This page loads itself again."),
}
_OTHER_ERROR = ("The page could not be made", "The log of the API server says why.")


def render_task(task: TaskName, tries: Sequence[TaskTry], chosen: TaskTry) -> str:
    """Return the page of a task instance: its tries, and a frame with the report of one."""
    name, path = make_name(task.dag_id, task.task_id, task.map_index), make_page_path(task)
    return _render("task.html", name=name, tries=tries, chosen=chosen, path=path)


def render_not_started() -> str:
    """Return the page of a task instance of which no try has begun."""
    title, text = "Not started", "The report appears when the first try of this task has begun."
    return _render("message.html", title=title, text=text, refresh_s=WAIT_S, problem="")


def render_verdict(verdict: Verdict, problem: str) -> str:
    """Return the page of a verdict of which nothing else is known here."""
    text = TextSanitizer(Redactor())
    view = view_verdict(verdict, text)
    sections = [
        (_TITLES.get(title, title), [one for one in items if one])
        for title, items in view.sections()
    ]
    return _render(
        "verdict.html",
        view=view,
        sections=[(title, items) for title, items in sections if items],
        facts=_list_facts(verdict, text),
        problem=one_line(problem, 500),
    )


def _list_facts(verdict: Verdict, text: TextSanitizer) -> list[tuple[str, str]]:
    view = view_verdict(verdict, text)
    facts = [
        ("Run", text.line(verdict.run_id)),
        ("Host", text.line(verdict.host)),
        ("Exit status", "" if verdict.exit_code is None else str(verdict.exit_code)),
        ("Log", text.line(verdict.log_path)),
        ("GPU-hours", view.gpu_hours),
    ]
    return [(name, value) for name, value in facts if value]


def render_missing(wanted: TaskTry, problem: str) -> str:
    """Return the page of a try without a report, which says how to get one."""
    if wanted.is_live:
        title, text = "No report yet", "It appears as soon as the training has begun."
        return _render(
            "message.html", title=title, text=text, refresh_s=WAIT_S, problem=one_line(problem, 500)
        )
    return _render("missing.html", problem=one_line(problem, 500), is_latest=wanted.is_latest)


def render_error(status: int) -> str:
    """Return the page of an error, by its HTTP status."""
    title, text = _ERRORS.get(status, _OTHER_ERROR)
    refresh_s = WAIT_S if status == 503 else None
    return _render("message.html", title=title, text=text, refresh_s=refresh_s, problem="")


def render_failures(
    summary: FailureSummary,
    chosen: FailureFilter,
    *,
    days: int,
    periods: Sequence[int],
    is_cut: bool,
) -> str:
    """Return the page of the failures of a period; ``is_cut`` if older ones are not counted."""

    def link(**changed: object) -> str:
        """Return the address of this page with other choices."""
        values = {"days": days, "cause": chosen.cause, "dag": chosen.dag_id, **changed}
        return "?" + urlencode({key: value for key, value in values.items() if value})

    text = TextSanitizer(Redactor())
    return _render(
        "failures.html",
        summary=summary,
        headline=lambda value: text.line(value, _MOST_HEADLINE),
        chosen=chosen,
        days=days,
        periods=periods,
        link=link,
        task_link=make_tab_path,
        most_rows=MOST_ROWS,
        is_cut=is_cut,
    )


def _render(template: str, **values: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(static=f"{get_root_path()}{PREFIX}/static", **values)
    )


def _short(value: object) -> str:
    return one_line(str(value), _MOST_NAME)


def _format_hours(seconds: float) -> str:
    """Return seconds as hours, such as "0.25" or "1,250"."""
    if not seconds:
        return "0"
    return hours(seconds) if seconds < _MANY_SECONDS else f"{seconds / 3600:,.0f}"


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _is_evidence(value: object) -> bool:
    return isinstance(value, EvidenceItem)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "short": _short,
        "gpu_hours": _format_hours,
        "minute": _format_time,
        "fault": describe_attribution,
    }
    environment.filters.update(filters)
    environment.tests["evidence"] = _is_evidence
    return environment
