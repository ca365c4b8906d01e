"""Schedule of the dumps of a run in progress: when it seems to hang, and again 30 s later.

Two dumps tell a process that is stuck from one that is slow.  The first one never pauses the
processes; the second one does where the run is judged to hang.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.diagnose import thresholds
from gpualert_common.record import STACKS_WANTED, Event
from gpualert_common.stacks.dump import Dump
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
        self._first_wanted_at = 0.0

    def update(
        self, suspicions: Sequence[Suspicion], dumps: Sequence[Dump], now: float
    ) -> list[Event]:
        """Return the dumps to take now.

        *suspicions* say why the run seems to hang, the newest last; *dumps* are those in its
        record.
        """
        is_new = len(suspicions) > self._suspicions
        self._suspicions = len(suspicions)
        if not suspicions:
            self._first_wanted_at = 0.0
            return []
        newest = suspicions[-1]
        if is_new and not self._first_wanted_at and self._pairs < _MOST_PAIRS:
            self._pairs += 1
            self._first_wanted_at = now
            return [Event(STACKS_WANTED, now, reason=newest.text)]
        if self._is_second_due(dumps, now):
            self._first_wanted_at = 0.0
            return [Event(STACKS_WANTED, now, reason=newest.text, pause=newest.is_certain)]
        return []

    def _is_second_due(self, dumps: Sequence[Dump], now: float) -> bool:
        """Return whether so much time has passed since the first dump of a pair."""
        if not self._first_wanted_at:
            return False
        taken = [one.at for one in dumps if one.at >= self._first_wanted_at]
        return bool(taken) and now >= taken[0] + thresholds.BETWEEN_DUMPS_S
