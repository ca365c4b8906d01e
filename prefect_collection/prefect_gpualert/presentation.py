"""The evidence of a verdict for Prefect's events, and the page of a training in progress."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.model import Claim, Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import code, plain
from gpualert_common.report.text_sanitizer import Masks
from gpualert_common.whole_words import cut_words

MOST_ROWS = 200
MOST_CELL = 500
_MOST_READ = 1 << 16
_BAR = 25

Row = dict[str, str | int | None]


def progress_page(percent: float, counts: str, logs: Iterable[str]) -> str:
    """Return the page of a training in progress, as Markdown."""
    done = round(percent / 100 * _BAR)
    bar = "█" * done + "░" * (_BAR - done)
    paths = "".join(f"- Log: {code(path)}\n" for path in logs)
    return f"## {percent:.0f} % done\n\n{code(bar)} {plain(counts)}\n\n### Run\n\n{paths}"


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
