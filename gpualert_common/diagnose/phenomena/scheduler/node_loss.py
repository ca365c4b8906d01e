"""Node of a Slurm job that failed, or no longer answers.

A job in the state NODE_FAIL or BOOT_FAIL lost a node, and Slurm ended it on the others.  Before
Slurm notices that, ranks on other nodes may report a lost peer or a failed rendezvous; then a node
of the job that went down, or does not answer, is the cause.  A node that only leaves service after
its jobs (drained) is none, and a node that was lost in a run that failed by itself is a warning.
Slurm's events name the node; without them it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.scheduler._slurm_job import SOURCE, find_job, read_text
from gpualert_common.telemetry.series import TelemetryEvent
from gpualert_common.telemetry.slurm_events import NODE_LOST

FAMILY = "F1"
_CAUSE = "node_failure"
_STATES = frozenset(("NODE_FAIL", "BOOT_FAIL"))
_OVER = frozenset(("collective", "rendezvous", "killed_unknown", "cancelled", "preempted", _CAUSE))
"""Causes that a lost node has on the other nodes of its job."""
_UNNAMED = "which node failed: Slurm's events do not name it"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the node that the job lost."""
    job = find_job(evidence)
    lost = [one for one in evidence.events(NODE_LOST) if one.source == SOURCE]
    has_failed_job = job is not None and read_text(job, "state") in _STATES
    if not evidence.has_failed or not (lost or has_failed_job):
        return
    claims = [] if job is None else [claim_of_event(job)]
    claims += [claim_of_event(one) for one in lost[:2]]
    because = lost[0].text if lost else claims[0].claim
    details = _describe(job, lost)
    if has_failed_job and evidence.resolution.cause == _CAUSE:
        unknown = () if lost else (_UNNAMED,)
        yield Finding(
            FAMILY,
            Weight.DECIDES,
            because,
            cause=_CAUSE,
            confidence=0.98,
            over=_OVER,
            claims=tuple(claims),
            details=details,
            cannot_decide=unknown,
        )
    elif lost and evidence.resolution.cause in _OVER:
        yield Finding(
            FAMILY,
            Weight.DECIDES,
            because,
            cause=_CAUSE,
            confidence=0.92,
            over=_OVER,
            claims=tuple(claims),
            details=details,
        )
    elif lost:
        yield Finding(FAMILY, Weight.WARNS, because, kind="node_lost")


def _describe(job: TelemetryEvent | None, lost: list[TelemetryEvent]) -> dict[str, Scalar]:
    details: dict[str, Scalar] = {}
    if job is not None:
        details["job"] = read_text(job, "job")
        details["next_state"] = read_text(job, "next_state") or None
    names = [read_text(one, "node") for one in lost]
    if names:
        details["node"] = ", ".join(dict.fromkeys(names))
        details["node_reason"] = read_text(lost[0], "reason") or None
    return {name: value for name, value in details.items() if value}
