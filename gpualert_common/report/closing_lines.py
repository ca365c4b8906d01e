"""The few lines that the program prints at the end of a run."""

from __future__ import annotations

from gpualert_common.model import Verdict
from gpualert_common.printable_text import format_messages
from gpualert_common.report.formatting import duration
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.verdict_view import EXIT_STATUS, view_verdict
from gpualert_common.report.wording import describe_missing_verdict

_MOST_CLAIMS = 2
_MOST_ADVICE = 3


def write_closing_lines(
    verdict: Verdict | None, run_id: str, log_path: str, seconds: float, *, is_late: bool = False
) -> str:
    """Return one line for a success, a few lines for a failure or a late verdict."""
    if is_late:
        lines = [
            f"ended after {duration(seconds)}; {describe_missing_verdict(is_pending=True)}",
            f"log {log_path}; see the verdict later with: gpualert show {run_id}",
        ]
    elif verdict is None:
        lines = [
            f"ended after {duration(seconds)}; no verdict: the classifier failed",
            f"log {log_path}; try again with: gpualert recover {run_id}",
        ]
    elif verdict.is_healthy:
        lines = [f"{verdict.headline} ({duration(seconds)}); log {log_path}"]
    else:
        lines = [*_failure(verdict, seconds), f"log   {log_path}", f"more  gpualert show {run_id}"]
    return format_messages(*lines)


def _failure(verdict: Verdict, seconds: float) -> list[str]:
    view = view_verdict(verdict, TextSanitizer(NoMasks()))
    sections = dict(view.sections())
    shown = [one for one in view.shows if one.where != EXIT_STATUS]
    return [
        view.headline,
        view.summarize(seconds),
        *(f"shows {one.claim} [{one.where}]" for one in shown[:_MOST_CLAIMS]),
        *(f"do    {text}" for text in view.do[:_MOST_ADVICE]),
        *(f"note  {text}" for text in sections["Warnings"][:_MOST_ADVICE]),
    ]
