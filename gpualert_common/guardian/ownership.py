"""Ownership of a live run: who follows it, and whether it goes on without that follower.

Pure decisions: the caller passes time and facts in and gets events for the record back.
``end_reason`` says that the run must be ended.  docs/guardian.md has the whole protocol.

Time counts only while the record can be read: while its disk stalls, or the guardian itself is
stopped, a renewal or an adoption could not be seen.  Where other hosts may take the run over, time
always counts, since they count it too.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.quantities import is_number, is_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Events = list[tuple[str, dict[str, Any]]]
    """Events for the record: name and fields."""

MOST_GAP_S = 2.0
"""A longer pause between two looks at the record counts as this much; they come every 0.25 s."""


class OwnershipState(StrEnum):
    """State of the ownership of a run: owned, or not, and whether an owner can return."""

    OWNED = "owned"
    """An attempt follows the run."""
    ORPHANED = "orphaned"
    """The owner is silent; it resumes with its next renewal, or another attempt adopts the run."""
    ABANDONED = "abandoned"
    """The owner is gone for good; only an adoption saves the run."""
    ENDING = "ending"
    """The run must be ended."""
    STOPPING = "stopping"
    """A stop has begun."""


class OwnershipEvent(StrEnum):
    """A reason to change the state."""

    RENEW = "the owner renewed its lease"
    LAPSE = "the lease ran out or was released"
    LEAVE = "the follower's process ended, or it handed the run over"
    ADOPT = "another attempt adopted the run"
    END = "nobody may or will own the run"
    STOP = "a stop began"


_OWNED, _ORPHANED, _ABANDONED, _ENDING, _STOPPING = OwnershipState

TRANSITIONS: dict[OwnershipState, dict[OwnershipEvent, OwnershipState]] = {
    _OWNED: {
        OwnershipEvent.RENEW: _OWNED,
        OwnershipEvent.LAPSE: _ORPHANED,
        OwnershipEvent.LEAVE: _ABANDONED,
        OwnershipEvent.ADOPT: _OWNED,
        OwnershipEvent.END: _ENDING,
        OwnershipEvent.STOP: _STOPPING,
    },
    _ORPHANED: {
        OwnershipEvent.RENEW: _OWNED,
        OwnershipEvent.LEAVE: _ABANDONED,
        OwnershipEvent.ADOPT: _OWNED,
        OwnershipEvent.END: _ENDING,
        OwnershipEvent.STOP: _STOPPING,
    },
    _ABANDONED: {
        OwnershipEvent.ADOPT: _OWNED,
        OwnershipEvent.END: _ENDING,
        OwnershipEvent.STOP: _STOPPING,
    },
    _ENDING: {OwnershipEvent.STOP: _STOPPING},
    _STOPPING: {},
}
"""The next state by state and event; an event that is not listed changes nothing."""


class OwnershipTerms:
    """The owner's terms.

    ``lease_s`` is how long the owner may be silent; ``adopt_within_s`` how long a run without an
    owner waits for the next attempt (0: none will come); ``across_hosts`` that attempts may come
    from other hosts, which cannot see our lock and rely on the fence instead.
    """

    __slots__ = ("across_hosts", "adopt_within_s", "lease_s")

    def __init__(self, lease_s: float, adopt_within_s: float, across_hosts: bool) -> None:
        self.lease_s = lease_s
        self.adopt_within_s = adopt_within_s
        self.across_hosts = across_hosts


class _Adoption:
    """A valid request to adopt a run."""

    __slots__ = ("adopt_within_s", "fingerprint", "lease_s", "number", "owner")

    def __init__(self, request: Mapping[str, object]) -> None:
        """Raises ValueError with the reason for a refusal."""
        owner, number = request.get("owner"), request.get("number")
        lease_s, adopt_within_s = request.get("lease_s"), request.get("adopt_within_s")
        if not isinstance(owner, str) or not is_number(number):
            raise ValueError("the request names no owner or no number")
        if not is_seconds(lease_s):
            raise ValueError("lease_s is not a number of seconds")
        if not is_seconds(adopt_within_s):
            raise ValueError("adopt_within_s is not a number of seconds")
        self.owner: str = owner
        self.number: int = number
        self.lease_s: float = lease_s
        self.adopt_within_s: float = adopt_within_s
        self.fingerprint = request.get("fingerprint")


class Ownership:
    """The owner of a live run.  ``number`` is that of its latest owner."""

    def __init__(
        self, terms: OwnershipTerms, owner: str, number: int, fingerprint: str, now: float
    ) -> None:
        self._terms = terms
        self._fingerprint = fingerprint
        self._last_owner = owner
        self.number = number
        self.state = OwnershipState.OWNED
        self.end_reason: str | None = None
        self._renewal = 0
        self._looked_at = now
        self._clock = now
        self._renewed_at = now
        self._orphaned_at = now
        self._adopt_within_s = terms.adopt_within_s
        self._orphan_reason = ""
        self._seen_alive_at = now

    @property
    def owner(self) -> str | None:
        """The attempt that follows the run, None while nobody does."""
        return self._last_owner if self.state is OwnershipState.OWNED else None

    def _apply(self, event: OwnershipEvent) -> bool:
        """Change the state by the table; False when the event changes nothing."""
        after = TRANSITIONS[self.state].get(event)
        self.state = after or self.state
        return after is not None

    # -- facts -----------------------------------------------------------------------------

    def observe_leases(
        self, leases: Mapping[str, int], now: float, *, alive: bool = False
    ) -> Events:
        """Take in the leases that a readable record holds.

        ``alive`` says that the last owner's process is seen to live: frozen, or busy beyond its
        lease, it may come back, so that its silence alone does not end the run.
        """
        self._pass_time(now)
        self._seen_alive_at = self._clock
        renewal = leases.get(self._last_owner, 0)
        is_renewed = renewal not in (0, self._renewal)
        self._renewal = renewal
        events: Events = []
        if is_renewed:
            events = self._renew()
        elif self.state is OwnershipState.OWNED:
            events = self._check_lease(has_lease=bool(renewal))
        if self.state in (OwnershipState.ORPHANED, OwnershipState.ABANDONED):
            may_come_back = self.state is OwnershipState.ORPHANED and alive and bool(renewal)
            if may_come_back and not self._terms.across_hosts:
                self._orphaned_at = self._clock
            elif self._clock - self._orphaned_at >= self._adopt_within_s:
                self._end(self._orphan_reason)
        return events

    def observe_follower_exit(self, owner: str) -> Events:
        """Take in that the process of this owner has ended, whatever its lease says."""
        if owner != self._last_owner:
            return []
        within_s = self._terms.adopt_within_s
        events = self._orphan(OwnershipEvent.LEAVE, "its follower died", within_s)
        if events and within_s <= 0:
            self._end(self._orphan_reason)  # at once, since the record may not be readable
        return events

    def observe_missing_record(self, now: float, *, alive: bool) -> None:
        """Take in that the record was removed: nobody can adopt the run, or renew its lease."""
        self._pass_time(now)
        if alive:
            self._seen_alive_at = self._clock
        elif self._clock - self._seen_alive_at > self._terms.lease_s:
            self._end("its record was removed, and nobody is seen to follow it")

    def observe_time(self, now: float) -> None:
        """Take in the time; without a look at the record it matters to other hosts only."""
        blind_s = now - self._looked_at
        if self._terms.across_hosts and blind_s > self._terms.lease_s:
            self._end("its record could not be read, and another host may have taken it over")

    def begin_stop(self) -> None:
        """Close the run: from now on nobody adopts it."""
        self._apply(OwnershipEvent.STOP)

    # -- requests --------------------------------------------------------------------------

    def answer(self, request: Mapping[str, object]) -> Events:
        """Answer a request: ``adopt``, ``handover`` or ``fence``."""
        try:
            match request.get("kind"):
                case "adopt":
                    return self._adopt(_Adoption(request))
                case "handover":
                    return self._hand_over(request.get("owner"), request.get("within_s"))
                case "fence":
                    self._end("an attempt elsewhere waited out its fence and trains anew")
                    return []
                case _:
                    raise ValueError("unknown kind of request")
        except ValueError as refusal:
            fields = {"request": dict(request), "because": str(refusal)}
            return [("request_refused", fields)]

    def may_stop(self, request: Mapping[str, object]) -> bool:
        """True for a person; for an attempt only while no other attempt owns the run."""
        return request.get("owner") in (None, self._last_owner)

    def _adopt(self, adoption: _Adoption) -> Events:
        """Raises ValueError with the reason for a refusal."""
        if OwnershipEvent.ADOPT not in TRANSITIONS[self.state]:
            raise ValueError("it is stopping")
        if adoption.fingerprint != self._fingerprint:
            raise ValueError("its command, environment or directory differs")
        if self.owner not in (None, adoption.owner) and adoption.number <= self.number:
            raise ValueError("another attempt, no earlier than this one, follows it")
        self._apply(OwnershipEvent.ADOPT)
        self._last_owner, self.number = adoption.owner, adoption.number
        self._renewal = 0
        self._renewed_at = self._clock
        self._terms = OwnershipTerms(
            adoption.lease_s, adoption.adopt_within_s, self._terms.across_hosts
        )
        return [("adopted", {"owner": self._last_owner, "number": self.number})]

    def _hand_over(self, owner: object, within_s: object) -> Events:
        """Raises ValueError with the reason for a refusal."""
        if self.owner is None or owner != self.owner:
            raise ValueError("it does not follow the run")
        if not is_seconds(within_s):
            raise ValueError("within_s is not a number of seconds")
        return self._orphan(OwnershipEvent.LEAVE, "it was handed over", within_s)

    # -- consequences ----------------------------------------------------------------------

    def _pass_time(self, now: float) -> None:
        gap_s = now - self._looked_at
        self._looked_at = now
        self._clock += gap_s if self._terms.across_hosts else min(gap_s, MOST_GAP_S)

    def _renew(self) -> Events:
        was_owned = self.state is OwnershipState.OWNED
        if not self._apply(OwnershipEvent.RENEW):
            return []  # the owner's last renewal, or the run is being ended
        self._renewed_at = self._clock
        fields = {"owner": self._last_owner, "number": self.number}
        return [] if was_owned else [("resumed", fields)]

    def _check_lease(self, *, has_lease: bool) -> Events:
        within_s = self._terms.adopt_within_s
        if not has_lease:
            return self._orphan(OwnershipEvent.LAPSE, "its follower let go of it", within_s)
        if self._clock - self._renewed_at > self._terms.lease_s:
            return self._orphan(OwnershipEvent.LAPSE, "its lease ran out", within_s)
        return []

    def _orphan(self, event: OwnershipEvent, because: str, within_s: float) -> Events:
        """Take the owner away; the run then waits ``within_s`` for another one."""
        if not self._apply(event):
            return []
        self._orphaned_at = self._clock
        self._adopt_within_s = within_s
        waited = f"nobody adopted it within {within_s:g} s" if within_s else "nobody may adopt it"
        self._orphan_reason = f"{because}, and {waited}"
        return [("orphaned", {"because": because, "adopt_within_s": within_s})]

    def _end(self, because: str) -> None:
        if self._apply(OwnershipEvent.END):
            self.end_reason = because
