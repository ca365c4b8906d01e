"""The pages of the web server by their addresses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from gpualert_common.current_runs.run_index import RunIndex, ServerBusyError, UnknownRunError
from gpualert_common.errors import GPUAlertError, RecordError, UsageError
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.formatting import hours
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.web.actions import Actions
from gpualert_common.web.comparison import compare_runs
from gpualert_common.web.credentials import Credentials, is_same_secret
from gpualert_common.web.gate import SIGN_IN, Gate
from gpualert_common.web.job_pages import JobPages
from gpualert_common.web.log_download import stream_log
from gpualert_common.web.machine_view import TelemetryCache
from gpualert_common.web.page_numbers import read_page
from gpualert_common.web.rendering import read_static, render_message, render_page
from gpualert_common.web.run_details import collect_details
from gpualert_common.web.run_filter import STATES, read_filter
from gpualert_common.web.run_rows import make_rows

ROWS_OF_PAGE = 50
RUN_PERIOD_S = 2
LIST_PERIOD_S = 5
"""Time between two requests of the script of a page: a list of 10,000 runs takes a third of a
second to read."""
REFRESH_S = 10
"""The same for a page whose browser runs no scripts."""
_MOST_LONG_WORK = 2
"""Reports and comparisons at a time; each takes a second, and a hundred megabytes."""
_LONG_WORK_WAIT_S = 20.0
_MOST_FORM_BYTES = 4 << 10
_FORM_S = 10.0
_FORM_TYPE = "application/x-www-form-urlencoded"
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of a report, which has its style in it and names the hash of that style itself."""


class WebPages:
    """Handlers of the pages.  Those that read records run in threads, apart from the server."""

    def __init__(
        self, places: Sequence[str], credentials: Credentials, *, has_actions: bool
    ) -> None:
        self._index = RunIndex(places)
        self.jobs = JobPages(self._index)
        # The first list of many runs takes seconds where their summaries are not stored yet.
        threading.Thread(target=self._index.list_runs, name="gpualert-index", daemon=True).start()
        self._credentials = credentials
        self._has_actions = has_actions
        self._telemetry = TelemetryCache()
        self._actions = Actions()
        self._long_work = threading.BoundedSemaphore(_MOST_LONG_WORK)

    def list_runs(self, request: Request) -> Response:
        """Page of all runs that the filter lets through."""
        wanted = read_filter(request.query_params)
        runs = self._index.list_runs()
        found = wanted.select(runs)
        pages = max(1, -(-len(found) // ROWS_OF_PAGE))
        page = read_page(request.query_params.get("page", "1"), pages)
        begin = (page - 1) * ROWS_OF_PAGE
        text = TextSanitizer(Redactor())
        rows = make_rows(found[begin : begin + ROWS_OF_PAGE], text)
        return render_page(
            "runs",
            rows=rows,
            filter=wanted,
            states=STATES,
            problems=[text.line(one) for one in wanted.problems],
            causes=_list_values((run.cause for run in runs), wanted.given["cause"], text),
            users=_list_values(
                (name for run in runs for name in (run.owner, run.user)), wanted.given["user"], text
            ),
            jobs=_list_values(
                (run.job.get("name") for run in runs if run.job), wanted.given["job"], text
            ),
            total=len(runs),
            count=len(found),
            sums=_add_hours(found),
            begin=begin,
            page=page,
            pages=pages,
            refresh_s=REFRESH_S if page == 1 else None,
            period_s=LIST_PERIOD_S,
        )

    def show_run(self, request: Request) -> Response:
        """Page of one run."""
        with self._open(request) as record:
            details = collect_details(record, self._telemetry, self._actions.find_dump(record))
        return render_page(
            "run",
            run=details,
            has_actions=self._has_actions,
            form_token=self._credentials.form_token,
            refresh_s=REFRESH_S if details.is_changing else None,
            period_s=RUN_PERIOD_S,
        )

    def show_report(self, request: Request) -> Response:
        """Report of one run, to read or to download."""
        from gpualert_common.run_report import make_report

        is_download = "download" in request.query_params
        with self._open(request) as record, self._begin_long_work():
            job = self.jobs.read_job_of(record)
            page = make_report(record, refresh_s=None if is_download else REFRESH_S, job=job)
            name = f"gpualert-{record.run_id}.html"
        headers = {"content-security-policy": _REPORT_POLICY}
        if is_download:
            headers["content-disposition"] = f'attachment; filename="{name}"'
        content = page.encode("utf-8", "replace")
        return Response(content, headers=headers, media_type="text/html")

    def download_log(self, request: Request) -> Response:
        """Log of one run, with secrets masked."""
        name = request.path_params["name"]
        with self._open(request) as record:
            if name not in record.logs:
                raise UnknownRunError("This run has no log of this name.")
            try:
                stream = stream_log(record, name)
            except OSError as error:
                raise UsageError(f"{name} cannot be read: {error.strerror}") from None
            file = f"{record.run_id}-{name}"
        headers = {"content-disposition": f'attachment; filename="{file}"'}
        return StreamingResponse(stream, headers=headers, media_type="text/plain")

    def compare(self, request: Request) -> Response:
        """Page that compares two runs."""
        names = request.query_params.getlist("run")
        if len(names) != 2 or names[0] == names[1]:
            text = "Choose two runs in the list, then compare them."
            return render_message(400, "Two runs are needed", text, back="/")
        first = self._index.open_record(names[0])
        try:
            second = self._index.open_record(names[1])
            try:
                with self._begin_long_work():
                    comparison = compare_runs(first, second)
            finally:
                second.close()
        finally:
            first.close()
        return render_page("compare", comparison=comparison)

    async def stop(self, request: Request) -> Response:
        """Action: stop a run."""
        return await self._act(request, self._actions.stop, "")

    async def take_stacks(self, request: Request) -> Response:
        """Action: take the stacks of a run."""
        return await self._act(request, self._actions.take_stacks, "#stacks")

    async def sign_in(self, request: Request, gate: Gate) -> Response:
        """Answer to the form with the token."""
        fields = await _read_form(request)
        return gate.sign_in(fields.get("token", ""), fields.get("target", ""))

    async def _act(
        self, request: Request, action: Callable[[Record], None], fragment: str
    ) -> Response:
        if not self._has_actions:
            text = "Pages only show runs; gpualert web --allow-actions lets them act, too."
            return render_message(403, "Read-only", text, back="/")
        fields = await _read_form(request)
        if not is_same_secret(fields.get("form_token"), self._credentials.form_token):
            text = "The page is of an earlier start of the server; load it again."
            return render_message(403, "Old page", text, back="/")

        def act() -> str:
            with self._open(request) as record:
                action(record)
                return record.run_id

        run_id = await run_in_threadpool(act)
        return RedirectResponse(f"/runs/{run_id}{fragment}", 303)

    @contextmanager
    def _begin_long_work(self) -> Iterator[None]:
        """Wait for a turn, so that many requests fill neither the memory nor the processors."""
        if not self._long_work.acquire(timeout=_LONG_WORK_WAIT_S):
            raise ServerBusyError
        try:
            yield
        finally:
            self._long_work.release()

    @contextmanager
    def _open(self, request: Request) -> Iterator[Record]:
        record = self._index.open_record(request.path_params["run_id"])
        try:
            yield record
        finally:
            record.close()


class RefusedFormError(Exception):
    """The body of a request is no form of ours; ``status`` is that of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def make_application(
    places: Sequence[str],
    credentials: Credentials,
    names: frozenset[str],
    cookie: str,
    *,
    has_actions: bool,
) -> Gate:
    """Return the application with all pages behind its gate."""
    pages = WebPages(places, credentials, has_actions=has_actions)

    async def sign_in(request: Request) -> Response:
        return await pages.sign_in(request, gate)

    application = Starlette(
        routes=[
            Route("/", pages.list_runs),
            Route("/compare", pages.compare),
            Route("/jobs", pages.jobs.list_jobs),
            Route("/jobs/{key}", pages.jobs.show_job),
            Route("/runs/{run_id}", pages.show_run),
            Route("/runs/{run_id}/report", pages.show_report),
            Route("/runs/{run_id}/logs/{name}", pages.download_log),
            Route("/runs/{run_id}/stop", pages.stop, methods=["POST"]),
            Route("/runs/{run_id}/stacks", pages.take_stacks, methods=["POST"]),
            Route(SIGN_IN, sign_in, methods=["POST"]),
            Route("/static/{name}", _send_static),
        ],
        exception_handlers={
            GPUAlertError: _explain_error,
            OSError: _explain_error,
            RefusedFormError: _explain_error,
            ServerBusyError: _explain_error,
            HTTPException: _explain_error,
            500: _explain_defect,
        },
    )
    gate = Gate(application, credentials, names, cookie)
    return gate


async def _send_static(request: Request) -> Response:
    found = read_static(request.path_params["name"])
    if found is None:
        return render_message(404, "Not found", "There is no such file.", back="/")
    content, media_type = found
    return Response(content, media_type=media_type)


async def _explain_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        if error.status_code == 405:
            return render_message(405, "Method not allowed", "This is not a page to read.")
        return render_message(404, "Not found", "There is no such page.", back="/")
    if isinstance(error, RefusedFormError):
        return render_message(error.status, "Request refused", str(error), back="/")
    if isinstance(error, ServerBusyError):
        text = "Other requests have not been answered yet. Is the disk slow? Try again."
        return render_message(503, "Busy", text, back="/")
    text = TextSanitizer(Redactor()).prose(str(error))
    if isinstance(error, RecordError):
        return render_message(422, "Unreadable record", text, back="/")
    if isinstance(error, UnknownRunError):
        return render_message(404, "Not found", text, back="/")
    if isinstance(error, UsageError):
        return render_message(409, "Not possible", text, back="/")
    return render_message(500, "Failed", text, back="/")


async def _explain_defect(_request: Request, _error: Exception) -> Response:
    text = "This is a defect; the terminal of gpualert web shows where."
    return render_message(500, "Failed", text, back="/")


async def _read_form(request: Request) -> dict[str, str]:
    """Return the fields of a small form.  Raises RefusedFormError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM_TYPE:
        raise RefusedFormError(415, "Only forms of these pages are taken.")
    body = b""
    try:
        async with asyncio.timeout(_FORM_S):
            async for block in request.stream():
                body += block
                if len(body) > _MOST_FORM_BYTES:
                    raise RefusedFormError(413, "The form is too long.")
    except TimeoutError:
        raise RefusedFormError(408, "The form did not arrive in time.") from None
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=10))
    except ValueError:
        raise RefusedFormError(400, "The form cannot be read.") from None


def _list_values(values: Iterator[str | None], chosen: str, text: TextSanitizer) -> list[str]:
    """Return the values of a field that occur, and the one that is chosen."""
    found = {value for value in values if value} | ({chosen} if chosen else set())
    return sorted(text.line(value, 80) for value in found)[:200]


def _add_hours(runs: Sequence[RunSummary]) -> tuple[str, str] | None:
    """Return the GPU-hours of all runs and those wasted; None where none were measured."""
    if not any(run.gpu_seconds for run in runs):
        return None
    return (
        hours(sum(run.gpu_seconds or 0.0 for run in runs)),
        hours(sum(run.wasted_gpu_seconds or 0.0 for run in runs)),
    )
