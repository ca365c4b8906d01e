"""A run's end as people see it in Prefect's UI beside its page: a table of evidence, links.

The UI takes descriptions and cells for Markdown, so what comes from a log is escaped.  It shows a
``file:`` link, which a browser does not follow from a page of another origin: the text of the link
is the path, to be copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from gpualert_common.model import Claim, Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import code, plain
from gpualert_common.report.text_sanitizer import Masks

MOST_ROWS = 200
MOST_CELL = 500
_MOST_READ = 1 << 16

Row = dict[str, str | int | None]


def links(paths: Iterable[str]) -> str:
    """Links to files of this machine that show their paths, a line each."""
    return "\n\n".join(f"[{plain(path)}]({_uri(path)})" for path in paths)


def _uri(path: str) -> str:
    return PurePath(path).as_uri().replace("(", "%28").replace(")", "%29")


def rows(verdict: Verdict | None, masks: Masks) -> list[Row]:
    """The evidence of a verdict, a row per claim, as it is: redacted, and not yet escaped."""
    return [_row(claim, masks) for claim in verdict.shows[:MOST_ROWS]] if verdict else []


def table(rows: list[Row]) -> list[Row]:
    """Those rows as the UI shows them."""
    return [
        {
            name: (code if name == "excerpt" else plain)(cell) if isinstance(cell, str) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


def _row(claim: Claim, masks: Masks) -> Row:
    def cell(text: str | None) -> str | None:
        return one_line(masks.mask_text(text[:_MOST_READ]), MOST_CELL) if text else None

    return {
        "claim": cell(claim.claim),
        "source": cell(claim.source),
        "file": cell(claim.where.file) if claim.where else None,
        "line": claim.where.line if claim.where else None,
        "rank": claim.rank,
        "excerpt": cell(claim.excerpt),
    }
