"""Stop of a Slurm job by preemption, a requeue, or a person.

The state of the job decides: PREEMPTED, REQUEUED, or CANCELLED with the number of the user.  After
a requeue the newest start of the same job shows its final state.  A signal of Slurm to a job that
goes on was for a step alone, or sent by ``scancel --signal``.  Without Slurm's records the signal
alone does not show why Slurm stopped the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.scheduler._slurm_job import (
    find_job,
    is_by_slurm,
    read_text,
)
from gpualert_common.slurm.users import describe_user
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "F2"
_CAUSES = frozenset(("preempted", "cancelled"))
_ENDED = {
    "preempted": frozenset(("PREEMPTED", "REQUEUED", "SPECIAL_EXIT")),
    "cancelled": frozenset(("CANCELLED", "REVOKED")),
}


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the state of the job that was stopped, or the doubt about the reason."""
    cause, job = evidence.resolution.cause, find_job(evidence)
    if cause not in _CAUSES:
        return
    if job is not None and _has_ended_as(job, cause):
        yield Finding(
            FAMILY,
            Weight.SUPPORTS,
            job.text,
            cause=cause,
            claims=(claim_of_event(job),),
            details=_describe(job, cause),
        )
    elif job is not None and (_is_running(job) or read_text(job, "step_state") == "CANCELLED"):
        because = "only a step of the job was stopped"
        unknown = "who stopped the step: a person, or srun because another task of it failed"
        yield _doubt(cause, because, unknown, 0.6)
    elif is_by_slurm(evidence) and not evidence.resolution.evidence:
        because = "a signal of Slurm stopped it, and no record of Slurm shows the reason"
        unknown = "whether it was preempted, cancelled, or at its time limit"
        yield _doubt(cause, because, unknown, 0.5)


def _has_ended_as(job: TelemetryEvent, cause: str) -> bool:
    is_step = read_text(job, "step_state") == "CANCELLED" and "step_by_uid" in job.fields
    return read_text(job, "state") in _ENDED[cause] or (cause == "cancelled" and is_step)


def _is_running(job: TelemetryEvent) -> bool:
    return read_text(job, "state") == "RUNNING"


def _doubt(cause: str, because: str, unknown: str, confidence: float) -> Finding:
    return Finding(
        FAMILY,
        Weight.DOUBTS,
        because,
        cause=cause,
        confidence=confidence,
        cannot_decide=(unknown,),
    )


def _describe(job: TelemetryEvent, cause: str) -> dict[str, Scalar]:
    details: dict[str, Scalar] = {"job": read_text(job, "job"), "node": read_text(job, "nodes")}
    next_state = read_text(job, "next_state")
    if next_state:
        details |= {"what": "requeued", "next_state": next_state}
    if read_text(job, "waited_for"):
        details["waited_for"] = read_text(job, "waited_for")
    uid = job.fields.get("by_uid", job.fields.get("step_by_uid"))
    if cause == "cancelled" and uid is not None:
        details["cancelled_by"] = describe_user(uid)
    return {name: value for name, value in details.items() if value}
