"""The view of a run as that of its whole job, for the alert that one node sends about all."""

from __future__ import annotations

from gpualert_common.jobs.job_page import format_nodes
from gpualert_common.jobs.job_report import JobReport, NodeState, NodeSummary
from gpualert_common.jobs.job_view import view_job
from gpualert_common.notify.job_part import JobPart
from gpualert_common.report.alerted_job import AlertedJob
from gpualert_common.report.run_view import RunView, describe_exit_code
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.structs import replace

MOST_ROWS = 20
"""Rows of an alert: equal ones are folded from 16 nodes on."""
_TABLE_COLUMNS = 76


def view_as_job(
    view: RunView, report: JobReport, part: JobPart, masks: Masks, *, sender: str | None
) -> RunView:
    """Return the view of a run with the facts of its job, whose verdict it has already.

    ``sender`` is the host of the run.  The log's last lines are kept where this node is the
    culprit, or none is.
    """
    job = _describe_job(report, part, view.run_id, masks, sender)
    ended_at = report.ended_at or view.ended_at
    lasted_s = view.duration_s
    if report.started_at and ended_at is not None:
        lasted_s = max(0.0, ended_at - report.started_at)
    return replace(
        view,
        job=job.name,
        host=job.culprit or f"{job.node_count} node{'s' if job.node_count != 1 else ''}",
        attempt=max(view.attempt, report.attempt),
        exit_status=_describe_end(view, _find_culprit(report)),
        started_at=report.started_at or view.started_at,
        ended_at=ended_at,
        duration_s=lasted_s,
        log_tail=view.log_tail if job.is_here or not job.culprit else (),
        next_command=f"gpualert job {job.key}",
        alerted_job=job,
    )


def _describe_job(
    report: JobReport, part: JobPart, run_id: str, masks: Masks, sender: str | None
) -> AlertedJob:
    """Return the job for display; ``run_id`` is the run of this node."""
    shown = view_job(report, masks)
    culprit = _find_culprit(report)
    rank = report.verdict.details.get("rank")
    host = "" if culprit is None else shown.culprit_host
    return AlertedJob(
        key=shown.key,
        name=shown.name,
        attempt=report.attempt,
        number=part.number,
        culprit=host,
        rank=str(rank) if isinstance(rank, int) else "",
        culprit_record="" if culprit is None else shown.culprit_path,
        is_here=culprit is not None and culprit.run_id == run_id,
        node_count=len(report.nodes),
        expected_nodes=report.expected_nodes,
        sender=TextSanitizer(masks).line(sender) or "the node that sends this",
        rows=shown.rows[:MOST_ROWS],
        rows_left=sum(row.count for row in shown.rows[MOST_ROWS:]),
        table=tuple(format_nodes(shown.rows[:MOST_ROWS], _TABLE_COLUMNS)),
    )


def _find_culprit(report: JobReport) -> NodeSummary | None:
    """Return the node with the root cause; None where the job as a whole has it."""
    host = report.verdict.host
    return next((one for one in report.nodes if host is not None and one.host == host), None)


def _describe_end(view: RunView, culprit: NodeSummary | None) -> str:
    """Return how the run of the culprit ended; of this run, where it is no other one."""
    if culprit is None or culprit.run_id == view.run_id:
        return view.exit_status
    if culprit.state is NodeState.SILENT:
        return "not known: the node does not answer any more"
    code = culprit.exit_code
    return "not known" if code is None else describe_exit_code(code)
