"""Rows of the list of runs, prepared for display."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gpualert_common.causes import NO_CAUSES
from gpualert_common.errors import GPUAlertError
from gpualert_common.listing.condition import LIVE, Condition, choose_condition_tone
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.live_facts import LiveProgress, describe_live_progress, read_live_progress
from gpualert_common.record import Record
from gpualert_common.report.formatting import hours, short_duration
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import Struct
from gpualert_common.web.job_groups import find_place, format_job_address, make_tag

_MARKS = {
    Condition.COMPLETED: "✓",
    Condition.SUSPECT: "!",
    Condition.SLOW: "~",
    Condition.STOPPED: "■",
    Condition.PREEMPTED: "■",
    Condition.UNKNOWN: "?",
    Condition.LOST: "?",
    Condition.DAMAGED: "?",
    **dict.fromkeys(LIVE, "●"),
}
_FAILED_MARK = "✕"
_MOST_PROGRESS = 12
"""Live runs whose logs are read for one list; a machine has fewer GPUs."""


class StateBadge(Struct, frozen=True):
    """Condition of a run as a word, a mark and a tone: good, bad, odd or live."""

    word: str
    mark: str
    tone: str


class RunRow(Struct, frozen=True, kw_only=True):
    """One run of the list; its texts are masked and safe to show, "" where nothing is known."""

    run_id: str
    name: str
    badge: StateBadge
    is_live: bool
    headline: str
    cause: str
    started: str
    started_iso: str
    lasted: str
    gpu_hours: str
    user: str
    host: str
    job: str = ""
    job_address: str = ""
    progress: LiveProgress | None = None
    progress_text: str = ""


def make_badge(condition: Condition) -> StateBadge:
    """Return the badge of a condition."""
    tone = "live" if condition in LIVE else choose_condition_tone(condition)
    return StateBadge(str(condition), _MARKS.get(condition, _FAILED_MARK), tone)


def make_rows(runs: Sequence[RunSummary], text: TextSanitizer) -> list[RunRow]:
    """Return the rows of runs; of the first live ones with their progress."""
    live = [run.run_id for run in runs if run.condition in LIVE][:_MOST_PROGRESS]
    return [make_row(run, text, has_progress=run.run_id in live) for run in runs]


def make_row(run: RunSummary, text: TextSanitizer, *, has_progress: bool = False) -> RunRow:
    """Return the row of a run."""
    progress = _read_progress(run) if has_progress else None
    place = find_place(run.job)
    headline = run.error if run.condition is Condition.DAMAGED else run.headline
    return RunRow(
        run_id=run.run_id,
        name=text.line(name_run(run)) or run.run_id,
        badge=make_badge(run.condition),
        is_live=run.condition in LIVE,
        headline="" if run.condition is Condition.COMPLETED else text.line(headline),
        cause="" if run.cause in NO_CAUSES else text.line(run.cause),
        started=format_start(run.started_at),
        started_iso=format_iso(run.started_at),
        lasted=_format_duration(run),
        gpu_hours="" if run.gpu_seconds is None else hours(run.gpu_seconds),
        user=text.line(run.owner or run.user),
        host=text.line(run.host),
        job=text.line((run.job or {}).get("name"), 100) if place else "",
        job_address=format_job_address(place[1], make_tag(place[0])) if place else "",
        progress=progress,
        progress_text=text.line(describe_live_progress(progress)) if progress else "",
    )


def name_run(run: RunSummary) -> str:
    """Return the name of a run, or its command; not masked."""
    return run.names[0] if run.names else shlex.join(run.command)


def format_start(at: float | None) -> str:
    """Return a time of this host, without the year where that is the present one."""
    try:
        then = time.localtime(at) if at else None
    except (OverflowError, ValueError, OSError):
        then = None
    if then is None:
        return ""
    is_now = then.tm_year == time.localtime().tm_year
    return time.strftime("%b %d, %H:%M:%S" if is_now else "%Y-%m-%d %H:%M", then)


def format_iso(at: float | None) -> str:
    """Return a time as the attribute of an element has it."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else ""
    except (OverflowError, ValueError, OSError):
        return ""


def _format_duration(run: RunSummary) -> str:
    if run.duration_s is not None:
        return short_duration(run.duration_s)
    is_live = run.condition in LIVE and run.started_at
    return short_duration(time.time() - run.started_at) if is_live and run.started_at else ""


def _read_progress(run: RunSummary) -> LiveProgress | None:
    try:
        record = Record.open(run.path)
        try:
            return read_live_progress(record)
        finally:
            record.close()
    except (GPUAlertError, OSError):
        return None  # it was removed meanwhile, or cannot be read
