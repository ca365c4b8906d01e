"""State of the digest of a run in its record: its number, its clock, and the state of the store.

So the process that publishes the last digest continues the series, and ``gpualert show`` says since
when the job directory could not be reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.digests.digest import ClockOffset, Digest
from gpualert_common.model import SCHEMA
from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.record import Event, Record
from gpualert_common.structs import Struct

DIGEST = "digest.json"
LOST, REACHED = "job_directory_lost", "job_directory_reached"
"""Events: the job directory could not be written, with the problem; and it could be again."""


class RenewalState(Struct, frozen=True):
    """The newest digest that was written: number, time, interval; ``is_final`` after the end."""

    sequence: Number = 0
    at: Time = 0.0
    interval_s: Seconds = 0.0
    is_final: bool = False
    clock: ClockOffset = ClockOffset()
    schema: int = SCHEMA


def read_state(record: Record) -> RenewalState:
    """Return the state; an empty one where there is none, or a damaged one."""
    try:
        fields = record.read_json(DIGEST)
        return RenewalState() if fields is None else decode(RenewalState, fields, DIGEST)
    except RecordError:
        return RenewalState()


def store_state(record: Record, digest: Digest, *, is_final: bool) -> None:
    """Note that this digest was written; a disk that takes no file costs only that."""
    state = RenewalState(digest.sequence, digest.at, digest.interval_s, is_final, digest.clock)
    with suppress(OSError):
        record.write_json(DIGEST, encode(state))


def find_loss(events: Iterable[Event]) -> Event | None:
    """Return since when the job directory cannot be reached; None where it can."""
    found = None
    for event in events:
        if event.name == LOST and found is None:
            found = event
        elif event.name == REACHED:
            found = None
    return found


class StoreNotes:
    """Notes in the record when the job directory is lost, and when it is reached again: once each.

    It continues from the events of an earlier process.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        try:
            self._is_lost = find_loss(record.events()) is not None
        except (OSError, RecordError):
            self._is_lost = False

    def note_failure(self, problem: str) -> None:
        """Note the first failure."""
        if not self._is_lost:
            self._is_lost = True
            with suppress(OSError):
                self._record.append_event(LOST, problem=problem)

    def note_success(self) -> None:
        """Note the first success after a failure."""
        if self._is_lost:
            self._is_lost = False
            with suppress(OSError):
                self._record.append_event(REACHED)
