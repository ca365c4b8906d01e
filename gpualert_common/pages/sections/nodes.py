"""Nodes of the job that the run is a part of, as its alert shows them: the culprit first."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.codec import decode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.job_report import JOB_REPORT, JobReport
from gpualert_common.jobs.job_view import JobRow, view_job
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.structs import Struct

_MOST_ROWS = 40


class NodeTable(Struct, frozen=True):
    """The verdict of the job in short, and a row for each node, or for many that say the same."""

    headline: str
    summary: str
    command: str
    rows: tuple[JobRow, ...]
    left_out: int


def _collect(run: ReportedRun, room: Room) -> NodeTable | None:
    """Return the nodes; None for a run that has not sent the alert of its job."""
    report = None
    with suppress(RecordError, OSError):
        fields = run.record.read_json(JOB_REPORT)
        report = None if fields is None else decode(JobReport, fields, JOB_REPORT)
    if report is None:
        return None
    view = view_job(report, run.masks)
    most = room.limit(_MOST_ROWS)
    return NodeTable(
        headline=view.headline,
        summary=view.summarize(view.duration_s),
        command=view.next_command,
        rows=view.rows[:most],
        left_out=sum(row.count for row in view.rows[most:]),
    )


SECTION = Section("Nodes of the job", order=15, most_bytes=15_000, collect=_collect)
