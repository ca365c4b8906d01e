"""A job prepared for display: its verdict, a picture of its nodes, and rows about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.jobs.job_report import JobReport, JobState, NodePart, NodeSummary
from gpualert_common.jobs.job_view import find_duration, find_root_time, view_job
from gpualert_common.pages.node_grid import MOST_MARKS, NodeGrid, draw_nodes
from gpualert_common.pages.node_rows import (
    FEW_NODES,
    NodeRow,
    fold_nodes,
    make_node_rows,
)
from gpualert_common.report.formatting import short_duration
from gpualert_common.report.formatting import time as format_time
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.report.verdict_view import VerdictView
from gpualert_common.report.wording import describe_attribution
from gpualert_common.structs import Struct

_PARTS: Mapping[NodePart, str] = {
    NodePart.CULPRIT: "This run has the root cause.",
    NodePart.SAME: "This run has the same cause as {}, independently of it.",
    NodePart.CASCADE: "This run failed because {} did.",
    NodePart.HEALTHY: "This run has not failed.",
    NodePart.UNKNOWN: "The part of this run in the failure is not known.",
}
_MOST_NAME = 200


class JobOverview(Struct, frozen=True, kw_only=True):
    """One job at one time; its texts have passed a sanitizer, "" where nothing is known.

    ``rows`` have equal nodes folded into one, where there are many; ``all_rows`` are then the
    nodes one by one, of which ``left_out`` are not among them.  ``own_part`` is the part of the run
    that the overview is made for.
    """

    name: str
    key: str
    is_live: bool
    status: str
    view: VerdictView
    summary: str
    own_part: str
    facts: tuple[Fact, ...]
    grid: NodeGrid
    rows: tuple[NodeRow, ...]
    all_rows: tuple[NodeRow, ...]
    left_out: int

    @property
    def tone(self) -> str:
        """good, bad or odd."""
        return self.view.tone


def make_job_overview(
    report: JobReport,
    text: TextSanitizer,
    *,
    run_id: str = "",
    zone: str = "UTC",
    first_row: int = 0,
    most_rows: int = 100,
    most_folded: int = 60,
    most_marks: int = MOST_MARKS,
) -> JobOverview:
    """Return the overview of a job, for the run ``run_id`` if it is in it.

    ``zone`` is UTC or local.
    """
    view = view_job(report, text.masks)
    nodes = report.nodes
    own = find_own_node(nodes, run_id)
    is_folded = len(nodes) > FEW_NODES
    root_at = find_root_time(report)
    fold = fold_nodes if is_folded else make_node_rows
    rows = fold(nodes, text, own, root_at)
    shown = nodes[first_row : first_row + most_rows] if is_folded else ()
    return JobOverview(
        name=name_job(report.job, text.line(report.name, _MOST_NAME)),
        key=text.line(report.job),
        is_live=report.state is not JobState.ENDED,
        status=describe_job_state(report, view),
        view=view,
        summary=_summarize(report, view),
        own_part=_describe_part(own, report, text),
        facts=tuple(_list_facts(report, view, zone)),
        grid=draw_nodes(nodes, most_marks),
        rows=tuple(rows[:most_folded]),
        all_rows=tuple(make_node_rows(shown, text, own, root_at)),
        left_out=len(nodes) - len(shown) if is_folded else 0,
    )


def name_job(key: str, name: str) -> str:
    """Return the name of a job for people: that of Slurm is only a number."""
    return f"Slurm job {name}" if key.startswith("slurm-") and name else name or key


def find_own_node(nodes: Sequence[NodeSummary], run_id: str) -> NodeSummary | None:
    """Return the node of a run; None if the job has none of it."""
    return next((node for node in nodes if run_id and node.run_id == run_id), None)


def describe_job_state(report: JobReport, view: VerdictView) -> str:
    """Return the state of a job as a label, such as "Failed"."""
    if report.state is JobState.FAILING:
        return "Failing"
    words = view.outcome.removeprefix("was ").removeprefix("is still ")
    return words[:1].upper() + words[1:]


def count_nodes(report: JobReport) -> str:
    """Return the number of nodes and of ranks in words, such as "8 nodes, 64 ranks"."""
    count = report.node_count
    words = f"{count:,} node{'s' if count != 1 else ''}"
    return words + (f", {report.world_size:,} ranks" if report.world_size else "")


def _summarize(report: JobReport, view: VerdictView) -> str:
    if report.state is JobState.FAILING:
        fault = describe_attribution(view.attribution)
        end = f" At fault: {fault}." if fault else ""
        return f"A part of the job has failed, and others still run.{end}"
    return view.summarize(find_duration(report))


def _describe_part(own: NodeSummary | None, report: JobReport, text: TextSanitizer) -> str:
    if own is None:
        return ""
    name = text.line(report.culprit.host) if report.culprit is not None else ""
    return _PARTS[own.part].format(name or "another node")


def _list_facts(report: JobReport, view: VerdictView, zone: str) -> list[Fact]:
    lasted = find_duration(report)
    attempt = f"{report.attempt} of {report.attempts}" if report.attempts > 1 else ""
    facts = [
        ("Nodes", count_nodes(report)),
        ("Cause", "" if view.is_healthy or view.cause == "none" else view.cause),
        ("Attempt", attempt),
        ("Started", format_time(report.started_at, zone) if report.started_at else ""),
        ("Lasted" if report.ended_at else "Running for", short_duration(lasted) if lasted else ""),
    ]
    return [(label, value) for label, value in facts if value]
