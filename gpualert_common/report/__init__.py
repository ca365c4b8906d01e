"""A verdict and a record in words: for a terminal here, for a message in the modules beside.

===========  =====================================================================
alert        what a template is given, from a record
rendering    an alert as subject, text and page, within limits
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
    from gpualert_common.report.alert import Alert, Shown, alert_of
    from gpualert_common.report.check import check_templates
    from gpualert_common.report.rendering import Rendered, render

__all__ = [
    "Alert",
    "Rendered",
    "Shown",
    "alert_of",
    "body",
    "check_templates",
    "duration",
    "full",
    "render",
    "short",
]

_BESIDE = {
    "Alert": "alert",
    "Rendered": "rendering",
    "Shown": "alert",
    "alert_of": "alert",
    "check_templates": "check",
    "render": "rendering",
}

_PREFIX = "gpualert: "
_SHOWN_CLAIMS = 4


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


def short(verdict: dict[str, Any] | None, run_id: str, log_path: str, seconds: float) -> str:
    """What the program prints when a run has ended: a line for success, a few for a failure."""
    if verdict is None:
        lines = [
            f"ended after {duration(seconds)}; no verdict: the classifier failed or was too slow",
            f"log {log_path}; try again with: gpualert recover {run_id}",
        ]
    elif verdict["cause"] == "none" and verdict["disposition"] == "completed":
        lines = [f"{verdict['headline']} ({duration(seconds)}); log {log_path}"]
    else:
        lines = [
            f"{verdict['disposition']} after {duration(seconds)}: {verdict['headline']}",
            *body(verdict),
            f"log   {log_path}",
            f"more  gpualert show {run_id}",
        ]
    return "".join(f"{_PREFIX}{line}\n" for line in lines)


def body(verdict: dict[str, Any], claims: int = _SHOWN_CLAIMS) -> list[str]:
    """The three parts of a verdict and what to do, a line each."""
    lines = [
        f"cause {verdict['cause']} ({_weight(verdict)})",
    ]
    for claim in verdict["shows"][:claims]:
        lines.append(f"shows {claim['claim']}{_where(claim)}")
        if claim.get("excerpt"):
            lines.append(f"      > {claim['excerpt']}")
    if len(verdict["shows"]) > claims:
        lines.append(f"      and {len(verdict['shows']) - claims} more")
    if verdict["implies"]:
        lines.append(f"means {verdict['implies']}")
    lines += [f"open  {text}" for text in verdict["cannot_decide"]]
    lines += [f"do    {text}" for text in verdict["do"]]
    lines += [f"note  {warning['text']}" for warning in verdict["warnings"]]
    return lines


def full(verdict: dict[str, Any]) -> list[str]:
    """Everything a verdict says, for ``gpualert show`` and ``gpualert classify``."""
    lines = [f"{verdict['disposition']}: {verdict['headline']}", *body(verdict, claims=20)]
    lines += [f"also  {other['cause']}: {other['because']}" for other in verdict["secondary"]]
    lines += [
        f"not   {other.get('cause') or other.get('family')}: {other['because']}"
        for other in verdict["ruled_out"]
    ]
    lines += [
        f"blind {source['name']}: {source.get('why', 'not available')}"
        for source in verdict["sources"]
        if not source.get("available", True)
    ]
    return lines


def _weight(verdict: dict[str, Any]) -> str:
    parts = [f"confidence {verdict['confidence']:.2f}", f"attribution {verdict['attribution']}"]
    if verdict["family"]:
        parts.insert(0, f"family {verdict['family']}")
    parts.append(f"retry {verdict['retry']}")
    return ", ".join(parts)


def _where(claim: dict[str, Any]) -> str:
    where = claim.get("where")
    rank = claim.get("rank")
    text = "" if rank is None else f", rank {rank}"
    return f"  [{where['file']}:{where['line']}{text}]" if where else f"  [{claim['source']}{text}]"
