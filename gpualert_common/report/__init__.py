"""Verdicts and records for people: one view, and renderers for the terminal, Markdown and messages.

===========  =====================================================================
told         the parts of a verdict, safe to show
terminal     these for a terminal
markdown     these for pages of engines and for chats
facts        where and when a run was
alert        what a template is given, from a record
rendering    an alert as subject, text and page, within limits
warning      a warning while a run goes on, as subject and text
fit          what is left out of one that is too long
phrases      the closed words of an alert as sentences say them
words        times, sizes and lines as people read them: the filters
environment  where templates come from, and the sandbox around a user's own
limits       what a user's template may take of time and memory
check        whether a user's templates are any good
sample       alerts to try them on
===========  =====================================================================

What is beside is imported only when it is asked for: the program says its few lines at the end of
a run without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.report.alert import Alert, alert_of
    from gpualert_common.report.check import check_templates
    from gpualert_common.report.facts import Fact, facts_of
    from gpualert_common.report.rendering import Rendered, render
    from gpualert_common.report.told import Masks, Shown, Told, Unmasked, speaker, told_of
    from gpualert_common.report.warning import render_warning, warning_of

__all__ = [
    "Alert",
    "Fact",
    "Masks",
    "Rendered",
    "Shown",
    "Told",
    "Unmasked",
    "alert_of",
    "check_templates",
    "duration",
    "facts_of",
    "render",
    "render_warning",
    "short",
    "speaker",
    "told_of",
    "warning_of",
]

_BESIDE = {
    "Alert": "alert",
    "Fact": "facts",
    "Masks": "told",
    "Rendered": "rendering",
    "Shown": "told",
    "Told": "told",
    "Unmasked": "told",
    "alert_of": "alert",
    "check_templates": "check",
    "facts_of": "facts",
    "render": "rendering",
    "render_warning": "warning",
    "speaker": "told",
    "told_of": "told",
    "warning_of": "warning",
}

_PREFIX = "gpualert: "
_SHOWN_CLAIMS = 2
_SHOWN_ADVICE = 3


def __getattr__(name: str) -> Any:
    if name not in _BESIDE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_BESIDE[name]}"), name)


def duration(seconds: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def short(verdict: Verdict | None, run_id: str, log_path: str, seconds: float) -> str:
    """What the program prints when a run has ended: a line for success, a few for a failure."""
    if verdict is None:
        lines = [
            f"ended after {duration(seconds)}; no verdict: the classifier failed or was too slow",
            f"log {log_path}; try again with: gpualert recover {run_id}",
        ]
    elif verdict.is_healthy:
        lines = [f"{verdict.headline} ({duration(seconds)}); log {log_path}"]
    else:
        lines = [*_told(verdict, seconds), f"log   {log_path}", f"more  gpualert show {run_id}"]
    return "".join(f"{_PREFIX}{line}\n" for line in lines)


def _told(verdict: Verdict, seconds: float) -> list[str]:
    """What to know at once, a line each: the rest is told by ``gpualert show``."""
    from gpualert_common.report.told import STATUS, Unmasked, speaker, told_of

    told = told_of(verdict, speaker(Unmasked()))
    lines = [told.headline, told.summary(seconds)]
    seen = [one for one in told.shows if one.where != STATUS]
    lines += [f"shows {one.claim} [{one.where}]" for one in seen[:_SHOWN_CLAIMS]]
    lines += [f"do    {text}" for text in told.do[:_SHOWN_ADVICE]]
    return lines + [f"note  {text}" for text in told.warnings[:_SHOWN_ADVICE]]
