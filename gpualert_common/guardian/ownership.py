"""What becomes of a live run when whoever follows it goes, comes back, or is succeeded.

Pure decisions: time and facts are handed in, and what comes out is events for the record and,
in ``ends_because``, that the run must be ended.  docs/guardian.md has the whole protocol.

Time counts only while the record can be read: while its disk stalls, or we were stopped ourselves,
nobody could have renewed a lease or adopted the run in a way that we would have seen.  Where other
hosts may take the run over, time always counts, since they count it too.
"""

from __future__ import annotations

from gpualert_common.spec import is_number, is_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Told = list[tuple[str, dict[str, Any]]]
    """Events for the record: name and fields."""

MOST_GAP_S = 2.0
"""What one pause between two looks counts for at most; looks come four times a second."""


class OwnershipTerms:
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


class Ownership:
    """Who follows a live run.  ``owner`` is None while nobody does."""

    def __init__(
        self, terms: OwnershipTerms, owner: str, number: int, fingerprint: str, now: float
    ) -> None:
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
        self._orphaned_because = ""
        self._left = False
        self._seen_alive_at = now

    # -- what is seen ----------------------------------------------------------------------

    def looked(self, leases: Mapping[str, int], now: float, *, alive: bool = False) -> Told:
        """The record could be read, and these were the leases in it.

        ``alive`` says that the last owner's process is seen to live: frozen, or busy beyond its
        lease, it may yet come back, so that nothing is ended for its silence alone.
        """
        self._pass_time(now)
        self._seen_alive_at = self._clock
        renewal = leases.get(self._last_owner, 0)
        renewed = renewal not in (0, self._renewal)
        self._renewal = renewal
        if self.stopping or self.ends_because:
            return []
        told: Told = []
        if self._left:
            pass  # what is to become of the run is settled; a last renewal does not change it
        elif renewed:
            told = self._renewed()
        elif self.owner is not None and not renewal:
            told = self._orphan("its follower let go of it", self._terms.adopt_within_s)
        elif self.owner is not None and self._clock - self._renewed_at > self._terms.lease_s:
            told = self._orphan("its lease ran out", self._terms.adopt_within_s)
        may_come_back = alive and renewal and not self._terms.across_hosts
        if may_come_back and not self._left:
            self._orphaned_at = self._clock
        elif self.owner is None and self._clock - self._orphaned_at >= self._within_s:
            self._end(self._orphaned_because)
        return told

    def follower_died(self, owner: str) -> Told:
        """The process of this owner has ended, whatever its lease says."""
        if owner != self._last_owner or self._left or self.stopping:
            return []
        self._left = True
        told = self._orphan("its follower died", self._terms.adopt_within_s)
        if self._within_s <= 0:
            self._end(self._orphaned_because)  # also when the record cannot be looked at
        return told

    def record_is_gone(self, now: float, *, alive: bool) -> None:
        """Somebody removed the record: nobody can adopt the run, nor renew a lease on it."""
        self._pass_time(now)
        if alive:
            self._seen_alive_at = self._clock
        elif self._clock - self._seen_alive_at > self._terms.lease_s:
            self._end("its record was removed, and nobody is seen to follow it")

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
                self._left = True
                return self._orphan("it was handed over", within_s)
        elif kind == "fence":
            self._end("an attempt elsewhere waited out its fence and trains anew")
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
        for name in ("adopt_within_s", "lease_s"):
            if not is_seconds(request.get(name)):
                return f"{name} is no number of seconds"
        if self.owner not in (None, request.get("owner")) and number <= self.number:
            return f"attempt {self.number} follows it"
        return ""

    def _adopt(self, request: Mapping[str, Any]) -> Told:
        self.owner = self._last_owner = request["owner"]
        self.number = request["number"]
        self._left = False
        self._renewal = 0
        self._renewed_at = self._clock
        across_hosts = self._terms.across_hosts
        self._terms = OwnershipTerms(request["lease_s"], request["adopt_within_s"], across_hosts)
        return [("adopted", {"owner": self.owner, "number": self.number})]

    # -- what follows ----------------------------------------------------------------------

    def _renewed(self) -> Told:
        self._renewed_at = self._clock
        if self.owner is not None:
            return []
        self.owner = self._last_owner
        return [("resumed", {"owner": self.owner, "number": self.number})]

    def _orphan(self, because: str, within_s: float) -> Told:
        self.owner = None
        self._orphaned_at = self._clock
        self._within_s = within_s
        waited = f"nobody adopted it within {within_s:g} s" if within_s else "nobody may adopt it"
        self._orphaned_because = f"{because}, and {waited}"
        return [("orphaned", {"because": because, "adopt_within_s": within_s})]

    def _end(self, because: str) -> None:
        if self.ends_because is None:
            self.ends_because = because
