"""Schedule of the traces and profiles of a run in progress: one each time it becomes slow."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.record import CAPTURE_TAKEN, CAPTURE_WANTED, Event

OFF = "off"
"""Value of ``on_slowdown`` of a run whose pace is not watched."""
_MOST = 2
"""A run that becomes slow again and again shows the same each time."""


class CaptureSchedule:
    """Requests for captures of one run; ``kind`` is the value of its ``on_slowdown``.

    ``events`` are those of the record: an earlier recorder may have taken some.
    """

    def __init__(self, kind: str, events: Iterable[Event]) -> None:
        self._kind = kind
        taken = sum(event.name == CAPTURE_TAKEN for event in events)
        self._left = 0 if kind == OFF else _MOST - taken
        self._was_slow = taken > 0

    def update(self, slow: str, now: float) -> list[Event]:
        """Return the capture to take now, if one is due; *slow* says why the run is, "" if not."""
        is_new = bool(slow) and not self._was_slow
        self._was_slow = bool(slow)
        if not is_new or self._left <= 0:
            return []
        self._left -= 1
        return [Event(CAPTURE_WANTED, now, kind=self._kind, reason=slow)]
