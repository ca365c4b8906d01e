"""Events of a run, one JSON object per line of ``events.jsonl``."""

from __future__ import annotations

import json

from gpualert_common.quantities import is_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ALERT_SENT = "alert"
"""Event: the result of one attempt to send an alert."""
LOG_CUT = "log_cut"
"""Event: the process that copies the output to the log died, so that the log ends there."""
WARNING_RAISED = "warning_raised"
"""Event: an early warning of a run in progress."""
STACKS_WANTED = "stacks_wanted"
"""Event by which the classifier asks the recorder for a dump of the stacks; it is not stored."""
STACKS_TAKEN = "stacks_taken"
"""Event: a dump of the stacks is in the record, or, with a ``problem``, is not."""
CAPTURE_WANTED = "capture_wanted"
"""Event by which the classifier asks the recorder for a profile or a trace; it is not stored."""
CAPTURE_TAKEN = "capture_taken"
"""Event: a profile or a trace that the run took of itself, or, with a ``problem``, could not."""

NO_LONGER_WATCHED = "no_longer_watched"
"""Event: a process that gpualert did not start goes on, and nobody watches it any more."""


class Event:
    """One event of a run.  ``at`` is in seconds since the epoch; 0 in a line without a time."""

    __slots__ = ("at", "fields", "name")

    def __init__(self, name: str, at: float = 0.0, **fields: Any) -> None:
        self.name = name
        self.at = at
        self.fields = fields

    def __repr__(self) -> str:
        return f"Event({self.to_json()})"

    def to_json(self) -> dict[str, Any]:
        """Return the object that is one line of the file."""
        return {"at": self.at, "event": self.name, **self.fields}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Event:
        """Return the event of a line."""
        name, at = value.pop("event", ""), value.pop("at", 0.0)
        event = cls(str(name), at if is_time(at) else 0.0)
        event.fields = value
        return event


def parse_events(data: bytes) -> Iterator[Event]:
    """Yield the events of complete lines; a line that is no object is left out."""
    for line in data.split(b"\n")[:-1]:
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield Event.from_json(value)
