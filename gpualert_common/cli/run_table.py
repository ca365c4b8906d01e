"""The table of runs: their cells, and the line that sums them up."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from itertools import pairwise

from gpualert_common.causes import NO_CAUSES
from gpualert_common.listing.condition import LIVE, Condition, choose_condition_tone
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.printable_text import make_printable
from gpualert_common.report import terminal
from gpualert_common.report.formatting import hours, one_line, short_duration
from gpualert_common.report.tables import Column, format_table
from gpualert_common.report.text_sanitizer import LINE

_SHORT_ID = len("20261120-101010")
_OF_CAUSE = frozenset(
    {
        *(Condition.SUSPECT, Condition.SLOW, Condition.FAILED, Condition.KILLED),
        Condition.UNKNOWN,
    }
)
"""Conditions that the name of the cause explains; the others say it themselves."""


def format_runs(
    runs: Sequence[RunSummary], ids: Sequence[str], width: int, *, colours: bool
) -> list[str]:
    """Return the lines of a table of runs; their shown ids are unique among ``ids``."""
    now = time.time()
    conditions = [format_condition(run) for run in runs]
    tones = [
        terminal.TONES[choose_condition_tone(run.condition)] if colours else "" for run in runs
    ]
    columns = [
        Column("RUN", shorten_ids([run.run_id for run in runs], ids)),
        Column("NAME", [format_name(run) for run in runs], rank=1, least=12),
        Column("STATE", conditions, rank=0, least=13, colours=tones),
        Column("EXIT", [_or_dash(run.shell_code) for run in runs], rank=2, is_right=True),
        Column("LASTED", [_format_duration(run, now) for run in runs], rank=3, is_right=True),
        Column("STARTED", [format_start(run.started_at, now) for run in runs], rank=5),
    ]
    if any(run.gpu_seconds for run in runs):
        for title, values in (
            ("GPU-H", [run.gpu_seconds for run in runs]),
            ("WASTED", [run.wasted_gpu_seconds for run in runs]),
        ):
            cells = ["-" if value is None else hours(value) for value in values]
            columns.append(Column(title, cells, rank=6, is_right=True))
    columns.append(Column("HEADLINE", [_format_headline(run) for run in runs], rank=4, least=14))
    title_colour = terminal.TITLE if colours else ""
    return format_table(columns, width, title_colour=title_colour)


def format_total(runs: Sequence[RunSummary], of: int) -> str:
    """Return the number of runs, of that many in all, and their GPU-hours where there are any."""
    line = f"{len(runs)} of {of} runs" if of > len(runs) else f"{of} run{'s' if of != 1 else ''}"
    if not any(run.gpu_seconds for run in runs):
        return line
    used = sum(run.gpu_seconds or 0.0 for run in runs)
    wasted = sum(run.wasted_gpu_seconds or 0.0 for run in runs)
    line += f", {hours(used)} GPU-hours, {hours(wasted)} of them wasted"
    unknown = sum(run.gpu_seconds is None for run in runs)
    return f"{line}; not known of {unknown}" if unknown else line


def format_condition(run: RunSummary) -> str:
    """Return the condition of a run, with the cause of one that ended badly."""
    if run.verdict_pending:
        return f"{run.condition} (verdict pending)"
    if run.condition in _OF_CAUSE and run.cause not in (None, *NO_CAUSES):
        return f"{run.condition}: {run.cause}"
    return str(run.condition)


def format_name(run: RunSummary) -> str:
    """Return the name of a run, or its command."""
    return one_line(run.names[0] if run.names else shlex.join(run.command), LINE) or "-"


def format_start(at: float | None, now: float) -> str:
    """Return a time of this host: the clock for today, else the day, with the year if needed."""
    if not at:
        return "-"
    try:
        then, today = time.localtime(at), time.localtime(now)
        if then[:3] == today[:3]:
            return time.strftime("%H:%M:%S", then)
        return time.strftime("%b %d %H:%M" if then[0] == today[0] else "%Y-%m-%d", then)
    except (OverflowError, ValueError, OSError):
        return "-"


def shorten_ids(shown: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the start of each shown id that no other of the ids begins with."""
    ordered = sorted(ids)
    least = dict.fromkeys(ordered, _SHORT_ID)
    for one, other in pairwise(ordered):
        size = next((at for at in range(len(one)) if one[at] != other[at : at + 1]), len(one)) + 1
        least[one], least[other] = max(least[one], size), max(least[other], size)
    return [make_printable(one[: least.get(one, len(one))]) for one in shown]


def _format_headline(run: RunSummary) -> str:
    if run.condition is Condition.DAMAGED:
        return one_line(run.error or "its launch record has neither a name nor a command", LINE)
    return one_line(run.headline or "", LINE)


def _format_duration(run: RunSummary, now: float) -> str:
    if run.duration_s is not None:
        return short_duration(run.duration_s)
    is_live = run.condition in LIVE
    return short_duration(now - run.started_at) if is_live and run.started_at else "-"


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
