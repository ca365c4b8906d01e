"""The job that the run follows waits in Slurm for a reason that does not pass by itself.

The usual one is a dependency that can never be satisfied (DependencyNeverSatisfied): the job before
did not end as ``--dependency`` asks, and unless Slurm is told to cancel such jobs
(``--kill-on-invalid-dep=yes``, or ``kill_invalid_depend`` of the cluster) it waits for ever.
Partitions that are down, and requests that no node can meet, count, too.  A job that somebody holds
does not, and neither does one that waits for resources, its priority or its begin.
"""

from __future__ import annotations

from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.telemetry.slurm_events import FOLLOWED

DO = (
    "see what it waits for: `scontrol show job JOB`",
    "cancel it (`scancel JOB`, or `gpualert stop RUN` if gpualert submitted it)",
    "after a failed dependency, repeat the failed job first, and submit this one again",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("cancelled",))
_MOST_CHARS = 60


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the job waits for ever; None for a run that follows no job."""
    events = evidence.events(FOLLOWED)
    if not events:
        return None
    last = events[-1]
    if last.fields.get("waits_for_ever") is not True:
        return NOT_DETECTED
    job, reason = (str(last.fields.get(name, ""))[:_MOST_CHARS] for name in ("job", "reason"))
    return Detection(f"job {job} waiting for ever ({reason})", last.at, (claim_of_event(last),))
