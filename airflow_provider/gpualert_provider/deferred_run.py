"""A run without a worker: the agreement with its guardian, and the work of its trigger.

The attempt stays the owner of its run, under the same name.  Before its worker leaves, it requests
to adopt the run once more, without a follower process.  From then on only the lease counts, which
the trigger renews.  The worker that resumes the attempt finds the name in ``outcome.json``, which
until then says that the task is deferred.

All functions read or write the record, and so may block.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from gpualert_common.errors import GPUAlertError, RecordError
from gpualert_common.guardian.keys import Key
from gpualert_common.record import EXIT, OUTCOME, Event, Record
from gpualert_common.spec import SCHEMA
from gpualert_provider.task_outcome import describe_change, find_outcome_while_deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpualert_common.guardian import Attempt

AWAY_S = 600.0
"""Limit of a run's wait for its trigger to start, or for another one when a triggerer has died.
Airflow considers a triggerer dead after 30 s, and a deployment takes minutes."""

RESUMED_WITHIN_S = 3600.0
"""Limit from the end of a run until its task has a worker again.  So long its alert waits for the
state of the task."""

SILENT_S = 60.0
"""A guardian on another host writes a beat every five seconds.  It is considered dead after so long
without a beat, plus the grace period."""

_ANSWER_S = 5.0
_POLL_S = 0.05
_RESTORED_S = 60.0
"""A guardian whose record was removed stops the run after a lease, and writes its record again."""

_DEFERRED = "deferred"


class DeferredRun(NamedTuple):
    """A run that was left to a trigger, with the name and number of the attempt that owns it."""

    record: Record
    owner: str
    number: int


class ResumeReason(StrEnum):
    """Reason for which a deferred task needs a worker again."""

    ENDED = "ended"
    LOST = "lost"
    TIMEOUT = "timeout"
    UNSEEN = "unseen"


class DeferredRunState(NamedTuple):
    """State of a run in one sample; ``reason`` is None while the run lives.

    The ``beat`` of a guardian on another host changes; otherwise its run is lost after
    ``silent_s``.  ``problem`` says why the record is unseen.
    """

    reason: ResumeReason | None
    beat: int = 0
    silent_s: float = 0.0
    problem: str = ""


def leave(record: Record, attempt: Attempt, within_s: float) -> bool:
    """Agree with the guardian that only the lease represents the attempt from now on.

    Without a renewal the run goes on for the length of a lease and ``within_s``.  Return False when
    the run is ending or its guardian does not answer: then a worker must follow it.  Raises
    OSError.
    """
    if not record.is_held:
        return False
    _events, offset = record.events_from(0)
    request = record.request(
        "adopt",
        owner=attempt.owner,
        number=attempt.number,
        fingerprint=attempt.fingerprint,
        adopt_within_s=within_s,
        lease_s=attempt.lease_s,
        follower=None,
    )
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline and record.is_held:
        events, offset = record.events_from(offset)
        for event in events:
            if event.name == "adopted" and event.fields.get("owner") == attempt.owner:
                _write_outcome(
                    record, attempt.owner, attempt.number, None, RESUMED_WITHIN_S, attempt.task
                )
                return True
            if event.name == "request_refused" and _is_about(event, request):
                return False
        time.sleep(_POLL_S)
    return False


def find(
    path: str | None, key: Sequence[str], number: int, state_dir: str | None
) -> DeferredRun | None:
    """Return the run that this attempt left, at *path* or else by its key; None without one.

    Waits for a record that was removed during its run.  Raises RecordError when it is not written
    again, or cannot be read.
    """
    for place in [path] if path else reversed(_runs(key, state_dir)):
        left = _left(_open(place, _RESTORED_S))
        if left is not None and left.number == number:
            return left
    return None


def stop_cleared(
    key: Sequence[str], number: int, state_dir: str | None, log: Callable[[str], None]
) -> None:
    """Stop the run that an earlier attempt left to a trigger, if it still lives.

    Airflow starts another attempt while one is deferred only when a user cleared the task.  The
    launch that follows waits until the run has ended.
    """
    try:
        for path in _runs(key, state_dir):
            left = _left(Record.open(path))
            if left is not None and left.number < number and not _has_ended(left.record):
                log(f"run {left.record.run_id} belongs to attempt {left.number}, which was cleared")
                _request_stop(left.record, None, "its task was cleared in Airflow")
    except (GPUAlertError, OSError):
        pass  # the launch reports it


def sample(path: str, owner: str) -> DeferredRunState:
    """Renew the lease on the run at *path*, and return its state.  Raises OSError."""
    from gpualert_common.recover import is_remote  # slow to import in an event loop

    try:
        record = Record.open(path)
    except RecordError as error:
        return DeferredRunState(ResumeReason.UNSEEN, problem=str(error))
    try:
        if _has_ended(record):
            return DeferredRunState(ResumeReason.ENDED)
        spec = record.spec
        far = is_remote(record)
        if not far and not record.is_held:
            has_ended = _has_ended(record)
            return DeferredRunState(ResumeReason.ENDED if has_ended else ResumeReason.LOST)
        record.renew_lease(owner)
        if not far:
            return DeferredRunState(None)
        return DeferredRunState(None, record.last_beat(), SILENT_S + spec.grace_s)
    except RecordError as error:
        return DeferredRunState(ResumeReason.UNSEEN, problem=str(error))
    finally:
        record.close()


def stop(path: str, owner: str, number: int, state: str | None) -> bool:
    """Stop the run at *path* because Airflow gave its task this state; False when it has ended.

    *owner* must still own the run.  Raises RecordError and OSError.
    """
    record = Record.open(path)
    try:
        if _has_ended(record):
            return False
        outcome = find_outcome_while_deferred(state, AWAY_S)
        task = (record.read_json(OUTCOME) or {}).get("task")
        _write_outcome(record, owner, number, *outcome, task)
        change = describe_change(outcome.state)
        _request_stop(record, owner, f"its task was ended in Airflow: {change}")
        return True
    finally:
        record.close()


def _runs(key: Sequence[str], state_dir: str | None) -> list[str]:
    return Key(key, state_dir).runs()


def _open(path: str, timeout_s: float) -> Record:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return Record.open(path)
        except RecordError:
            if os.path.lexists(path) or time.monotonic() >= deadline:
                raise
        time.sleep(_POLL_S)


def _has_ended(record: Record) -> bool:
    return record.read_json(EXIT) is not None


def _left(record: Record) -> DeferredRun | None:
    outcome = record.read_json(OUTCOME) or {}
    owner, number = outcome.get("owner"), outcome.get("number")
    if outcome.get(_DEFERRED) is True and isinstance(owner, str) and isinstance(number, int):
        return DeferredRun(record, owner, number)
    return None


def _write_outcome(
    record: Record,
    owner: str,
    number: int,
    state: str | None,
    next_within_s: float | None,
    task: object,
) -> None:
    """Record the state of the task; None while neither success nor failure is known."""
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "state": state,
        "final": next_within_s is None,
        "next_within_s": next_within_s,
        "owner": owner,
        "number": number,
        "told_as": None,
        "task": task,
        "at": time.time(),
        _DEFERRED: True,
    }
    record.write_json(OUTCOME, fields)


def _is_about(refusal: Event, request: str) -> bool:
    refused = refusal.fields.get("request")
    return isinstance(refused, dict) and refused.get("file") == request


def _request_stop(record: Record, owner: str | None, because: str) -> None:
    sender = {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "because": because,
        "meant_as": "cancelled",
    }
    record.request("stop", owner=owner, sender=sender, grace_s=None)
