"""Schedule of the dumps of a run in progress: when it seems to hang, and again 30 s later.

Two dumps tell a process that is stuck from one that is slow.  The first one never pauses the
processes; the second one does where the run is judged to hang.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.diagnose import thresholds
from gpualert_common.record import STACKS_WANTED, Event
from gpualert_common.structs import Struct

_MOST_PAIRS = 3
"""A run that seems to hang again and again is only slow."""


class Suspicion(Struct, frozen=True):
    """Reason to think that a run hangs; ``is_certain`` says that a warning or a limit agrees."""

    text: str
    is_certain: bool = True


class DumpSchedule:
    """Requests for dumps of one run."""

    def __init__(self) -> None:
        self._pairs = 0
        self._suspicions = 0
        self._second_due = 0.0

    def update(self, suspicions: Sequence[Suspicion], now: float) -> list[Event]:
        """Return the dumps to take now; *suspicions* say why the run seems to hang, the newest
        last."""
        is_new = len(suspicions) > self._suspicions
        self._suspicions = len(suspicions)
        if not suspicions:
            self._second_due = 0.0
        elif is_new and not self._second_due and self._pairs < _MOST_PAIRS:
            self._pairs += 1
            self._second_due = now + thresholds.BETWEEN_DUMPS_S
            return [Event(STACKS_WANTED, now, reason=suspicions[-1].text)]
        elif self._second_due and now >= self._second_due:
            self._second_due = 0.0
            reason = f"{suspicions[-1].text}, {thresholds.BETWEEN_DUMPS_S:.0f} s later"
            is_certain = suspicions[-1].is_certain
            return [Event(STACKS_WANTED, now, reason=reason, pause=is_certain)]
        return []
