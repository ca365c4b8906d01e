"""Rows of the list of jobs, and the page of one job, prepared for display."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpualert_common.causes import NO_CAUSES
from gpualert_common.jobs.job_report import JobReport, JobState
from gpualert_common.jobs.reading.isolated_reading import JobReading
from gpualert_common.listing.condition import LIVE, determine_condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.pages.job_overview import (
    JobOverview,
    count_nodes,
    find_duration,
    make_job_overview,
    name_job,
)
from gpualert_common.record import RunState
from gpualert_common.report.formatting import duration, short_duration
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import Struct
from gpualert_common.web.job_groups import JobGroup
from gpualert_common.web.run_rows import (
    RunRow,
    StateBadge,
    format_iso,
    format_start,
    make_badge,
    make_rows,
)

ROWS_OF_NODES = 100
_MOST_RUNS = 50
_MOST_NAME = 200


class ListedJob(Struct, frozen=True, kw_only=True):
    """One job of the list; its texts are masked and safe to show, "" where nothing is known."""

    address: str
    key: str
    name: str
    badge: StateBadge
    is_live: bool
    headline: str
    cause: str
    nodes: str
    started: str
    started_iso: str
    lasted: str
    runs: int


class LocalRun(Struct, frozen=True):
    """A run of the job on this machine, with its place in the job, such as "attempt 2, node 3"."""

    run: RunRow
    place: str


class DetailedJob(Struct, frozen=True, kw_only=True):
    """Everything that the page of a job shows.

    ``overview`` is None as long as its directory was not read; ``remark`` says why.  ``local_runs``
    are the ids of its runs on this machine.
    """

    row: ListedJob
    overview: JobOverview | None
    remark: str
    is_changing: bool
    facts: tuple[Fact, ...]
    runs: tuple[LocalRun, ...]
    runs_left_out: int
    local_runs: frozenset[str]
    first_row: int


def make_listed_job(group: JobGroup, reading: JobReading | None, text: TextSanitizer) -> ListedJob:
    """Return the row of a job: by its report, else by its runs on this machine."""
    report = reading.report if reading is not None else None
    newest = group.runs[0]
    if report is None:
        badge, cause, headline = make_badge(newest.condition), newest.cause, newest.headline
        starts = [run.started_at for run in group.runs if run.started_at]
        started, lasted_s = min(starts, default=None), None
        if group.is_live:
            live = next(run for run in group.runs if run.condition in LIVE)
            badge, cause, headline = make_badge(live.condition), None, ""
    else:
        badge, cause = _make_job_badge(report), report.verdict.cause
        headline = "" if report.verdict.is_healthy else report.verdict.headline
        started, lasted_s = report.started_at or None, find_duration(report)
    return ListedJob(
        address=group.address,
        key=group.key,
        name=name_job(group.key, text.line(report.name if report else group.name, _MOST_NAME)),
        badge=badge,
        is_live=badge.tone == "live",
        headline=text.line(headline),
        cause="" if cause in NO_CAUSES else text.line(cause),
        nodes="" if report is None else count_nodes(report),
        started=format_start(started),
        started_iso=format_iso(started),
        lasted="" if lasted_s is None else short_duration(lasted_s),
        runs=len(group.runs),
    )


def collect_job(
    group: JobGroup, reading: JobReading | None, text: TextSanitizer, first_row: int
) -> DetailedJob:
    """Return the page of a job; the nodes one by one begin with number ``first_row``."""
    report = reading.report if reading is not None else None
    overview = None
    if report is not None:
        overview = make_job_overview(
            report, text, zone="local", first_row=first_row, most_rows=ROWS_OF_NODES
        )
    row = make_listed_job(group, reading, text)
    newest = group.runs[:_MOST_RUNS]
    runs = [
        LocalRun(row, _describe_place(run))
        for run, row in zip(newest, make_rows(newest, text), strict=True)
    ]
    return DetailedJob(
        row=row,
        overview=overview,
        remark=text.line(_explain(group, reading)),
        is_changing=row.is_live or reading is None or (overview is not None and overview.is_live),
        facts=tuple(_list_facts(group, reading, text)),
        runs=tuple(runs),
        runs_left_out=len(group.runs) - len(runs),
        local_runs=frozenset(run.run_id for run in group.runs),
        first_row=first_row,
    )


def _describe_place(run: RunSummary) -> str:
    """Return attempt and node of a run; "" where neither is known."""
    job = run.job or {}
    named = ((name, job.get(name)) for name in ("attempt", "node"))
    return ", ".join(f"{name} {number}" for name, number in named if number is not None)


def _make_job_badge(report: JobReport) -> StateBadge:
    match report.state:
        case JobState.RUNNING:
            return StateBadge("running", "●", "live")
        case JobState.FAILING:
            return StateBadge("failing", "●", "bad")
        case JobState.ENDED:
            verdict = report.verdict
            return make_badge(
                determine_condition(
                    RunState.ENDED, verdict.disposition, verdict.cause, verdict.exit_code
                )
            )


def _explain(group: JobGroup, reading: JobReading | None) -> str:
    """Return the words about a report that is missing or old; "" for one as it should be."""
    if not group.directory:
        return (
            "Its runs have no job directory, so that each judges alone. With --job-dir they share "
            "one verdict."
        )
    if reading is None:
        return "Its directory is being read."
    if reading.report is None:
        return f"Its directory has no report: {reading.problem or 'there is no digest in it'}."
    return f"This is not up to date: {reading.problem}." if reading.problem else ""


def _list_facts(group: JobGroup, reading: JobReading | None, text: TextSanitizer) -> Sequence[Fact]:
    report = reading.report if reading is not None else None
    culprit = report.nodes[0] if report is not None and report.nodes else None
    record = ""
    if report is not None and culprit is not None and culprit.part == "culprit":
        record = f"{culprit.host}:{culprit.record_path}" if culprit.record_path else ""
    age = ""
    if reading is not None and reading.report is not None:
        age = f"{duration(max(0.0, time.time() - reading.read_at))} ago"
    attempt = f"{report.attempt} of {report.attempts}" if report is not None else ""
    origins = {"option": "--job", "engine": "the engine's task", "slurm": "Slurm"}
    facts = [
        ("Key", group.key),
        ("Named by", origins.get(group.origin, group.origin)),
        ("Attempt", attempt),
        ("Job directory", group.directory),
        ("Directory read", age),
        ("Record of the culprit", record),
        ("In the terminal", f"gpualert job {group.key}"),
    ]
    return [(label, text.line(value)) for label, value in facts if value]
