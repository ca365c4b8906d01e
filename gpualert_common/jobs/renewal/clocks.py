"""Clocks of the nodes of a job: times of a digest in the common time, and bounds of an offset.

Most stores stamp a file with a clock of their own (NFS, S3).  Some stamp it with that of its writer
(Lustre, GPFS, a local disk), so that every node seems to agree with the store.  So each node also
bounds its offset to one node, the reference, by what each saw of the other: a renewal is seen after
it was made.  The bounds of the peers decide where they contradict the store.
"""

from __future__ import annotations

import math
from collections import deque

from gpualert_common.job_store.clock import compare_clocks
from gpualert_common.jobs.digests.digest import ClockBasis, ClockOffset, Digest
from gpualert_common.structs import Struct

_MOST_BOUNDS = 64
"""Newest bounds of each side that count: the drift of a clock during them, some 20 ppm, is less
than what they leave open."""
STAMP_ERROR_S = 0.01
"""Kernels with slow ticks, and stores that round their times."""
_CLOCK_STEP_S = 0.5
"""A difference between the clock of the day and the monotonic one that no slewing makes at once."""


def correct_time(digest: Digest, at: float) -> float:
    """Return a time of a digest in the common time of its job."""
    return at - digest.clock.offset_s


class ClockInterval(Struct, frozen=True):
    """Bounds of an offset in seconds."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def is_empty(self) -> bool:
        """True for bounds that contradict each other."""
        return self.low > self.high

    @property
    def is_bounded(self) -> bool:
        """True for bounds on both sides that do not contradict each other."""
        return not self.is_empty and math.isfinite(self.high - self.low)

    @property
    def middle(self) -> float:
        """The offset that is the least wrong."""
        return (self.low + self.high) / 2

    @property
    def error_s(self) -> float:
        """The most that the middle is wrong by."""
        return (self.high - self.low) / 2

    def intersect(self, other: ClockInterval) -> ClockInterval:
        """Return the bounds that both allow."""
        return ClockInterval(max(self.low, other.low), min(self.high, other.high))

    def widen(self, by_s: float) -> ClockInterval:
        """Return bounds that are wider on both sides."""
        return ClockInterval(self.low - by_s, self.high + by_s)


def bound_by_stamp(before: float, stamp: float, after: float) -> ClockInterval:
    """Return the bounds of the offset to the clock that stamped a file.

    It was written between the times *before* and *after* by our clock.
    """
    found = compare_clocks(before, after, stamp)
    bounds = ClockInterval(found.offset_s - found.error_s, found.offset_s + found.error_s)
    return bounds.widen(STAMP_ERROR_S)


class BoundedOffset:
    """Bounds of the offset to one clock, from the newest measurements.

    Where they contradict each other, as after one of the clocks was set, the older are dropped.
    """

    def __init__(self) -> None:
        self._lows: deque[float] = deque(maxlen=_MOST_BOUNDS)
        self._highs: deque[float] = deque(maxlen=_MOST_BOUNDS)

    def add(self, bounds: ClockInterval) -> None:
        """Add a measurement, of one side or both."""
        for kept, bound in ((self._lows, bounds.low), (self._highs, bounds.high)):
            if math.isfinite(bound):
                kept.append(bound)
        if self.interval.is_empty:
            self.reset()
            self._lows.extend(filter(math.isfinite, (bounds.low,)))
            self._highs.extend(filter(math.isfinite, (bounds.high,)))

    def reset(self) -> None:
        """Drop all measurements."""
        self._lows.clear()
        self._highs.clear()

    @property
    def interval(self) -> ClockInterval:
        """The bounds that all measurements allow."""
        return ClockInterval(max(self._lows, default=-math.inf), min(self._highs, default=math.inf))


class OwnClock:
    """Notices that the clock of this machine was set."""

    def __init__(self, now: float, monotonic: float) -> None:
        self._difference = now - monotonic

    def has_stepped(self, now: float, monotonic: float) -> bool:
        """Return whether the clock was set since the last call."""
        difference, before = now - monotonic, self._difference
        self._difference = difference
        return abs(difference - before) > _CLOCK_STEP_S


def choose_offset(
    to_store: ClockInterval, to_reference: ClockInterval, reference: ClockOffset
) -> ClockOffset:
    """Return the offset of a node to the common time.

    *to_store* bounds its offset to the stamps of the store, *to_reference* that to the clock of the
    reference, whose own offset is *reference*.  While the peers bound it on one side only, and
    contradict the store, the offset is the nearest that they allow, and its error a guess.
    """
    by_peers = _shift(to_reference, reference)
    by_store = ClockInterval(0.0, 0.0)
    if to_store.is_bounded:
        by_store = to_store
        if by_peers.is_empty or not by_peers.intersect(to_store).is_empty:
            return ClockOffset(to_store.middle, to_store.error_s, ClockBasis.STORE)
    if by_peers.is_bounded:
        return ClockOffset(by_peers.middle, by_peers.error_s, ClockBasis.PEERS)
    if by_peers.is_empty or not by_peers.intersect(by_store).is_empty:
        return ClockOffset()
    nearest = by_peers.low if by_peers.low > by_store.high else by_peers.high
    return ClockOffset(nearest, abs(nearest - by_store.middle), ClockBasis.PEERS)


def _shift(to_reference: ClockInterval, reference: ClockOffset) -> ClockInterval:
    shift_s = reference.offset_s
    shifted = ClockInterval(to_reference.low + shift_s, to_reference.high + shift_s)
    return shifted.widen(reference.error_s)
