"""A run that no worker follows: what is agreed with its guardian, and what a trigger does for it.

The attempt stays the owner of its run under the one name that it had.  Before its worker leaves, it
asks to adopt the run once more, without a process behind it: from then on only the lease counts,
which the trigger renews.  The worker that resumes the attempt finds that name in ``outcome.json``,
which until then says that the task is deferred.

Everything here reads or writes the record, and so may block.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpualert_common.errors import GPUAlertError, RecordError
from gpualert_common.guardian.keys import Key
from gpualert_common.record import EXIT, OUTCOME, Record
from gpualert_common.spec import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpualert_common.guardian import Attempt

AWAY_S = 600.0
"""How long a run waits for a trigger: one that starts, or another one when a triggerer has died.
Airflow counts a triggerer as dead after 30 s, and a deployment takes minutes."""

RESUMED_WITHIN_S = 3600.0
"""From the end of a run until its task has a worker again, at the latest; so long its alert waits
for what the task becomes."""

SILENT_S = 60.0
"""A guardian that cannot be seen from here beats every five seconds; after so long without a beat
and the grace of a stop it is taken for dead."""

_ANSWER_S = 5.0
_POLL_S = 0.05
_RESTORED_S = 60.0
"""A guardian whose record was removed ends the run after a lease, and makes its record anew."""

_DEFERRED = "deferred"


class DeferredRun(NamedTuple):
    """A run that was left to a trigger, and the attempt it belongs to."""

    record: Record
    owner: str
    number: int


class DeferredRunState(NamedTuple):
    """What a look at a run shows: ``state`` is "live", "ended", "lost" or "unseen".

    A live run whose guardian cannot be seen from here has a ``beat`` that changes, or else it is
    lost after ``silent_s``.  ``problem`` says why the record is unseen.
    """

    state: str
    beat: int = 0
    silent_s: float = 0.0
    problem: str = ""


def leave(record: Record, attempt: Attempt, within_s: float) -> bool:
    """Agree with the guardian that the lease alone stands for the attempt from now on.

    Without a renewal the run goes on for the length of a lease and ``within_s``.  False when the
    run is ending or its guardian does not answer: then somebody has to follow it.  Raises OSError.
    """
    if not record.is_held:
        return False
    _events, seen = record.events_from(0)
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
        events, seen = record.events_from(seen)
        for event in events:
            if event.get("event") == "adopted" and event.get("owner") == attempt.owner:
                _say(record, attempt.owner, attempt.number, None, RESUMED_WITHIN_S)
                return True
            if event.get("event") == "request_refused" and _is_about(event, request):
                return False
        time.sleep(_POLL_S)
    return False


def find(
    path: str | None, key: Sequence[str], number: int, state_dir: str | None
) -> DeferredRun | None:
    """The run that this attempt left, at *path* or else by its key; None where there is none.

    Waits for a record that was removed under a live run.  Raises RecordError when it does not come
    back, or cannot be read.
    """
    for place in [path] if path else reversed(_runs(key, state_dir)):
        left = _left(_open(place, _RESTORED_S))
        if left is not None and left.number == number:
            return left
    return None


def end_forsaken(
    key: Sequence[str], number: int, state_dir: str | None, tell: Callable[[str], None]
) -> None:
    """End the run that an earlier attempt left to a trigger, where it still lives.

    Airflow goes on to another attempt while one is deferred when somebody cleared the task, and
    then only; whoever launches next waits until the run has ended.
    """
    try:
        for path in _runs(key, state_dir):
            left = _left(Record.open(path))
            if left is not None and left.number < number and not _has_ended(left.record):
                tell(
                    f"run {left.record.run_id} belongs to attempt {left.number}, which was cleared"
                )
                _request_stop(left.record, None, "its task was cleared in Airflow")
    except (GPUAlertError, OSError):
        pass  # the launch meets it, too, and says what is wrong


def look(path: str, owner: str) -> DeferredRunState:
    """Renew the lease on the run at *path*, and say how it stands.  Raises OSError."""
    from gpualert_common.recover import is_far  # takes a moment, which an event loop has not

    try:
        record = Record.open(path)
    except RecordError as error:
        return DeferredRunState("unseen", problem=str(error))
    try:
        if _has_ended(record):
            return DeferredRunState("ended")
        spec = record.spec
        far = is_far(record)
        if not far and not record.is_held:
            return DeferredRunState("ended" if _has_ended(record) else "lost")
        record.renew_lease(owner)
        if not far:
            return DeferredRunState("live")
        return DeferredRunState("live", record.last_beat(), SILENT_S + (spec.get("grace_s") or 0.0))
    except RecordError as error:
        return DeferredRunState("unseen", problem=str(error))
    finally:
        record.close()


def end(path: str, owner: str, number: int, state: str | None) -> bool:
    """End the run at *path* because Airflow gave its task this state; False when it had ended.

    *owner* must still be the run's.  Raises RecordError and OSError.
    """
    record = Record.open(path)
    try:
        if _has_ended(record):
            return False
        is_marked = state in ("failed", "success", "skipped", "upstream_failed", "removed")
        said = f"it was set to {state}" if is_marked else "it was cleared"
        _say(record, owner, number, "failed", None if is_marked else AWAY_S)
        _request_stop(record, owner, f"its task was ended in Airflow: {said}")
        return True
    finally:
        record.close()


def _runs(key: Sequence[str], state_dir: str | None) -> list[str]:
    return Key(key, state_dir).runs()


def _open(path: str, patience_s: float) -> Record:
    deadline = time.monotonic() + patience_s
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
    said = record.read_json(OUTCOME) or {}
    owner, number = said.get("owner"), said.get("number")
    if said.get(_DEFERRED) is True and isinstance(owner, str) and isinstance(number, int):
        return DeferredRun(record, owner, number)
    return None


def _say(
    record: Record, owner: str, number: int, state: str | None, next_within_s: float | None
) -> None:
    """Write down what the task is by now; without a state it is not known to be well or not."""
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "state": state,
        "final": next_within_s is None,
        "next_within_s": next_within_s,
        "owner": owner,
        "number": number,
        "told_as": None,
        "at": time.time(),
        _DEFERRED: True,
    }
    record.write_json(OUTCOME, fields)


def _is_about(refusal: dict[str, Any], request: str) -> bool:
    refused = refusal.get("request")
    return isinstance(refused, dict) and refused.get("file") == request


def _request_stop(record: Record, owner: str | None, because: str) -> None:
    sender = {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "because": because,
        "meant_as": "cancelled",
    }
    record.request("stop", owner=owner, sender=sender, grace_s=None)
