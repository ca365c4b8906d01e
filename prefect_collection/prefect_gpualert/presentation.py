"""The content of a training's artifacts in Prefect, and the evidence in its events.

Prefect shows pages, descriptions and the cells of tables as Markdown, so everything that comes from
a log or a path is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpualert_common.model import Claim, Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import code, plain
from gpualert_common.report.text_sanitizer import Masks
from gpualert_common.whole_words import cut_words

if TYPE_CHECKING:
    from prefect_gpualert.timeline_picture import TimelinePicture

MOST_ROWS = 200
MOST_CELL = 500
_MOST_READ = 1 << 16
_MOST_LINES = 60
"""Lines of a timeline in its table."""
_MOST_NOTES = 10
_BAR = 25

Row = dict[str, str | int | None]


def progress_page(percent: float, counts: str, logs: Iterable[str]) -> str:
    """Return the page of a training in progress, as Markdown."""
    done = round(percent / 100 * _BAR)
    bar = "█" * done + "░" * (_BAR - done)
    paths = "".join(f"- Log: {code(path)}\n" for path in logs)
    return f"## {percent:.0f} % done\n\n{code(bar)} {plain(counts)}\n\n### Run\n\n{paths}"


def timeline_page(timeline: TimelinePicture) -> str:
    """Return a timeline, as a picture and in numbers, as Markdown."""
    parts = [plain(one_line(note, MOST_CELL)) for note in timeline.notes[:_MOST_NOTES]]
    if timeline.png:
        data = base64.b64encode(timeline.png).decode()
        parts.insert(0, f"![Timeline of the training](data:image/png;base64,{data})")
    lines = ["| Panel | Line | First | Least | Most | Last |", "|---|---|--:|--:|--:|--:|"]
    panel = ""
    for row in timeline.rows[:_MOST_LINES]:
        title = "" if row.panel == panel else f"{row.panel} ({row.unit})" if row.unit else row.panel
        panel = row.panel
        cells = (title, row.line, row.first, row.least, row.most, row.last)
        lines.append(f"| {' | '.join(map(plain, cells))} |")
    parts += ["### In numbers", "\n".join(lines)]
    left_out = len(timeline.rows) - _MOST_LINES
    if left_out > 0:
        parts.append(f"The other {left_out} lines are left out.")
    return "\n\n".join(parts) + "\n"


def link_page(url: str, run_id: str) -> str:
    """Return the link to the report of a run, as Markdown."""
    return f"[Open the report](<{url}>)\n\nRun: {code(run_id)}\n"


def tabulate_evidence(rows: Iterable[Row]) -> list[dict[str, str | int]]:
    """Return the evidence as the table of an artifact: claim, rank, place and excerpt.

    The longest comes last: a page of Prefect's breaks no line in a cell.
    """
    table = [_escape_row(row) for row in rows]
    if all(row["rank"] == "" for row in table):
        for row in table:
            del row["rank"]  # the run had one process
    return table


def _escape_row(row: Row) -> dict[str, str | int]:
    file, source = row["file"], row["source"]
    place = str(file if row["line"] is None else f"{file}:{row['line']}")
    rank = row["rank"]
    return {
        "claim": plain(str(row["claim"] or "")),
        "rank": "" if rank is None else rank,
        "place": code(place) if file else plain(str(source or "").replace("_", " ")),
        "excerpt": code(str(row["excerpt"] or "")),
    }


def rows(verdict: Verdict | None, masks: Masks) -> list[Row]:
    """Return the evidence of a verdict, a row per claim, redacted."""
    return [_row(claim, masks) for claim in verdict.shows[:MOST_ROWS]] if verdict else []


def _row(claim: Claim, masks: Masks) -> Row:
    def cell(text: str | None) -> str | None:
        return one_line(masks.mask_text(cut_words(text, _MOST_READ)), MOST_CELL) if text else None

    return {
        "claim": cell(claim.claim),
        "source": cell(claim.source),
        "file": cell(claim.where.file) if claim.where else None,
        "line": claim.where.line if claim.where else None,
        "rank": claim.rank,
        "excerpt": cell(claim.excerpt),
    }
