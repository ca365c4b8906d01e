"""The page of a job for a terminal, and as Markdown: its verdict, and the table of its nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpualert_common.jobs.job_view import JobView
from gpualert_common.report import markdown
from gpualert_common.report.alerted_job import JobRow
from gpualert_common.report.tables import Column, format_table
from gpualert_common.report.terminal import TITLE, TONES, TerminalLayout, render_page

_TITLES = ("NODE", "RANKS", "STATE", "PART", "CAUSE", "SINCE ROOT", "LAST STEP")
_MOST_MARKDOWN_ROWS = 40


def format_job(view: JobView, layout: TerminalLayout, width: int) -> list[str]:
    """Return the lines of the page; the table is at most *width* columns wide."""
    lasted_s = find_duration(view)
    lines = render_page(view, layout, lasted_s=lasted_s, facts=view.facts)
    return [*lines, "", *format_nodes(view.rows, width, colours=layout.colours)]


def format_nodes(rows: Sequence[JobRow], width: int, *, colours: bool = False) -> list[str]:
    """Return the table of the nodes, the culprit first."""
    tones = [TONES[_choose_tone(row)] if colours else "" for row in rows]
    columns = [
        Column("NODE", [_name(row) for row in rows], rank=0, least=28),
        Column("RANKS", [row.ranks or "-" for row in rows], rank=4),
        Column("STATE", [row.state for row in rows], rank=2),
        Column("PART", [row.part for row in rows], rank=0, colours=tones),
        Column("CAUSE", [row.cause or "-" for row in rows], rank=1),
        Column("SINCE ROOT", [row.since_root or "-" for row in rows], rank=3, is_right=True),
        Column("LAST STEP", [row.last_step or "-" for row in rows], rank=5, is_right=True),
    ]
    if all(not row.ranks for row in rows):
        del columns[1]
    return format_table(columns, width, title_colour=TITLE if colours else "")


def format_markdown(view: JobView) -> str:
    """Return the page as Markdown, with a table of the nodes."""
    page = markdown.render_page(
        view, lasted_s=find_duration(view), facts=view.facts, more=view.next_command
    )
    lines = ["", "### Nodes", "", _markdown_row(_TITLES), _markdown_row(["---"] * len(_TITLES))]
    lines += [
        _markdown_row(
            [
                markdown.plain(cell) or "-"
                for cell in (
                    *(_name(row), row.ranks, row.state, row.part, row.cause),
                    *(row.since_root, row.last_step),
                )
            ]
        )
        for row in view.rows[:_MOST_MARKDOWN_ROWS]
    ]
    return page.rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def find_duration(view: JobView) -> float:
    """Return the time that a job lasted, or has lasted until now."""
    if view.duration_s is not None:
        return view.duration_s
    return max(0.0, time.time() - view.started_at)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(row: JobRow) -> str:
    return row.nodes if row.count == 1 else f"{row.count} nodes: {row.nodes}"


def _choose_tone(row: JobRow) -> str:
    if row.is_culprit or row.part == "same cause":
        return "bad"
    return "good" if row.part == "healthy" else "odd"
