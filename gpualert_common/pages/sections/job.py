"""The job that the run belongs to: its verdict, a picture of its nodes, and a table of them."""

from __future__ import annotations

from gpualert_common.pages.job_overview import JobOverview, make_job_overview, name_job
from gpualert_common.pages.node_grid import MOST_MARKS
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.structs import Struct

_MOST_ROWS = 100
_MOST_FOLDED = 60


class ReportedJob(Struct, frozen=True):
    """The job as its directory, or the record, has it; None with the reason in ``problem``.

    ``remark`` says of what time the report is.
    """

    name: str
    overview: JobOverview | None
    problem: str
    remark: str


def _collect(run: ReportedRun, room: Room) -> ReportedJob | None:
    job = run.spec.job
    reading = run.job
    if job is None or reading is None:
        return None
    name = name_job(job.get("key", ""), run.text.line(job.get("name")))
    problem = run.text.line(reading.problem)
    if reading.report is None:
        return ReportedJob(name, None, problem or "no digest was found", "")
    overview = make_job_overview(
        reading.report,
        run.text,
        run_id=run.record.run_id,
        most_rows=room.limit(_MOST_ROWS),
        most_folded=room.limit(_MOST_FOLDED),
        most_marks=room.limit(MOST_MARKS),
    )
    return ReportedJob(name, overview, problem, f"As of {run.format_time(reading.read_at)}.")


SECTION = Section("Job", order=15, most_bytes=60_000, collect=_collect)
