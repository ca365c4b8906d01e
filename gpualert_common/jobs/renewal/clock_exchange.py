"""Exchange of times between the nodes of a job, through files of the job directory.

At each renewal of its digest a node reads the file of the reference, and the status of its own
digest.  The reference also lists the digests, and writes its file.  Its file says when it was
written, and when its node saw each digest: so a node bounds its offset from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gpualert_common.jobs.digests.digest import ClockBasis, ClockOffset, Digest
from gpualert_common.jobs.job_directory import JobDirectory, ReferenceClock
from gpualert_common.jobs.renewal.clocks import (
    BoundedOffset,
    ClockInterval,
    OwnClock,
    bound_by_stamp,
    choose_offset,
)
from gpualert_common.structs import Struct

_SILENT_RENEWALS = 3
"""Renewals without a new file of the reference after which another node takes its place."""
_MOST_VERSIONS = 64
_KEPT_RENEWALS = 20
"""A digest that did not change in so many renewals of the reference needs no entry in its file."""


class ExchangeTimes(Struct, frozen=True):
    """The clocks of this machine: of the day, and the monotonic one."""

    now: Callable[[], float]
    monotonic: Callable[[], float]


class ClockExchange:
    """The part of one run in the exchange.  Its methods raise StoreError."""

    def __init__(self, directory: JobDirectory, times: ExchangeTimes) -> None:
        self._directory = directory
        self._times = times
        self._own_clock = OwnClock(times.now(), times.monotonic())
        self._to_store = BoundedOffset()
        self._to_reference = BoundedOffset()
        self._reference: ReferenceClock | None = None
        self._unchanged = 0
        self._written: dict[float, float] = {}
        self._seen: dict[str, tuple[float, float, int]] = {}
        self._sequence = 0
        self._steps = 0
        self._kept: ClockOffset | None = None
        """Offset by an earlier reference: the common time goes on where another one takes over."""

    @property
    def offset(self) -> ClockOffset:
        """The offset of the clock of this node to the common time, as far as it is known."""
        to_reference = self._to_reference.interval
        if self._kept is not None and not to_reference.is_bounded:
            return self._kept
        basis = ClockOffset() if self._reference is None else self._reference.clock
        return choose_offset(self._to_store.interval, to_reference, basis)

    def _change_reference(self) -> None:
        """Keep the offset to the common time until the next reference shows it."""
        found = self.offset
        self._kept = found if found.basis is ClockBasis.PEERS else None
        self._to_reference.reset()

    def read_reference(self, run_id: str) -> None:
        """Compare with the reference, after the digest is written: one request."""
        if self._own_clock.has_stepped(self._times.now(), self._times.monotonic()):
            self._forget()
        found = self._directory.read_reference()
        seen_at = self._times.now()
        before = self._reference
        if found is None or (before is not None and _sign(found) == _sign(before)):
            self._unchanged += 1
            return
        self._unchanged = 0
        if before is not None and found.run_id != before.run_id:
            self._change_reference()
        elif before is not None and found.steps != before.steps:
            self._to_reference.reset()
            self._kept = None
        self._reference = found
        if found.run_id != run_id:
            self._to_reference.add(self._bound(found, run_id, seen_at))

    def write(self, digest: Digest) -> None:
        """Write the digest, and compare with the stamp that it gets: two requests."""
        before = self._times.now()
        self._directory.write_digest(digest)
        after = self._times.now()
        file = self._directory.find_digest(digest.run_id)
        if file is None:
            return
        self._to_store.add(bound_by_stamp(before, file.modified_at, after))
        self._written.setdefault(file.modified_at, before)
        for stamp in list(self._written)[:-_MOST_VERSIONS]:
            del self._written[stamp]

    def serve(self, digest: Digest) -> bool:
        """Write the file of the reference, if this node is the reference: two requests.

        Return whether it is.
        """
        if not self._is_reference(digest):
            return False
        if self._reference is not None and self._reference.run_id != digest.run_id:
            self._change_reference()
        listed = self._directory.list_digests()
        seen_at = self._times.now()
        self._sequence += 1
        for file in listed:
            run_id = file.name.removesuffix(".json")
            known = self._seen.get(run_id)
            if known is None or known[0] != file.modified_at:
                self._seen[run_id] = (file.modified_at, seen_at, self._sequence)
        oldest = self._sequence - _KEPT_RENEWALS
        self._seen = {run: one for run, one in self._seen.items() if one[2] > oldest}
        reference = ReferenceClock(
            run_id=digest.run_id,
            at=self._times.now(),
            node=digest.node,
            started_at=digest.started_at,
            sequence=self._sequence,
            steps=self._steps,
            clock=self.offset,
            sightings={run: one[:2] for run, one in self._seen.items() if run != digest.run_id},
        )
        self._directory.write_reference(reference)
        self._reference = reference
        return True

    def _is_reference(self, digest: Digest) -> bool:
        """Return whether this node is the reference: the first one by its order, of those alive."""
        found = self._reference
        if self._unchanged >= _SILENT_RENEWALS:
            return True
        if found is None:
            return digest.node in (None, 0)  # else each node would list the digests at the start
        if found.run_id == digest.run_id:
            return True
        ours = _order(digest.node, digest.started_at, digest.run_id)
        return ours < _order(found.node, found.started_at, found.run_id)

    def _bound(self, found: ReferenceClock, run_id: str, seen_at: float) -> ClockInterval:
        """Return the bounds of our offset to the reference, by its file as seen at this time.

        It was written before we read it, and our digest before the reference listed it.
        """
        low = -math.inf
        stamp, listed_at = found.sightings.get(run_id, (0.0, 0.0))
        if stamp in self._written:
            low = self._written[stamp] - listed_at
        return ClockInterval(low, seen_at - found.at)

    def _forget(self) -> None:
        """Drop what was measured by a clock that has been set since."""
        self._steps += 1
        self._kept = None
        self._to_store.reset()
        self._to_reference.reset()
        self._written.clear()
        self._seen.clear()


def _sign(reference: ReferenceClock) -> tuple[str, float, int]:
    return reference.run_id, reference.at, reference.sequence


def _order(node: int | None, started_at: float, run_id: str) -> tuple[float, float, str]:
    return math.inf if node is None else node, started_at, run_id
