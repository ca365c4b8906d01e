"""A run's end as people see it in Prefect's UI beside its page: a table of evidence, links.

The UI takes descriptions and cells for Markdown, so what comes from a log is escaped.  It shows a
``file:`` link, which a browser does not follow from a page of another origin: the text of the link
is the path, to be copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from gpualert_common.report import Masks
from gpualert_common.report.markdown import code, plain
from gpualert_common.report.words import one_line

MOST_ROWS = 200
MOST_CELL = 500
_MOST_READ = 1 << 16

Row = dict[str, str | int | None]


def links(paths: Iterable[str]) -> str:
    """Links to files of this machine that show their paths, a line each."""
    return "\n\n".join(f"[{plain(path)}]({_uri(path)})" for path in paths)


def _uri(path: str) -> str:
    return PurePath(path).as_uri().replace("(", "%28").replace(")", "%29")


def rows(verdict: Mapping[str, Any], masks: Masks) -> list[Row]:
    """The evidence of a verdict, a row per claim, as it is: redacted, and not yet escaped."""
    shows = verdict.get("shows")
    claims = shows[:MOST_ROWS] if isinstance(shows, list) else []
    return [_row(claim, masks) for claim in claims if isinstance(claim, dict)]


def table(rows: list[Row]) -> list[Row]:
    """Those rows as the UI shows them."""
    return [
        {
            name: (code if name == "excerpt" else plain)(cell) if isinstance(cell, str) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


def _row(claim: dict[str, Any], masks: Masks) -> Row:
    def say(value: object) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        return one_line(masks.text(value[:_MOST_READ]), MOST_CELL)

    where = claim.get("where")
    place = where if isinstance(where, dict) else {}
    line, rank = place.get("line"), claim.get("rank")
    return {
        "claim": say(claim.get("claim")),
        "source": say(claim.get("source")),
        "file": say(place.get("file")),
        "line": line if isinstance(line, int) else None,
        "rank": rank if isinstance(rank, int) else None,
        "excerpt": say(claim.get("excerpt")),
    }
