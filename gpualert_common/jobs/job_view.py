"""A job prepared for display: its verdict, its facts, and its nodes in rows.

All texts have passed the sanitizer.  Rows of nodes that say the same are folded into one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar

from gpualert_common.jobs.job_report import JobReport, JobState, NodePart, NodeState, NodeSummary
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.processes.rank_names import format_numbers, read_ranges
from gpualert_common.report.alerted_job import JobRow
from gpualert_common.report.formatting import duration, short_duration, time
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.report.verdict_view import VerdictView, to_finite_number, verdict_fields

MOST_ROWS = 16
"""Nodes that have a row each: a screen shows them all."""
_MOST_CULPRITS = 8
_MOST_RANKS_TEXT = 24
_WORDS = {
    NodePart.CULPRIT: "culprit",
    NodePart.SAME: "same cause",
    NodePart.CASCADE: "cascade",
    NodePart.HEALTHY: "healthy",
    NodePart.UNKNOWN: "unknown",
}
_STATES = {
    JobState.RUNNING: "running",
    JobState.FAILING: "failing: nodes have failed, and others still run",
    JobState.ENDED: "ended",
}


class JobView(VerdictView, frozen=True, kw_only=True):
    """A job: the variables of the templates, beside those of the run that sends the alert."""

    key: str
    name: str
    job_state: str
    attempt: int
    attempts: int
    node_count: int
    world_size: int | None
    started_at: float
    ended_at: float | None
    duration_s: float | None
    culprit_host: str
    culprit_path: str
    rows: tuple[JobRow, ...]
    facts: tuple[tuple[str, str], ...]
    next_command: str

    noun: ClassVar[str] = "job"


def view_job(report: JobReport, masks: Masks, *, zone: str = "UTC", damaged: int = 0) -> JobView:
    """Return the view of a job; its times are those of the store, in UTC or the local zone."""
    text = TextSanitizer(masks)
    count = max(len(report.nodes), report.expected_nodes or 0)
    is_over = report.ended_at is not None
    lasted = max(0.0, (report.ended_at or 0.0) - report.started_at) if is_over else None
    culprit = next((one for one in report.nodes if one.part is NodePart.CULPRIT), None)
    return JobView(
        state=None,
        **verdict_fields(report.verdict, text),
        key=text.line(report.job),
        name=text.line(report.name) or text.line(report.job),
        job_state=_STATES[report.state],
        attempt=report.attempt,
        attempts=report.attempts,
        node_count=count,
        world_size=report.world_size,
        started_at=report.started_at,
        ended_at=report.ended_at,
        duration_s=lasted,
        culprit_host=text.line(culprit.host) if culprit else "",
        culprit_path=text.line(culprit.record_path) if culprit else "",
        rows=tuple(_list_rows(report, text)),
        facts=tuple((label, value) for label, value in _facts(report, text, zone, damaged)),
        next_command=text.line(f"gpualert job {report.job}"),
    )


def _facts(
    report: JobReport, text: TextSanitizer, zone: str, damaged: int
) -> Iterator[tuple[str, str]]:
    named = f" ({text.line(report.name)})" if report.name not in ("", report.job) else ""
    yield "Job", text.line(report.job) + named
    yield "State", _STATES[report.state]
    if report.attempt > 1 or report.attempts > 1:
        yield "Attempt", f"{report.attempt}; digests of {report.attempts} are kept"
    size = f", {report.world_size} ranks" if report.world_size else ""
    count = max(len(report.nodes), report.expected_nodes or 0)
    yield "Nodes", f"{count}{size}"
    lasted = ""
    if report.ended_at is not None:
        lasted = f", lasted {duration(max(0.0, report.ended_at - report.started_at))}"
    yield "Started", time(report.started_at, zone) + lasted
    culprit = next((one for one in report.nodes if one.part is NodePart.CULPRIT), None)
    if culprit is not None and culprit.record_path:
        yield "Record", f"{text.line(culprit.record_path)} on {text.line(culprit.host)}"
    if damaged:
        yield "Damaged", f"{damaged} digest{'s' if damaged > 1 else ''}: counted as missing"


# -- rows ------------------------------------------------------------------------------------


def _list_rows(report: JobReport, text: TextSanitizer) -> Iterator[JobRow]:
    """Yield the culprits, then the other nodes; those that say the same in one row if there are
    many."""
    root_at = to_finite_number(report.verdict.details.get("root_at"))
    groups: dict[object, list[NodeSummary]] = defaultdict(list)
    is_long = len(report.nodes) > MOST_ROWS
    for number, node in enumerate(report.nodes):
        is_single = node.part is NodePart.CULPRIT and number < _MOST_CULPRITS
        same = (node.part, node.state, node.cause, node.disposition)
        groups[same if is_long and not is_single else number].append(node)
    for nodes in groups.values():
        yield _make_row(nodes, root_at, text)


def _make_row(nodes: Sequence[NodeSummary], root_at: float | None, text: TextSanitizer) -> JobRow:
    first = nodes[0]
    names = [text.line(node.host) or "no host" for node in nodes]
    is_one = len(nodes) == 1
    return JobRow(
        nodes=names[0] if is_one else text.line(fold_names(names)),
        count=len(nodes),
        ranks=text.line(first.ranks) if is_one else _join_ranks(nodes),
        state=_describe_state(first, text),
        part=_WORDS[first.part],
        cause=text.line(first.cause) if first.cause not in (None, "none") else "",
        since_root=_describe_lead([node.failed_at for node in nodes], root_at),
        last_step=_describe_steps([node.position for node in nodes]),
        is_culprit=first.part is NodePart.CULPRIT,
    )


def _describe_state(node: NodeSummary, text: TextSanitizer) -> str:
    if node.state is NodeState.ENDED and node.disposition:
        return text.line(node.disposition)
    return str(node.state)


def _describe_lead(times: Sequence[float | None], root_at: float | None) -> str:
    """Return the time after the root, as a range for several nodes."""
    known = [at - root_at for at in times if at is not None and root_at is not None]
    if not known:
        return ""
    low, high = (_format_lead(value) for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def _format_lead(seconds: float) -> str:
    return f"{'-' if seconds < -0.05 else '+'}{short_duration(abs(seconds))}"


def _describe_steps(positions: Sequence[float | None]) -> str:
    known = [value for value in positions if value is not None]
    if not known:
        return ""
    low, high = (f"{value:.10g}" for value in (min(known), max(known)))
    return low if low == high else f"{low}-{high}"


def _join_ranks(nodes: Sequence[NodeSummary]) -> str:
    """Return the ranks of several nodes as ranges; "" where one of them is not known."""
    found: set[int] = set()
    for node in nodes:
        ranges_of_node = read_ranges(node.ranks)
        if ranges_of_node is None:
            return ""
        for low, high in ranges_of_node:
            found.update(range(low, min(high, low + 1024) + 1))
    ranges = format_numbers(found)
    if len(ranges) <= _MOST_RANKS_TEXT:
        return ranges
    return f"{len(found)} of {min(found)}-{max(found)}"
