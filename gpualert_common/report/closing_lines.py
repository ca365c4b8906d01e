"""The few lines that the program prints at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.model import Verdict
from gpualert_common.report.formatting import duration
from gpualert_common.report.notes import Note, render_notes
from gpualert_common.report.terminal import TONES, TerminalLayout
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.verdict_view import EXIT_STATUS, view_verdict
from gpualert_common.report.wording import describe_missing_verdict

_MOST_CLAIMS = 2
_MOST_ADVICE = 3


def write_closing_lines(
    verdict: Verdict | None,
    run_id: str,
    log_paths: Sequence[str],
    seconds: float,
    layout: TerminalLayout | None = None,
    *,
    is_late: bool = False,
) -> str:
    """Return one message for a success, a few for a failure or a late verdict.

    With a layout they are wrapped and coloured for a terminal.
    """
    logs = f"{'logs' if len(log_paths) > 1 else 'log'} {' and '.join(log_paths)}"
    if is_late:
        notes = [
            Note(f"ended after {duration(seconds)}; {describe_missing_verdict(is_pending=True)}"),
            Note(f"{logs}; see the verdict later with: gpualert show {run_id}"),
        ]
    elif verdict is None:
        notes = [
            Note(f"ended after {duration(seconds)}; no verdict: the classifier failed"),
            Note(f"{logs}; try again with: gpualert recover {run_id}"),
        ]
    elif verdict.is_healthy:
        text = f"{verdict.headline} ({duration(seconds)})"
        if layout is None:
            notes = [Note(f"{text}; {logs}")]
        else:
            notes = [
                Note(text, colour=TONES["good"]),
                *(Note(path, "log") for path in log_paths),
            ]
    else:
        notes = [
            *_failure(verdict, seconds),
            *(Note(path, "log") for path in log_paths),
            Note(f"gpualert show {run_id}", "more"),
        ]
    return render_notes(notes, layout)


def _failure(verdict: Verdict, seconds: float) -> list[Note]:
    view = view_verdict(verdict, TextSanitizer(NoMasks()))
    sections = dict(view.sections())
    shown = [one for one in view.shows if one.where != EXIT_STATUS]
    return [
        Note(view.headline, colour=TONES[view.tone]),
        Note(view.summarize(seconds)),
        *(Note(f"{one.claim} [{one.where}]", "shows") for one in shown[:_MOST_CLAIMS]),
        *(Note(text, "do") for text in view.do[:_MOST_ADVICE]),
        *(Note(str(text), "note") for text in sections["Warnings"][:_MOST_ADVICE]),
    ]
