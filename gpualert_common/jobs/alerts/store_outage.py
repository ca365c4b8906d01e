"""Outage of the job directory: how long a run tries it again before it sends its own alert."""

from __future__ import annotations

from gpualert_common.jobs.alerts.alert_additions import is_own_cause
from gpualert_common.jobs.digests.digest import Digest

RETURN_S = 45.0
"""Time after the last failure of the store in which the digests of other nodes arrive: it failed
for them, too, and they try again every half minute."""
ALONE_AFTER_S, CASCADE_ALONE_AFTER_S = 300.0, 900.0
"""Time without an answer of the store after which a run sends its own alert; one that only lost
another node waits longer, so that a failed store does not cost one alert for each node."""
_UNREACHED_SHARE = 0.2
"""Share of that for a run that never reached the store: its address is more likely wrong."""
_FIRST_RETRY_S, MOST_RETRY_S = 1.0, 30.0
_RETRY_GROWTH = 1.5


class StoreOutage:
    """Failures of the store for one run, one after the other, until it answers.

    No failure is waited out after ``latest_at``.  ``failed_at`` is the time of the last failure.
    """

    def __init__(self, own: Digest, latest_at: float) -> None:
        after_s = ALONE_AFTER_S if is_own_cause(own) else CASCADE_ALONE_AFTER_S
        self._most_s = after_s * (_UNREACHED_SHARE if own.sequence <= 1 else 1.0)
        self._latest_at = latest_at
        self._since: float | None = None
        self._retry_s = _FIRST_RETRY_S
        self.failed_at = float("-inf")

    def note_failure(self, now: float) -> float | None:
        """Return the time of the next try; None if the run is to send its own alert."""
        self.failed_at = now
        if self._since is None:
            self._since = now
        until = min(self._since + self._most_s, max(self._latest_at, self._since))
        if now >= until:
            return None
        next_at = min(now + self._retry_s, until)
        self._retry_s = min(MOST_RETRY_S, self._retry_s * _RETRY_GROWTH)
        return next_at

    def note_answer(self) -> None:
        """End the outage."""
        self._since, self._retry_s = None, _FIRST_RETRY_S

    def is_recent(self, now: float) -> bool:
        """True while digests of other nodes arrive that the failure kept out."""
        return now < self.failed_at + RETURN_S
