"""The evidence of a verdict as a table for Prefect's UI, and links to log and record.

The UI renders descriptions and cells as Markdown, so text from a log is escaped.  A browser does
not follow a ``file:`` link from a page of another origin; the text of the link is the path, so that
it can be copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from gpualert_common.model import Claim, Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import code, plain
from gpualert_common.report.text_sanitizer import Masks
from gpualert_common.whole_words import cut_words

MOST_ROWS = 200
MOST_CELL = 500
_MOST_READ = 1 << 16

Row = dict[str, str | int | None]


def links(paths: Iterable[str]) -> str:
    """Return links to files of this machine, one a line; the text of each is its path."""
    return "\n\n".join(f"[{plain(path)}]({_uri(path)})" for path in paths)


def _uri(path: str) -> str:
    return PurePath(path).as_uri().replace("(", "%28").replace(")", "%29")


def rows(verdict: Verdict | None, masks: Masks) -> list[Row]:
    """Return the evidence of a verdict, a row per claim, redacted and not yet escaped."""
    return [_row(claim, masks) for claim in verdict.shows[:MOST_ROWS]] if verdict else []


def table(rows: list[Row]) -> list[Row]:
    """Return the rows with their texts escaped for the UI."""
    return [
        {
            name: (code if name == "excerpt" else plain)(cell) if isinstance(cell, str) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


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
