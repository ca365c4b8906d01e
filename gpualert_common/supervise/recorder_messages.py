"""Messages from the supervisor to the recorder."""

from __future__ import annotations

import time

from gpualert_common.spec import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.end_record import Survivor
    from gpualert_common.spec import Ending


def event_message(event: str, **fields: Any) -> dict[str, Any]:
    """Return the message that has the recorder append an event."""
    return {"kind": "event", "event": event, "at": time.time(), "fields": fields}


def stacks_message(reason: str) -> dict[str, Any]:
    """Return the message that has the recorder take the stacks, and report that it has."""
    return {"kind": "stacks", "reason": reason}


def end_message(ending: Ending, survivors: list[Survivor]) -> dict[str, Any]:
    """Return the message that has the recorder finish the record."""
    return {"kind": "ended", "ending": ending.to_json(), "survivors": survivors, "schema": SCHEMA}
