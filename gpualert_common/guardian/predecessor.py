"""The run before an attempt, read from its record."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpualert_common import recover as recovery
from gpualert_common.guardian.attempt import Predecessor
from gpualert_common.guardian.run_location import fence_s
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.quantities import is_number
from gpualert_common.record import SPEC, Event, Record, RunState

if TYPE_CHECKING:
    from gpualert_common.spec import Ending


class PredecessorReader:
    """Reads the same run again and again; ``fingerprint`` is that of the reading attempt."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._beat = (-1, time.monotonic())

    def read(self, record: Record) -> Predecessor:
        """Return the run as its record describes it now.  Raises RecordError."""
        if not record.has(SPEC):  # its guardian died, or has yet to begin
            return Predecessor(RunState.STARTING if record.is_held else RunState.LOST)
        owner = record.spec.owner
        is_remote = recovery.is_remote(record)
        state = record.state
        ending = record.ending  # after the state: an end that comes between is then known, too
        events = list(record.events())
        if is_remote and state is RunState.LOST:
            state = record.recorded_state  # its lock cannot be seen from here
        adopted = [event.fields.get("number") for event in events if event.name == "adopted"]
        numbers = [number for number in adopted if is_number(number)]
        return Predecessor(
            state,
            number=numbers[-1] if numbers else owner.get("number", 0),
            has_same_fingerprint=owner.get("fingerprint") == self._fingerprint,
            has_status=ending is not None and ending.exit_code is not None,
            is_claimed=record.claimed_by is not None,
            is_stopped=_was_stopped(ending, events),
            has_unsupervised_processes=not is_remote and _has_unsupervised_processes(record, state),
            is_remote=is_remote,
            is_silent=is_remote and self._is_silent(record),
        )

    def _is_silent(self, record: Record) -> bool:
        """True when no beat was seen for as long as the fence, by our own clock."""
        beat, since = self._beat
        if record.last_beat() != beat:
            self._beat = (record.last_beat(), time.monotonic())
            return False
        spec = record.spec
        limit_s = fence_s(spec.owner.get("lease_s", 0.0), spec.grace_s)
        return time.monotonic() - since > limit_s


def has_live_processes(run_id: str) -> bool:
    """True while a process with the run's mark lives on this host."""
    members = ProcessTree(None, run_marker(run_id)).members()
    for process in members:
        process.close()
    return bool(members)


def _was_stopped(ending: Ending | None, events: list[Event]) -> bool:
    """Both count: a full disk may lack the event, and before the end there is no ending."""
    is_stopped = ending is not None and (ending.signal is not None or ending.limit is not None)
    return is_stopped or any(event.name == "stopping" for event in events)


def _has_unsupervised_processes(record: Record, state: RunState) -> bool:
    """True when processes live that nobody ends; those that outlive a normal end may live."""
    if state is RunState.ENDED:
        end = record.end_record
        return (
            end is not None
            and bool(end.survivors)
            and record.recorded_state is RunState.STOPPING
            and recovery.has_processes(record)
        )
    return state is RunState.LOST and recovery.has_processes(record)
