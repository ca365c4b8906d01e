"""Schedule of the dumps of a run in progress: when it seems to hang, and again 30 s later.

Two dumps tell a process that is stuck from one that is slow.  The first one does not pause the
processes; the second one does, since the run still seems to hang.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.record import STACKS_WANTED, Event

_MOST_PAIRS = 3
"""A run that seems to hang again and again is only slow."""


class DumpSchedule:
    """Requests for dumps of one run."""

    def __init__(self) -> None:
        self._pairs = 0
        self._is_suspect = False
        self._second_due = 0.0

    def update(self, suspicion: str, now: float) -> list[Event]:
        """Return the dumps to take now; *suspicion* says why the run seems to hang, "" if it does
        not."""
        if not suspicion:
            self._is_suspect, self._second_due = False, 0.0
            return []
        if not self._is_suspect:
            self._is_suspect = True
            if self._pairs >= _MOST_PAIRS:
                return []
            self._pairs += 1
            self._second_due = now + thresholds.BETWEEN_DUMPS_S
            return [Event(STACKS_WANTED, now, reason=suspicion)]
        if self._second_due and now >= self._second_due:
            self._second_due = 0.0
            reason = f"{suspicion}, {thresholds.BETWEEN_DUMPS_S:.0f} s later"
            return [Event(STACKS_WANTED, now, reason=reason, pause=True)]
        return []
