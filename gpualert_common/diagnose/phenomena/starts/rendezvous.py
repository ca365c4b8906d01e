"""Processes of a distributed run that do not find each other, before the first step.

The source ``rendezvous`` tries the coordinator's address while the run waits.  If the log reports a
failed rendezvous, the trial decides its reason: a name that is not resolved, a port on which nobody
listens, a machine that does not answer, an occupied port, processes that are missing.  A run that
was stopped, or reached its time limit, without an error waited for a rendezvous if it had printed
nothing but connection attempts for a minute, its processes were idle, and the trial shows an
obstacle that no complete group can have.  A connection that is accepted shows that only while a
launcher has not started its ranks.  A training that has begun, and any other error, excludes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.starts._coordinator import (
    StartObstacle,
    explain_conflict,
    explain_state,
    is_complete,
)
from gpualert_common.model import Claim
from gpualert_common.structs import ValidationError, convert
from gpualert_common.telemetry.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "C1"
_CAUSE = "rendezvous"
_SOURCE = "rendezvous"
_STOPPED = frozenset(("time_limit", "cancelled", "preempted", "killed_unknown"))
"""Causes of a run that a person or a limit stopped."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield why the processes do not find each other, if a trial shows it."""
    event = _find_last_event(evidence)
    if event is None or evidence.has_trained:
        return
    reported = evidence.resolution.cause == _CAUSE
    if not reported and not (evidence.is_running or evidence.resolution.cause in _STOPPED):
        return
    try:
        if event.what == "port_in_use":
            found: StartObstacle | None = explain_conflict(convert(event.fields, PortConflict))
            complete = False
        else:
            state = convert(event.fields, CoordinatorState)
            found, complete = explain_state(state), is_complete(state)
    except ValidationError:
        return  # of a later release
    claim = Claim(event.text, _SOURCE)
    if found is not None and reported:
        yield _decide(found, claim)
    elif complete and not reported:
        yield Finding(FAMILY, Weight.RULED_OUT, "all processes that it announced had joined")
    elif found is not None and found.is_certain and event.what != "port_in_use":
        yield from _diagnose_wait(evidence, found, claim)


def _find_last_event(evidence: Evidence) -> TelemetryEvent | None:
    """Return the last state; None if the run passed its rendezvous after it."""
    events = evidence.events("rendezvous_state", "port_in_use", "training_began")
    if not events or events[-1].what == "training_began":
        return None
    conflicts = [one for one in events if one.what == "port_in_use"]
    return (conflicts or events)[-1]


def _decide(found: StartObstacle, claim: Claim) -> Finding:
    return Finding(
        FAMILY,
        Weight.DECIDES,
        found.because,
        cause=_CAUSE,
        confidence=0.97 if found.is_certain else 0.9,
        claims=(claim,),
        corrections={"obstacle": found.obstacle.value, **found.details},
    )


def _diagnose_wait(evidence: Evidence, found: StartObstacle, claim: Claim) -> Iterator[Finding]:
    """Yield the finding about a run that was still waiting when it was stopped."""
    waited_s = evidence.series(_SOURCE, "waiting_seconds").last
    if waited_s < thresholds.RENDEZVOUS_WAIT_S:
        return
    is_limit = evidence.resolution.cause == "time_limit"
    waited = f"it printed nothing but connection attempts for its last {waited_s:.0f} s"
    yield Finding(
        FAMILY,
        Weight.DECIDES if is_limit else Weight.WARNS,
        f"it waited for its other processes: {found.because}",
        cause=_CAUSE if is_limit else "",
        confidence=0.93,
        over=frozenset(("time_limit",)),
        kind="waits_for_rendezvous",
        claims=(claim, Claim(waited, _SOURCE)),
        corrections={"obstacle": found.obstacle.value, **found.details},
    )
