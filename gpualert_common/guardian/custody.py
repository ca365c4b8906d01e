"""What becomes of a live run when whoever follows it goes, comes back, or is succeeded.

Pure decisions: time and facts are handed in, and what comes out is events for the record and,
in ``ends_because``, that the run must be ended.  docs/guardian.md has the whole protocol.

Time counts only while the record can be read: while its disk stalls, or we were stopped ourselves,
nobody could have renewed a lease or adopted the run in a way that we would have seen.  Where other
hosts may take the run over, time always counts, since they count it too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeGuard

    Told = list[tuple[str, dict[str, Any]]]
    """Events for the record: name and fields."""

MOST_SECONDS = 10.0 * 365 * 86400
"""No training waits longer for anybody."""
MOST_GAP_S = 2.0
"""What one pause between two looks counts for at most; looks come four times a second."""


def is_seconds(value: Any) -> TypeGuard[float]:
    """True for what a request may name as a duration: it comes from a file that anybody writes."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MOST_SECONDS


def is_number(value: Any) -> TypeGuard[int]:
    """True for what a request may name as the number of an attempt."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


class Terms:
    """What was agreed when the run was launched.

    ``lease_s`` is how long a follower may be silent; ``adopt_within_s`` how long a run without a
    follower waits for the next attempt (0: none will come); ``across_hosts`` that attempts may come
    from other hosts, which cannot see our lock and rely on the fence instead.
    """

    __slots__ = ("across_hosts", "adopt_within_s", "lease_s")

    def __init__(self, lease_s: float, adopt_within_s: float, across_hosts: bool) -> None:
        self.lease_s = lease_s
        self.adopt_within_s = adopt_within_s
        self.across_hosts = across_hosts


class Custody:
    """Who follows a live run.  ``owner`` is None while nobody does."""

    def __init__(self, terms: Terms, owner: str, number: int, fingerprint: str, now: float) -> None:
        self._terms = terms
        self._fingerprint = fingerprint
        self.owner: str | None = owner
        self.number = number
        self.ends_because: str | None = None
        self.stopping = False
        self._last_owner = owner
        self._renewal = 0
        self._looked_at = now
        self._clock = now
        self._renewed_at = now
        self._orphaned_at = now
        self._within_s = terms.adopt_within_s

    # -- what is seen ----------------------------------------------------------------------

    def looked(self, leases: Mapping[str, int], now: float) -> Told:
        """The record could be read, and these were the leases in it."""
        self._pass_time(now)
        renewal = leases.get(self._last_owner, 0)
        renewed = renewal != self._renewal
        self._renewal = renewal
        if self.stopping or self.ends_because:
            return []
        if renewed:
            self._renewed_at = self._clock
            if self.owner is None:
                self.owner = self._last_owner
                return [("resumed", {"owner": self.owner, "number": self.number})]
        elif self.owner is not None:
            if self._clock - self._renewed_at > self._terms.lease_s:
                return self._orphan("its lease ran out", self._terms.adopt_within_s)
        elif self._clock - self._orphaned_at > self._within_s:
            self._end(f"nobody adopted it within {self._within_s:g} s")
        return []

    def follower_died(self, owner: str) -> Told:
        """The process of this owner has ended, whatever its lease says."""
        if owner != self.owner or self.stopping:
            return []
        return self._orphan("its follower died", self._terms.adopt_within_s)

    def time_passed(self, now: float) -> None:
        """Nothing was seen; only where other hosts rely on our fence does that mean anything."""
        blind_s = now - self._looked_at
        if self._terms.across_hosts and blind_s > self._terms.lease_s and not self.stopping:
            self._end("its record could not be read, and another host may have taken it over")

    def _pass_time(self, now: float) -> None:
        gap = now - self._looked_at
        self._looked_at = now
        self._clock += gap if self._terms.across_hosts else min(gap, MOST_GAP_S)

    # -- what is asked ---------------------------------------------------------------------

    def asked(self, request: Mapping[str, Any]) -> Told:
        """Answer a request: ``adopt``, ``handover`` or ``fence``."""
        kind = request.get("kind")
        because = "unknown kind of request"
        if kind == "adopt":
            because = self._may_not_adopt(request)
            if not because:
                return self._adopt(request)
        elif kind == "handover":
            within_s = request.get("within_s")
            if self.owner is None or request.get("owner") != self.owner:
                because = "it does not follow the run"
            elif not is_seconds(within_s):
                because = "within_s is no number of seconds"
            else:
                return self._orphan("handed over", within_s)
        elif kind == "fence":
            number = request.get("number")
            because = "no later attempt"
            if is_number(number) and number > self.number:
                self._end("another host waited out its fence and took it over")
                return []
        return [("request_refused", {"request": dict(request), "because": because})]

    def may_stop(self, request: Mapping[str, Any]) -> bool:
        """A person may always; an attempt only while it, and no other one, follows the run."""
        owner = request.get("owner")
        return owner is None or owner == (self.owner or self._last_owner)

    def _may_not_adopt(self, request: Mapping[str, Any]) -> str:
        if self.stopping or self.ends_because:
            return "it is stopping"
        if request.get("fingerprint") != self._fingerprint:
            return "its command, environment or directory is another one"
        number = request.get("number")
        if not is_number(number) or not isinstance(request.get("owner"), str):
            return "the request names no owner or no number"
        if not is_seconds(request.get("adopt_within_s", 0.0)):
            return "adopt_within_s is no number of seconds"
        if self.owner not in (None, request.get("owner")) and number <= self.number:
            return f"attempt {self.number} follows it"
        return ""

    def _adopt(self, request: Mapping[str, Any]) -> Told:
        self.owner = self._last_owner = request["owner"]
        self.number = request["number"]
        self._renewal = 0
        self._renewed_at = self._clock
        within_s = request.get("adopt_within_s", 0.0)
        self._terms = Terms(self._terms.lease_s, within_s, self._terms.across_hosts)
        return [("adopted", {"owner": self.owner, "number": self.number})]

    # -- what follows ----------------------------------------------------------------------

    def _orphan(self, because: str, within_s: float) -> Told:
        self.owner = None
        self._orphaned_at = self._clock
        self._within_s = within_s
        if within_s <= 0:
            self._end(f"{because}, and nobody will adopt it")
        return [("orphaned", {"because": because, "adopt_within_s": within_s})]

    def _end(self, because: str) -> None:
        if self.ends_because is None:
            self.ends_because = because
