"""The state of an alert, as every interface prints it."""

from __future__ import annotations

import time

from gpualert_common.notify.entry import EntryFields, EntryState
from gpualert_common.report.formatting import one_line
from gpualert_common.spec import EARLY, ENDED

UNDELIVERED = (EntryState.PENDING, EntryState.FAILED)
"""States that need the attention of a person."""

_MOST = 1000


def format_status(fields: EntryFields) -> str:
    """Return the state of the alert with these fields, on one line, safe to print."""
    last = fields.get("last") or {}
    text = f"to {fields['channel']['name']} {fields['state']}"
    if fields.get("event", ENDED) != ENDED:
        text = f"warning of {str(fields['event']).removeprefix(EARLY).replace('_', ' ')} {text}"
    if fields["state"] == EntryState.SENT:
        text += f": {last.get('accepted', '')}"
    elif fields["state"] == EntryState.HELD and not fields.get("due") and "because" in fields:
        text += f": {fields['because']}"
    elif fields["state"] == EntryState.HELD:
        until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(fields.get("due") or 0.0))
        text += f" until {until}: another attempt may follow"
    elif "problem" in last:
        text += f" after {_times(fields.get('attempts', 0))}: {last['problem']}"
    elif "because" in fields:
        text += f": {fields['because']}"
    return one_line(text, _MOST)


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
