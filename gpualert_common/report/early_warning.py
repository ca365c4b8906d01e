"""A warning while a run is in progress, as subject and text."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import Any

from gpualert_common.codec import decode
from gpualert_common.errors import RecordError
from gpualert_common.model import Claim
from gpualert_common.report import template_environment as templating
from gpualert_common.report.formatting import MOST_SUBJECT, one_line, safe_lines
from gpualert_common.report.mentions import make_inert_in_chat
from gpualert_common.report.run_view import RunView
from gpualert_common.report.shortening import cut_text
from gpualert_common.report.stack_text import render_stacks
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.report.verdict_view import EvidenceItem, evidence_item, to_finite_number
from gpualert_common.stacks.dump import Dump
from gpualert_common.structs import Struct

_TEMPLATE = "warning.txt.j2"
_LOG_LINES = (20, 10, 5, 0)
_BRIEF_LOG_LINES = (5, 0)
_WITH_STACKS = frozenset(("hung", "log_silent", "gpu_idle", "rendezvous_wait"))
"""Kinds of warnings for which the stacks are taken."""
_STACK_LINES = 40
_LEAST_JOB = 12
_MOST_HOST = 24


class WarningView(Struct, frozen=True):
    """One warning; its texts are redacted, on one line each.

    ``says`` is the problem.  ``since``, and ``at``, the time of detection, are in seconds since
    the epoch.  ``stacks`` are lines that show where its processes stand.
    """

    says: str
    since: float
    at: float
    shows: tuple[EvidenceItem, ...]
    do: tuple[str, ...]
    stacks: tuple[str, ...] = ()


def view_warning(
    event: Mapping[str, Any], text: TextSanitizer, dumps: Sequence[Dump] = ()
) -> WarningView:
    """Return the warning of an event of the record; of a damaged one the readable part.

    ``dumps`` are those of the record, of which the last since the begin of the problem is shown.
    """
    at = to_finite_number(event.get("at")) or 0.0
    return WarningView(
        says=text.line(event.get("says")) or "unknown problem",
        since=to_finite_number(event.get("since")) or at,
        at=at,
        shows=tuple(evidence_item(claim, text) for claim in _claims(event)),
        do=text.paragraphs(_advice(event)),
        stacks=_stacks(event, text, dumps),
    )


def _stacks(
    event: Mapping[str, Any], text: TextSanitizer, dumps: Sequence[Dump]
) -> tuple[str, ...]:
    since = to_finite_number(event.get("since")) or 0.0
    taken = [dump for dump in dumps if dump.at >= since]
    if event.get("kind") not in _WITH_STACKS or not taken:
        return ()
    lines = render_stacks(taken[-1], text)
    return tuple(lines[:_STACK_LINES])


def _claims(event: Mapping[str, Any]) -> tuple[Claim, ...]:
    try:
        return decode(tuple[Claim, ...], event.get("shows", ()), "warning_raised")
    except RecordError:
        return ()


def _advice(event: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return decode(tuple[str, ...], event.get("do", ()), "warning_raised")
    except RecordError:
        return ()


def render_warning(
    view: RunView, warning: WarningView, *, text_bytes: int, brief: bool = False
) -> tuple[str, str]:
    """Return the subject, one line, and the text in at most ``text_bytes`` of UTF-8.

    Too long a text has fewer lines of the log, and is cut where even that does not suffice.
    """
    environment, subject = templating.built_in(), _subject(view, warning)
    if brief:
        environment, subject = templating.for_chat(environment), make_inert_in_chat(subject)
    template = environment.get_template(_TEMPLATE)
    text = ""
    for lines in _BRIEF_LOG_LINES if brief else _LOG_LINES:
        tail = view.log_tail[-lines:] if lines else ()
        known = {"alert": view, "warning": warning, "log_tail": tail, "brief": brief}
        text = safe_lines(template.render(known))
        if len(text.encode("utf-8", "replace")) <= text_bytes:
            break
    return subject, cut_text(text, text_bytes, view.next_command)


def _subject(view: RunView, warning: WarningView) -> str:
    """Return the subject; the job's name gets the room that the warning leaves."""
    try:
        since = clock.strftime("%H:%M UTC", clock.gmtime(warning.since))
    except (OverflowError, ValueError, OSError):
        since = "an unknown time"
    rest = f" on {one_line(view.host, _MOST_HOST)}: {warning.says} since {since}"
    prefix = "[gpualert] "
    room = MOST_SUBJECT - len(prefix) - len(rest)
    return one_line(prefix + one_line(view.job, max(_LEAST_JOB, room)) + rest, MOST_SUBJECT)
