"""Times of the renewals of a digest: seconds apart in a small job, two minutes in a large one."""

from __future__ import annotations

import random

from gpualert_common.structs import Struct

LEAST_INTERVAL_S = 10.0
"""A vanished node is missed within half a minute, and a renewal costs some 10 ms of a core."""
MOST_INTERVAL_S = 120.0
"""A vanished node of the largest job is missed within six minutes, less than the time-out of ten
minutes after which PyTorch reports a lost peer."""
_SECONDS_FOR_EACH_NODE = 0.16
"""All nodes together renew six digests in a second: some twenty requests, which a file server with
other work to do, or one prefix of an object store, does not notice."""
LEAST_DISTANCE_S = 3.0
"""Time between two renewals, also if something important happens: the second one has it all."""
_SIGHTING_S = 1.2 * LEAST_INTERVAL_S
_JITTER = 0.1
_FIRST_SHARE = 0.25
"""Share of the interval over which nodes that start at once spread their first digests."""


def find_interval_s(nodes: int | None) -> float:
    """Return the time between two renewals in a job of so many nodes; few if that is not known."""
    wanted_s = (nodes or 1) * _SECONDS_FOR_EACH_NODE
    return min(MOST_INTERVAL_S, max(LEAST_INTERVAL_S, wanted_s))


class RenewalSchedule(Struct):
    """The times of the renewals of one run, by the monotonic clock."""

    interval_s: float
    due_at: float
    renewed_at: float = 0.0

    @classmethod
    def begin(cls, nodes: int | None, now: float, node: int | None = None) -> RenewalSchedule:
        """Return the schedule of a run that starts now: its first digest is due soon.

        That of the first node is due at once: the others compare their clocks with it.
        """
        interval_s = find_interval_s(nodes)
        is_spread = interval_s > LEAST_INTERVAL_S and node != 0
        spread_s = interval_s * _FIRST_SHARE if is_spread else 0.0
        return cls(interval_s, now + random.uniform(0.0, spread_s), now - interval_s)

    def note_renewal(self, now: float) -> None:
        """Set the time of the next renewal, after one, also after one that failed."""
        self.renewed_at = now
        self.due_at = now + self.interval_s * random.uniform(1 - _JITTER, 1 + _JITTER)

    def note_first(self) -> None:
        """Renew again soon after the first renewal, which could not have the offset of the clock.

        Within that time the reference of a large job has seen the first one.
        """
        is_small = self.interval_s <= LEAST_INTERVAL_S
        wait_s = LEAST_DISTANCE_S if is_small else _SIGHTING_S
        self.due_at = min(self.due_at, self.renewed_at + wait_s)

    def adjust(self, nodes: int | None, *, is_reference: bool) -> None:
        """Renew often where this node is the reference, by whose files the others compare clocks.

        They see each other within its interval, so that this is the most that they are wrong by.
        """
        self.interval_s = LEAST_INTERVAL_S if is_reference else find_interval_s(nodes)

    def hasten(self) -> None:
        """Renew as soon as that is allowed: something important has happened."""
        self.due_at = min(self.due_at, self.renewed_at + LEAST_DISTANCE_S)
