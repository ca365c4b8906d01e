"""Moments, as a person gives them: a duration before now, a date, a time, a day's name."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from gpualert_common.settings import parse_duration

MOMENT_FORMS = (
    "a duration before now (7d, 12h), a date (2026-11-20), a time (2026-11-20T18:30), today or "
    "yesterday"
)
"""The forms, for people."""


def parse_moment(text: str) -> float:
    """Return the moment in seconds since the epoch; a date is its begin in local time.

    Raises ValueError with the forms.
    """
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": 0, "yesterday": 1}.get(text.strip().lower())
    if days is not None:
        return (midnight.replace(tzinfo=None) - timedelta(days=days)).timestamp()
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        # A number alone is no moment: one person means days by it, another one seconds.
        ago_s = None if text.strip()[-1:].isdigit() else parse_duration(text)
    except ValueError:
        ago_s = None
    if ago_s is None:
        raise ValueError(f"{text!r} is not {MOMENT_FORMS}")
    return time.time() - ago_s
