"""The view of a run as that of its whole job, for the alert that one node sends about all."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.jobs.job_report import JobReport, NodePart, NodeState, NodeSummary
from gpualert_common.jobs.node_names import fold_names
from gpualert_common.notify.job_part import JobPart
from gpualert_common.report.alerted_job import AlertedJob, JobNodesRow
from gpualert_common.report.formatting import duration
from gpualert_common.report.run_view import RunView
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import replace

MOST_ROWS = 12
_MOST_NAME = 60
_NODE_NAMES = 6
"""Parts of a list of nodes that a row shows."""


def view_as_job(view: RunView, report: JobReport, part: JobPart, text: TextSanitizer) -> RunView:
    """Return the view of a run with the facts of its job, whose verdict it has already.

    The log's last lines are kept where this node is the culprit, or none is.
    """
    job = view_job(report, part, view.run_id, text)
    started_at, ended_at = report.started_at or view.started_at, report.ended_at
    culprit = _find_culprit(report)
    lasted = max(0.0, ended_at - started_at) if ended_at is not None else view.duration_s
    return replace(
        view,
        job=job.name or job.key,
        host=job.culprit or f"{job.node_count} nodes",
        attempt=max(view.attempt, report.attempt),
        exit_status=_describe_end(view, culprit),
        started_at=started_at,
        ended_at=ended_at or view.ended_at,
        duration_s=lasted,
        log_tail=view.log_tail if job.is_here or not job.culprit else (),
        next_command=f"gpualert job {job.name or job.key}",
        alerted_job=job,
    )


def view_job(report: JobReport, part: JobPart, run_id: str, text: TextSanitizer) -> AlertedJob:
    """Return the job for display; ``run_id`` is the run of this node."""
    verdict = report.verdict
    culprit = _find_culprit(report)
    rows = [_make_row(nodes, report, text) for nodes in _group(report.nodes)]
    rank = verdict.details.get("rank")
    host = "" if verdict.host is None else text.line(verdict.host, _MOST_NAME)
    return AlertedJob(
        key=text.line(report.job, _MOST_NAME),
        name=text.line(report.name, _MOST_NAME),
        attempt=report.attempt,
        number=part.number,
        culprit=host,
        rank="" if rank is None else text.line(rank, _MOST_NAME),
        culprit_record="" if culprit is None else text.line(culprit.record_path),
        is_here=culprit is not None and culprit.run_id == run_id,
        node_count=len(report.nodes),
        expected_nodes=report.expected_nodes,
        rows=tuple(rows[:MOST_ROWS]),
        rows_left=sum(row.count for row in rows[MOST_ROWS:]),
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
    return "not known" if code is None else f"exit status {code}"


def _group(nodes: Iterable[NodeSummary]) -> list[list[NodeSummary]]:
    """Return the nodes with equal rows together, in the order of the report."""
    groups: dict[tuple[object, ...], list[NodeSummary]] = {}
    for node in nodes:
        is_single = node.part is NodePart.CULPRIT
        key = (node.host,) if is_single else (node.state, node.part, node.cause, node.disposition)
        groups.setdefault(key, []).append(node)
    return list(groups.values())


def _make_row(nodes: list[NodeSummary], report: JobReport, text: TextSanitizer) -> JobNodesRow:
    first = nodes[0]
    positions = [one.position for one in nodes if one.position is not None]
    steps = sorted({f"{min(positions):g}", f"{max(positions):g}"}, key=float) if positions else []
    return JobNodesRow(
        nodes=text.line(fold_names((one.host for one in nodes), _NODE_NAMES), _MOST_NAME),
        count=len(nodes),
        ranks=text.line(first.ranks, _MOST_NAME) if len(nodes) == 1 else "",
        state=str(first.state),
        part=str(first.part),
        cause=text.line(first.cause or "", _MOST_NAME),
        failed_after=_describe_delay(nodes, report),
        step="-".join(steps),
    )


def _describe_delay(nodes: list[NodeSummary], report: JobReport) -> str:
    """Return the time from the root cause to the first failure of these nodes."""
    root_at = report.verdict.details.get("root_at")
    failed = [one.failed_at for one in nodes if one.failed_at is not None]
    is_failure = nodes[0].part is not NodePart.HEALTHY
    if not failed or not is_failure or not isinstance(root_at, int | float):
        return ""
    delay_s = min(failed) - root_at
    return duration(delay_s) if delay_s >= 0 else ""
