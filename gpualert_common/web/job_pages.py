"""The pages of jobs: the list, and one job with its nodes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from gpualert_common.current_runs.run_index import RunIndex, UnknownRunError
from gpualert_common.jobs.reading.isolated_reading import JobReading
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.web.job_groups import JobGroup, find_place, group_jobs
from gpualert_common.web.job_reports import JobReports
from gpualert_common.web.job_rows import ROWS_OF_NODES, collect_job, make_listed_job
from gpualert_common.web.page_numbers import read_page
from gpualert_common.web.rendering import render_page

ROWS_OF_PAGE = 50
MOST_READ = 20
"""Jobs of one list whose directories are read."""
PERIOD_S = 5
REFRESH_S = 10
"""Time between two requests of a page, with and without scripts."""
_LIST_WAIT_S = 1.5
_PAGE_WAIT_S = 3.0
_REPORT_WAIT_S = 3.0


class JobPages:
    """Handlers of the pages of jobs."""

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self._reports = JobReports()

    def list_jobs(self, request: Request) -> Response:
        """Page of all jobs that runs on this machine belong to."""
        groups = group_jobs(self._index.list_runs())
        pages = max(1, -(-len(groups) // ROWS_OF_PAGE))
        page = read_page(request.query_params.get("page", "1"), pages)
        begin = (page - 1) * ROWS_OF_PAGE
        shown = groups[begin : begin + ROWS_OF_PAGE]
        found = self._reports.read([one.place for one in shown[:MOST_READ]], _LIST_WAIT_S)
        text = TextSanitizer(Redactor())
        return render_page(
            "jobs",
            rows=[make_listed_job(one, found.get(one.place), text) for one in shown],
            count=len(groups),
            begin=begin,
            page=page,
            pages=pages,
            refresh_s=REFRESH_S if page == 1 else None,
            period_s=PERIOD_S,
        )

    def show_job(self, request: Request) -> Response:
        """Page of one job."""
        group = self._find(request.path_params["key"], request.query_params.get("in", ""))
        found = self._reports.read([group.place], _PAGE_WAIT_S, is_urgent=True)
        reading = found.get(group.place)
        count = len(reading.report.nodes) if reading is not None and reading.report else 0
        pages = max(1, -(-count // ROWS_OF_NODES))
        page = read_page(request.query_params.get("page", "1"), pages)
        text = TextSanitizer(Redactor())
        job = collect_job(group, reading, text, (page - 1) * ROWS_OF_NODES)
        return render_page(
            "job",
            job=job,
            tag=group.tag,
            page=page,
            pages=pages,
            is_page_chosen="page" in request.query_params,
            refresh_s=REFRESH_S if job.is_changing else None,
            period_s=PERIOD_S,
        )

    def read_job_of(self, record: Record) -> JobReading | None:
        """Return the job of a run for its report; None for a run without a job directory."""
        place = find_place(record.spec.job)
        if place is None or not place[0]:
            return None
        found = self._reports.read([place], _REPORT_WAIT_S, is_urgent=True)
        return found.get(place) or JobReading(
            problem="it has not answered yet; load the page again"
        )

    def _find(self, key: str, tag: str) -> JobGroup:
        for group in group_jobs(self._index.list_runs()):
            if group.key == key and tag in (group.tag, group.permanent_tag):
                return group
        raise UnknownRunError("No run on this machine belongs to this job.")
