"""List the runs on this machine."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_state_dir
from gpualert_common.cli.records import format_time, open_records, summarize
from gpualert_common.errors import GPUAlertError
from gpualert_common.history import History, PastRun, rebuild
from gpualert_common.report.formatting import one_line
from gpualert_common.report.text_sanitizer import LINE
from gpualert_common.spec import SCHEMA

_HEADER = ("RUN", "STARTED", "STATE", "EXIT", "CAUSE", "GPU-H", "WASTED", "NAME")
_RIGHT = ("EXIT", "GPU-H", "WASTED")
_WIDE_FROM = 120
"""Width of the whole table; a narrower table has no times, which the ids begin with."""
_PIPED = 160
"""Default width without a terminal."""
_SHORT_ID = len("20261120-101010")
_LEAST_NAME = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the state directory and the form of the output."""
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """List the runs, oldest first."""
    rows = []
    for record in open_records(options):
        try:
            record.check_values()
            rows.append(summarize(record))
        except (GPUAlertError, OSError) as error:
            row = {"run_id": record.run_id, "state": "damaged", "error": str(error)}
            rows.append({**row, "path": record.path})
    for problem in _add_costs(rows):
        printing.print_notes(f"gpualert: GPU-hours: {_one_line(problem)}")
    if options.json:
        printing.print_json({"schema": SCHEMA, "runs": rows, "total": _total(rows)})
        return 0
    if not rows:
        printing.print_notes("no runs yet")
        return 0
    printing.print_lines(*_table(rows, printing.terminal_columns(_PIPED)))
    return 0


def _add_costs(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Put ``gpu_hours`` and ``wasted_gpu_hours`` into each row, None if they are not known.

    They are from the history of the place of each row, which is rebuilt from the records if it was
    lost.  Returns the problems.
    """
    known: dict[str, PastRun] = {}
    problems = []
    for place in dict.fromkeys(os.path.dirname(os.path.dirname(row["path"])) for row in rows):
        history = History.open(place)
        was_there = history.exists
        found = history.read_all()
        problem = history.problem
        if not was_there or history.is_new:
            filled = rebuild(place)
            problem = problem or filled.problem
            found = history.read_all()
        known.update(found)
        problems += [problem] if problem else []
    for row in rows:
        run = known.get(row["run_id"])
        row["gpu_hours"] = _hours(run.gpu_seconds) if run else None
        row["wasted_gpu_hours"] = _hours(run.wasted_gpu_seconds) if run else None
    return problems


def _total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the number of runs, and the sums of their known values; None without known values."""
    found: dict[str, Any] = {"runs": len(rows)}
    for name in ("gpu_hours", "wasted_gpu_hours"):
        values = [row[name] for row in rows if row[name] is not None]
        found[name] = sum(values) if values else None
    return found


def _table(rows: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Return the lines of a table of this width: a header, the runs, and their sum."""
    wide = width >= _WIDE_FROM
    ids = [row["run_id"] for row in rows]
    shown = ids if wide else _shorten_ids(ids)
    lines = [_HEADER, *(_cells(row, run_id) for row, run_id in zip(rows, shown, strict=True))]
    if not wide:
        lines = [(line[0], *line[2:]) for line in lines]
    gap = "  " if wide else " "
    return [*_align(lines, gap, width), _total_line(rows)]


def _cells(row: Mapping[str, Any], run_id: str) -> tuple[str, ...]:
    error = row.get("error")
    if error is None and not (row["name"] or row["command"]):
        error = "its launch record has neither a name nor a command"
    if error is not None:
        return (run_id, "-", "damaged", "-", "", "-", "-", _one_line(error))
    return (
        run_id,
        format_time(row["started_at"]),
        row["state"],
        "-" if row["exit_code"] is None else str(row["exit_code"]),
        "(pending)" if row["verdict_pending"] else _one_line(row["cause"] or ""),
        _format_hours(row["gpu_hours"]),
        _format_hours(row["wasted_gpu_hours"]),
        _one_line(row["name"] or shlex.join(row["command"])),
    )


def _one_line(text: str) -> str:
    return one_line(text, LINE)


def _shorten_ids(ids: Sequence[str]) -> list[str]:
    """Return the shortest unique start of each id, which every command accepts."""
    size = _SHORT_ID
    while size < max(map(len, ids), default=0) and len({one[:size] for one in ids}) < len(ids):
        size += 1
    return [one[:size] for one in ids]


def _align(lines: Sequence[Sequence[str]], gap: str, width: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths[-1] = max(_LEAST_NAME, width - sum(widths[:-1]) - len(gap) * (len(widths) - 1))
    names = lines[0]
    return [
        gap.join(
            cell[:size].rjust(size) if name in _RIGHT else cell[:size].ljust(size)
            for name, cell, size in zip(names, line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def _total_line(rows: Sequence[Mapping[str, Any]]) -> str:
    of_all = _total(rows)
    unknown = sum(row["gpu_hours"] is None for row in rows)
    runs = "1 run" if len(rows) == 1 else f"{len(rows)} runs"
    if unknown == len(rows):
        return f"{runs}, GPU-hours not known"
    line = (
        f"{runs}, {_format_hours(of_all['gpu_hours'])} GPU-hours, "
        f"{_format_hours(of_all['wasted_gpu_hours'])} of them wasted"
    )
    return f"{line}; not known of {unknown}" if unknown else line


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _format_hours(hours: float | None) -> str:
    if hours is None:
        return "-"
    return f"{hours:.2f}" if hours < 9.995 else f"{hours:.1f}"
