"""The run has stopped printing, for much longer than any pause before.

The limit depends on the other evidence.  A run that printed regularly, and whose CPU and GPU are
both idle, hangs after two minutes.  If one of them works, the limit is ten minutes: ranks that wait
for a lost rank keep their GPUs at 100 %, and the watchdogs of frameworks take as long.  The silence
must also last five times the longest pause so far, so that long evaluations and checkpoints raise
no warning.  The silence of a working run that never printed much raises no warning.  CPU and GPU
are measured over the last two minutes.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.phenomena.hangs._activity import (
    cores_used,
    gpu_percent,
    is_working,
)
from gpualert_common.model import Claim

DO = (
    "read the end of the log, and see where each rank waits: `gpualert stacks RUN`",
    "if it hangs, stop it, and resume from the last checkpoint",
)
FOLLOWS = frozenset(("xid", "gpu_idle", "rendezvous_wait"))
PREDICTS = frozenset(("idle_hang", "collective", "rendezvous"))


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the run has been silent for too long; None where its output is not timed."""
    timing = evidence.observations.timing
    if timing is None:
        return None
    printed_at = evidence.observations.last_output_at
    silence_s = evidence.ended_at - printed_at
    if silence_s < max(thresholds.SILENCE_S, thresholds.SILENCE_STEPS * timing.longest_pause_s):
        return NOT_DETECTED
    lately = max(printed_at, evidence.ended_at - thresholds.SILENCE_S)
    cores, gpu_load = cores_used(evidence, lately), gpu_percent(evidence, lately)
    works = is_working(cores, gpu_load)
    printed_much = timing.moments >= thresholds.LEAST_PRINTS
    if works and not printed_much:
        return NOT_DETECTED
    if (works or not printed_much) and silence_s < thresholds.LONG_SILENCE_S:
        return NOT_DETECTED
    shows = [Claim(_describe_silence(silence_s, timing.longest_pause_s), "log")]
    if cores is not None:
        shows.append(
            Claim(f"its processes used {cores:.2f} cores in the last minutes", "processes")
        )
    if gpu_load is not None:
        shows.append(Claim(f"its busiest GPU worked {gpu_load:.1f} % in the last minutes", "nvml"))
    stacks = evidence.events("process_blocked", "process_idle")
    shows += [claim_of_event(one) for one in stacks[-1:]]
    return Detection("nothing printed", printed_at, tuple(shows))


def _describe_silence(silence_s: float, longest_s: float) -> str:
    text = f"nothing was printed for {silence_s:.0f} s"
    return f"{text}; its longest pause before was {longest_s:.0f} s" if longest_s else text
