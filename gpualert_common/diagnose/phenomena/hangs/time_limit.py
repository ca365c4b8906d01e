"""Run that was still making progress at its time limit: how far it was, and what it needed.

The time that it needed follows from the steps that were left and the time of a step, as the log
reports it or by the clock.  A run that printed nothing in its last two minutes is left to the
family of hangs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.rule_text import format_estimate
from gpualert_common.diagnose.run_metrics import find_step_time_s
from gpualert_common.model import Claim

FAMILY = "F3"
_CAUSE = "time_limit"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the progress of a run that reached its time limit while it worked."""
    progress = evidence.progress
    if evidence.resolution.cause != _CAUSE or progress is None or not evidence.ended_at:
        return
    if evidence.silence_s >= thresholds.SILENCE_S:
        return
    last, total = progress.counts.last_step, progress.counts.total_steps
    if last is None or not total or not 0 < last < total:
        return
    position = f"step {last:g} of {total:g}"
    details: dict[str, Scalar] = {"progress": position, "pace": "steady"}
    shown = f"it was at {position}; its last output was {evidence.silence_s:.0f} s before its end"
    step_s = find_step_time_s(progress, evidence.observations.stepping)
    if step_s is not None:
        needed_s = (total - last) * step_s
        details |= {"needed": format_estimate(needed_s), "needed_s": round(needed_s)}
        shown += f"; at {step_s:.3g} s per step it needed {format_estimate(needed_s)} more"
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        shown,
        cause=_CAUSE,
        claims=(Claim(shown, "log"),),
        details=details,
    )
