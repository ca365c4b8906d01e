"""Text of an error for a failed training, bounded for the databases and pages of engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualert_common.report.wording import describe_missing_verdict
from gpualert_common.whole_words import cut_words

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.redact import Redactor

MOST_HEADLINE = 300
MOST_LINES = 20
MOST_END = 2000
"""Characters of the end of the log: a traceback of ten frames."""


def describe_failure(result: RunResult, redactor: Redactor, status: str) -> str:
    """Return the text of an error, masked: its first line has cause, headline and *status*.

    The last lines of the log follow as a terminal shows them, so that a progress bar is one line;
    at most MOST_LINES with MOST_END characters together.  The last line has the path of the log.
    """
    from gpualert_common.artifacts import read_last_lines  # not needed by a training that succeeds

    verdict = result.verdict
    if verdict is None:
        cause = "unknown"
        headline = describe_missing_verdict(is_pending=result.record.is_verdict_pending)
    else:
        cause = verdict.cause
        headline = " ".join(redactor.mask_text(verdict.headline).split())
    end = read_last_lines(result.record, redactor, MOST_LINES)
    first = f"{cause}: {cut_words(headline, MOST_HEADLINE)} ({status})"
    return "\n".join((first, *_cut_to_end(end), f"log: {result.log_path}"))


def _cut_to_end(lines: tuple[str, ...]) -> list[str]:
    """Return the last lines that have MOST_END characters together."""
    kept: list[str] = []
    room = MOST_END
    for line in reversed(lines):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
