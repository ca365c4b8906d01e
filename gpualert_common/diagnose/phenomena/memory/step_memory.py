"""Step of a Slurm job that ran out of memory.

Slurm's state of the step decides (OUT_OF_MEMORY), also where the job itself is FAILED because its
batch script passed on the exit status of ``srun``.  The step is that of the run, or one that it
started.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.telemetry.slurm_events import STEP_MEMORY

FAMILY = "A2"
_CAUSE = "oom_killer"
_OVER = frozenset(
    (
        *("killed_unknown", "collective", "rendezvous", "runtime_error", "traceback", "segfault"),
        *("cancelled", "preempted", "none", _CAUSE),
    )
)
"""Causes that the exit status and the remaining processes suggest after a kill."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the step whose process the kernel killed."""
    found = [one for one in evidence.events(STEP_MEMORY) if one.source == "slurm"]
    if not found or not evidence.has_failed:
        return
    step = found[-1].fields.get("step")
    yield Finding(
        FAMILY,
        Weight.DECIDES,
        found[-1].text,
        cause=_CAUSE,
        confidence=0.96,
        over=_OVER,
        claims=(claim_of_event(found[-1]),),
        details={"limit_kind": "cgroup", "slurm_step": step if isinstance(step, str) else None},
        cannot_decide=("which process of the step was killed, unless another source names it",),
    )
