"""The page of live runs: a table, and the details of the selected run, in a terminal's size."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gpualert_common.cli.run_table import format_condition, format_name, shorten_ids
from gpualert_common.current_runs.live_runs import LiveRun, RunDetails
from gpualert_common.listing.condition import Condition, choose_condition_tone
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.report import terminal
from gpualert_common.report.formatting import one_line, short_duration, size, wrap
from gpualert_common.report.tables import Column, cut_columns, format_table
from gpualert_common.report.text_sanitizer import LINE
from gpualert_common.structs import Struct

LEAST_COLUMNS = 24
_QUIET = "2"
_SELECTED = "7"
_KEYS = (("↑↓", "select"), ("Enter", "details"), ("q", "quit"))
_KEYS_OF_DETAILS = (("↑↓", "other run"), ("Enter", "list"), ("q", "quit"))
_LEAST_DETAIL_LINES = 6
_MOST_WARNING_LINES = 6
_TITLE_COLUMNS = 10
_CALM = frozenset({Condition.RUNNING, Condition.STARTING})


class LivePage(Struct, frozen=True):
    """Size and state of the page: ``selected`` is the path of a run; details fill it or a part."""

    width: int
    height: int
    colours: bool = False
    selected: str = ""
    is_detailed: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Return a text in a colour, where there are colours."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colours and colour and text else text


def format_page(
    page: LivePage, runs: Sequence[LiveRun], details: RunDetails | None, now: float
) -> list[str]:
    """Return the lines of the whole screen, at most ``page.height`` of them."""
    keys = _KEYS_OF_DETAILS if page.is_detailed else _KEYS
    head, foot = _format_head(page, runs, now), _format_keys(page, keys)
    room = max(0, page.height - 3)  # head, an empty line, keys
    selected = next((run for run in runs if run.summary.path == page.selected), None)
    if page.is_detailed and selected is not None:
        body = _format_details(page, selected, details, now, room)
    else:
        rows = format_live_table(runs, page.width, now, page=page) or ["no runs yet"]
        body = _scroll(rows, runs, page, room)
        left = room - len(body) - 1
        if selected is not None and left >= _LEAST_DETAIL_LINES:
            body += ["", *_format_details(page, selected, details, now, left)]
    lines = [head, "", *body[:room]]
    lines += [""] * (page.height - 1 - len(lines))
    return [*lines, foot][: page.height]


def format_live_table(
    runs: Sequence[LiveRun], width: int, now: float, *, page: LivePage | None = None
) -> list[str]:
    """Return the table of runs; on a page with a mark before the selected one."""
    if not runs:
        return []
    colours = page is not None and page.colours
    chosen = [page is not None and run.summary.path == page.selected for run in runs]
    tones = [_choose_tone(run) if colours else "" for run in runs]
    names = [_SELECTED if one and colours else "" for one in chosen]
    columns = [
        Column("NAME", [format_name(run.summary) for run in runs], 1, 10, colours=names),
        Column("STATE", [_format_state(run) for run in runs], 0, 9, colours=tones),
        Column("TIME", [_format_time(run, now) for run in runs], 2, is_right=True),
    ]
    optional = (
        ("PROGRESS", 3, [_format_position(run) for run in runs]),
        ("LOSS", 4, [_format_number(run.progress.loss) for run in runs]),
        ("LEFT", 5, [_format_span(run.progress.left_s) for run in runs]),
        ("PACE", 9, [_format_pace(run) for run in runs]),
        ("GPU", 6, [_format_percent(run.load.gpu_percent) for run in runs]),
        ("GPU MEM", 10, [_format_gpu_memory(run) for run in runs]),
        ("MEM", 11, [_format_bytes(run.load.host_bytes) for run in runs]),
        ("OUTPUT", 7, [_format_age(run, now) for run in runs]),
        ("WARN", 6, [str(len(run.warnings) or "") for run in runs]),
    )
    ids = [run.summary.run_id for run in runs]
    columns += [
        Column(title, cells, rank, is_right=True) for title, rank, cells in optional if any(cells)
    ]
    columns.append(Column("RUN", shorten_ids(ids, ids), 7))
    jobs = [_name_job(run.summary) for run in runs]
    if any(jobs):
        columns.insert(1, Column("JOB", jobs, 6, 8))
    if page is not None:
        columns.insert(0, Column("", [">" if one else " " for one in chosen]))
    title = terminal.TITLE if colours else ""
    return format_table(columns, max(width, LEAST_COLUMNS), title_colour=title)


def _format_head(page: LivePage, runs: Sequence[LiveRun], now: float) -> str:
    live = sum(run.is_live for run in runs)
    warned = sum(bool(run.warnings) for run in runs)
    shown = f"gpualert  {live} live, {len(runs) - live} ended"
    shown += f", {warned} with warnings" if warned else ""
    clock = time.strftime("%H:%M:%S", time.localtime(now))
    gap = page.width - len(shown) - len(clock)
    line = f"{shown}{' ' * gap}{clock}" if gap > 1 else cut_columns(shown, page.width)
    return page.paint(line, terminal.TITLE)


def _format_keys(page: LivePage, keys: Sequence[tuple[str, str]]) -> str:
    line = cut_columns("   ".join(f"{key} {action}" for key, action in keys), page.width)
    return page.paint(line, _QUIET)


def _scroll(rows: list[str], runs: Sequence[LiveRun], page: LivePage, room: int) -> list[str]:
    """Return the header and as many rows as fit, among them the selected one."""
    most = room - 1
    if len(rows) - 1 <= most or most < 1:
        return rows[:room]
    paths = [run.summary.path for run in runs]
    at = paths.index(page.selected) if page.selected in paths else 0
    first = min(max(0, at - most // 2), len(paths) - most)
    return [rows[0], *rows[1 + first : 1 + first + most]]


def _format_details(
    page: LivePage, run: LiveRun, details: RunDetails | None, now: float, room: int
) -> list[str]:
    """Return facts, warnings and the tail of a run's log in at most so many lines."""
    name = cut_columns(format_name(run.summary), page.width)
    lines = [page.paint(name, terminal.TITLE)]
    for title, value in _list_facts(run, now):
        text = wrap(value, max(1, page.width - _TITLE_COLUMNS), breaks=True).splitlines()
        heads = [
            page.paint(f"{title:<{_TITLE_COLUMNS}}", _QUIET),
            *[" " * _TITLE_COLUMNS] * len(text),
        ]
        lines += [head + line for head, line in zip(heads, text, strict=False)]
    warnings = [
        cut_columns(line, page.width)
        for warning in run.warnings
        for line in wrap(f"! {warning}", page.width, "  ").splitlines()
    ]
    lines += [page.paint(line, terminal.TONES["odd"]) for line in warnings[:_MOST_WARNING_LINES]]
    lines = lines[: max(1, room // 2)]
    known = details.lines if details is not None and details.path == run.summary.path else ()
    tail = [cut_columns(line, page.width) for line in known]
    left = room - len(lines) - 1
    shown = (tail[-left:] if left > 0 else []) or ["no output yet"]
    return [*lines, page.paint("─" * page.width, _QUIET), *shown][:room]


def _name_job(summary: RunSummary) -> str:
    """Return the job of a run, under the name that ``gpualert job`` takes; "" without one."""
    job = summary.job or {}
    return one_line(job.get("name") or job.get("key") or "", LINE)


def _list_facts(run: LiveRun, now: float) -> Iterator[tuple[str, str]]:
    """Yield the facts about a run, with their titles."""
    summary, load = run.summary, run.load
    state = format_condition(summary)
    state += f", process {summary.pid}" if summary.pid is not None and run.is_live else ""
    yield "state", f"{state}, {_format_time(run, now)}   ({summary.run_id})"
    if _name_job(summary):
        node, nodes = (summary.job or {}).get("node"), (summary.job or {}).get("nodes")
        place = "" if node is None or (nodes or 1) < 2 else f", node {node + 1} of {nodes}"
        yield "job", _name_job(summary) + place
    if summary.headline:
        yield "verdict", one_line(summary.headline, LINE)
    if run.problem or summary.error:
        yield "problem", run.problem or one_line(summary.error or "", LINE)
    share = "" if run.progress.share is None else f" ({run.progress.share:.0%})"
    progress = [
        *([f"{_format_position(run)}{share}"] if _format_position(run) else []),
        *([f"loss {_format_number(run.progress.loss)}"] if run.progress.loss is not None else []),
        *([_format_pace(run)] if _format_pace(run) else []),
        *([f"{_format_span(run.progress.left_s)} left"] if run.progress.left_s else []),
    ]
    if progress:
        yield "progress", ", ".join(progress)
    machine = [
        *([f"{load.gpus} GPU{'s' if load.gpus > 1 else ''}"] if load.gpus else []),
        *([f"{_format_percent(load.gpu_percent)} active"] if load.gpu_percent is not None else []),
        *([f"{_format_gpu_memory(run)} in use"] if load.gpu_bytes is not None else []),
        *([f"{size(int(load.host_bytes))} of host memory"] if load.host_bytes else []),
    ]
    if machine:
        yield "machine", ", ".join(machine)
    if run.is_live and run.last_output_at is not None:
        yield "output", f"{_format_age(run, now)} ago"


def _choose_tone(run: LiveRun) -> str:
    if run.summary.condition in _CALM:
        return terminal.TONES["odd"] if run.warnings else ""
    return terminal.TONES[choose_condition_tone(run.summary.condition)]


def _format_state(run: LiveRun) -> str:
    return "unreadable" if run.problem else format_condition(run.summary)


def _format_time(run: LiveRun, now: float) -> str:
    summary = run.summary
    if summary.duration_s is not None:
        return short_duration(summary.duration_s)
    if run.is_live and summary.started_at:
        return short_duration(now - summary.started_at)
    return "-"


def _format_position(run: LiveRun) -> str:
    progress = run.progress
    if progress.position is None:
        return ""
    unit = "" if progress.unit == "step" else f"{progress.unit[:10]} "
    total = f"/{progress.total:.12g}" if progress.total else ""
    return f"{unit}{progress.position:.12g}{total}"


def _format_pace(run: LiveRun) -> str:
    pace_s, unit = run.progress.pace_s, run.progress.unit[:10]
    if not pace_s:
        return ""
    return f"{pace_s:.3g} s/{unit}" if pace_s >= 1 else f"{1 / pace_s:.3g} {unit}/s"


def _format_gpu_memory(run: LiveRun) -> str:
    used, total = run.load.gpu_bytes, run.load.gpu_total_bytes
    if used is None:
        return ""
    return f"{used / (1 << 30):.1f}/{total / (1 << 30):.0f} GiB" if total else _format_bytes(used)


def _format_age(run: LiveRun, now: float) -> str:
    if not run.is_live or run.last_output_at is None:
        return ""
    return short_duration(max(0.0, now - run.last_output_at))


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _format_percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}%"


def _format_span(value: float | None) -> str:
    return "" if value is None else short_duration(value)


def _format_bytes(value: float | None) -> str:
    return "" if value is None else size(int(value))
