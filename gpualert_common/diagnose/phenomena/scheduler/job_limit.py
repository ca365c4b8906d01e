"""Slurm job that reached its time limit.

The job is in the state TIMEOUT (or DEADLINE), or Slurm sent a signal shortly before its limit, as
the option ``--signal`` orders it: within half an hour and a tenth of the limit.  If the run made no
progress for long before, the families of hangs find that, and the limit is only its consequence.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.scheduler._slurm_job import find_job, is_by_slurm, read_text
from gpualert_common.quantities import is_seconds

FAMILY = "F3"
_CAUSE = "time_limit"
_STATES = frozenset(("TIMEOUT", "DEADLINE"))


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the limit of the job, and the age of the last output at its end."""
    job = find_job(evidence)
    if evidence.resolution.cause != _CAUSE or job is None:
        return
    if read_text(job, "state") not in _STATES:
        if read_text(job, "state") == "RUNNING" and is_by_slurm(evidence):
            because = "a signal of Slurm stopped it shortly before the limit of its job"
            unknown = (
                "whether the option --signal of the job ordered the signal, or a person sent it"
            )
            yield Finding(
                FAMILY,
                Weight.DOUBTS,
                because,
                cause=_CAUSE,
                confidence=0.75,
                cannot_decide=(unknown,),
            )
        return
    details: dict[str, Scalar] = {"job": read_text(job, "job"), "node": read_text(job, "nodes")}
    limit_s = job.fields.get("time_limit_s")
    if is_seconds(limit_s):
        details["job_limit"] = _format_limit(limit_s)
    shown = f"{job.text}; the last output was {evidence.silence_s:.0f} s before the end"
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        shown,
        cause=_CAUSE,
        claims=(claim_of_event(job),),
        details={name: value for name, value in details.items() if value},
    )


def _format_limit(seconds: float) -> str:
    """Return a limit as Slurm writes it: "1-00:00:00"."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02}:{minute:02}:{second:02}"
    return f"{days}-{clock}" if days else clock
