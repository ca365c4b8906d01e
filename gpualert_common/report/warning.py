"""A warning while a run goes on, as subject and text."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpualert_common.codec import decode
from gpualert_common.errors import RecordError
from gpualert_common.model import Claim
from gpualert_common.report import environment as env
from gpualert_common.report.alert import Alert
from gpualert_common.report.fit import cut
from gpualert_common.report.told import Say, Shown, number, shown, texts
from gpualert_common.report.words import MOST_SUBJECT, one_line, safe_lines

_TEMPLATE = "warning.txt.j2"
_LOG_LINES = (20, 10, 5, 0)
_BRIEF_LOG_LINES = (5, 0)
_LEAST_JOB = 12
_MOST_HOST = 24


@dataclass(frozen=True, slots=True)
class EarlyWarning:
    """What people are warned of; its texts are redacted, on one line each.

    ``since`` and ``at``, when it was noticed, are in seconds since the epoch.
    """

    says: str
    since: float
    at: float
    shows: tuple[Shown, ...]
    do: tuple[str, ...]


def warning_of(event: Mapping[str, Any], say: Say) -> EarlyWarning:
    """The warning that an event of the record tells; of a damaged one what can be read."""
    at = number(event.get("at")) or 0.0
    return EarlyWarning(
        says=say(event.get("says")) or "something is wrong",
        since=number(event.get("since")) or at,
        at=at,
        shows=tuple(shown(claim, say) for claim in _claims(event)),
        do=texts(_advice(event), say),
    )


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
    alert: Alert, warning: EarlyWarning, *, text_bytes: int, brief: bool = False
) -> tuple[str, str]:
    """Subject, in one line, and text in at most ``text_bytes`` of UTF-8.

    ``alert`` says whose run it is.  Too long a text has fewer of the log's lines, and at last
    is cut.
    """
    template = env.built_in().get_template(_TEMPLATE)
    text = ""
    for lines in _BRIEF_LOG_LINES if brief else _LOG_LINES:
        tail = alert.log_tail[-lines:] if lines else ()
        known = {"alert": alert, "warning": warning, "log_tail": tail, "brief": brief}
        text = safe_lines(template.render(known))
        if len(text.encode("utf-8", "replace")) <= text_bytes:
            break
    return _subject(alert, warning), cut(text, text_bytes, alert.next_command)


def _subject(alert: Alert, warning: EarlyWarning) -> str:
    """The job's name gets the room that what is wrong with it leaves."""
    try:
        since = clock.strftime("%H:%M UTC", clock.gmtime(warning.since))
    except (OverflowError, ValueError, OSError):
        since = "an unknown time"
    rest = f" on {one_line(alert.host, _MOST_HOST)}: {warning.says} since {since}"
    prefix = "[gpualert] "
    room = MOST_SUBJECT - len(prefix) - len(rest)
    return one_line(prefix + one_line(alert.job, max(_LEAST_JOB, room)) + rest, MOST_SUBJECT)
