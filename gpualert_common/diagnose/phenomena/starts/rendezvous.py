"""Processes of a distributed run that do not find each other, before the first step.

The source ``rendezvous`` tries the coordinator's address while the run waits.  If the log reports a
failed rendezvous, the trial decides its reason: a name that is not resolved, a port on which nobody
listens, a machine that does not answer, an occupied port, processes that are missing.  If the log
reports a failed connection and the address accepts one at the end, the coordinator came up late.
The store's own count of those that joined shows that its port was open.  A run that
was stopped, or reached its time limit, without an error waited for a rendezvous if it had printed
nothing but connection attempts for a minute, its processes were idle, and the trial shows an
obstacle that no complete group can have.  A connection that is accepted shows that only while a
launcher has not started its ranks.  A rank that waited in vain for a key of another rank in the
store of PyTorch was in a rendezvous if the trial shows that processes are missing.  A training that
has begun, and any other error, excludes it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from gpualert_common.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.starts._coordinator import (
    FAILED_OUTCOMES,
    MISSING_PROCESSES,
    Obstacle,
    StartObstacle,
    explain_conflict,
    explain_late,
    explain_state,
    is_complete,
)
from gpualert_common.model import Claim
from gpualert_common.structs import ValidationError, convert
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "C1"
_CAUSE = "rendezvous"
_SOURCE = "rendezvous"
_PORT_CLOSED = frozenset((Obstacle.NOT_OPEN, Obstacle.WRONG_MACHINE))
_LIMITS = frozenset(("time_limit", "idle_hang"))
"""Causes of a run that a limit ended: of its time, or of the time without progress."""
_STOPPED = _LIMITS | {"cancelled", "preempted", "killed_unknown"}
"""Causes of a run that a person or a limit stopped."""
_NO_CONNECTION = re.compile(
    r"(?i)client socket has|connect\(\) timed out|failed to connect|connection refused"
    r"|connection to the c10d store has failed|no route to host|network is unreachable"
)
_USED_PORT = ("address already in use", "eaddrinuse", "failed to listen", "is utilizing it")


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield why the processes do not find each other, if a trial shows it."""
    event = _find_last_event(evidence)
    if event is None or evidence.has_trained:
        return
    cause, in_store = evidence.resolution.cause, _waited_in_store(evidence)
    reported = cause == _CAUSE
    if not (reported or in_store or evidence.is_running or cause in _STOPPED):
        return
    try:
        found, complete = _explain(evidence, event, reported=reported)
    except ValidationError:
        return  # of a later release
    claim = Claim(event.text, _SOURCE)
    claims: tuple[Claim, ...] = (claim,)
    if found is not None and reported:
        if found.obstacle is Obstacle.ANSWERS_NOW:
            claims = (*_list_failures(evidence, event), _date(event))
        yield _decide(found, claims, 0.97 if found.is_certain else 0.9)
    elif found is not None and in_store:
        if found.obstacle in MISSING_PROCESSES:
            yield _decide(found, claims, 0.85)  # the death of a rank may have other evidence
    elif complete and not reported:
        yield Finding(FAMILY, Weight.RULED_OUT, "all processes that it announced had joined")
    elif found is not None and found.is_certain and event.what != "port_in_use":
        yield from _diagnose_wait(evidence, found, claim)


def _explain(
    evidence: Evidence, event: TelemetryEvent, *, reported: bool
) -> tuple[StartObstacle | None, bool]:
    """Return the obstacle that an event shows, and whether all processes had joined.

    Raises ValidationError.
    """
    if event.what == "port_in_use":
        return explain_conflict(convert(event.fields, PortConflict)), False
    state = convert(event.fields, CoordinatorState)
    found = explain_state(state)
    if reported and _NO_CONNECTION.search(_read_error(evidence)):
        found = explain_late(state) or found
    if found is not None and found.obstacle in _PORT_CLOSED and _has_counted(evidence):
        found = None  # the port was open: the state is older
    return found, is_complete(state)


def _find_last_event(evidence: Evidence) -> TelemetryEvent | None:
    """Return the last state; None if the run passed its rendezvous after it."""
    events = evidence.events("rendezvous_state", "port_in_use", "training_began")
    if not events or events[-1].what == "training_began":
        return None
    wanted = "port_in_use" if _reports_used_port(evidence) else "rendezvous_state"
    return next((one for one in reversed(events) if one.what == wanted), None)


def _read_error(evidence: Evidence) -> str:
    """Return the words of the log's error."""
    details = evidence.resolution.details
    return f"{details.get('what')} {details.get('message')}"


def _reports_used_port(evidence: Evidence) -> bool:
    """Return whether the error of the log is that a port was in use."""
    text = _read_error(evidence).lower()
    return any(words in text for words in _USED_PORT)


def _has_counted(evidence: Evidence) -> bool:
    """Return whether the store itself reported how many had joined."""
    details = evidence.resolution.details
    return "joined" in details or "joined_ranks" in details


def _list_failures(evidence: Evidence, last: TelemetryEvent) -> tuple[Claim, ...]:
    """Return the last failed trial before an event, with its time."""
    for event in reversed(evidence.events("rendezvous_state")):
        if event.at < last.at and event.fields.get("outcome") in FAILED_OUTCOMES:
            return (_date(event),)
    return ()


def _date(event: TelemetryEvent) -> Claim:
    clock = time.strftime("%H:%M:%S UTC", time.gmtime(event.at))
    return Claim(f"at {clock}, {event.text}", _SOURCE)


def _waited_in_store(evidence: Evidence) -> bool:
    """Return whether the error is that of a rank which waited for another one in the store."""
    raised = evidence.resolution.traceback
    return (
        evidence.resolution.cause == "collective"
        and raised is not None
        and raised.name == "DistStoreError"
        and raised.message.startswith("wait timeout")
    )


def _decide(found: StartObstacle, claims: tuple[Claim, ...], confidence: float) -> Finding:
    return Finding(
        FAMILY,
        Weight.DECIDES,
        found.because,
        cause=_CAUSE,
        confidence=confidence,
        over=frozenset(("collective",)),
        claims=claims,
        corrections={"obstacle": found.obstacle.value, **found.details},
    )


def _diagnose_wait(evidence: Evidence, found: StartObstacle, claim: Claim) -> Iterator[Finding]:
    """Yield the finding about a run that was still waiting when it was stopped."""
    waited_s = evidence.series(_SOURCE, "waiting_seconds").last
    if waited_s < thresholds.RENDEZVOUS_WAIT_S:
        return
    is_limit = evidence.resolution.cause in _LIMITS
    waited = f"it printed nothing but connection attempts for its last {waited_s:.0f} s"
    yield Finding(
        FAMILY,
        Weight.DECIDES if is_limit else Weight.WARNS,
        f"it waited for its other processes: {found.because}",
        cause=_CAUSE if is_limit else "",
        confidence=0.93,
        over=_LIMITS,
        kind="waits_for_rendezvous",
        claims=(claim, Claim(waited, _SOURCE)),
        corrections={"obstacle": found.obstacle.value, **found.details},
    )
