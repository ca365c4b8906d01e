"""The run has stopped to print, for much longer than it ever paused before.

How long that is depends on what else is seen.  A run that used to print and of which nothing works
any more, neither processor nor GPU, hangs after two minutes already; while something is at work,
after ten: ranks that wait for a lost one keep their GPUs at 100 %, and the watchdogs of frameworks
take as long.  Five times the longest pause so far it takes at least, so that an evaluation or a
checkpoint which always takes a while is no news.  Of a run that works and never printed much,
silence says nothing.  What works is seen over the last two minutes.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.evidence import Evidence, claim, seen
from gpualert_common.diagnose.families.hang import cores_used, gpu_percent

DO = (
    "look at the end of the log, and at what its processes wait for: `py-spy dump --pid PID`",
    "ranks that wait in a collective wait for the one that does not: look which rank is elsewhere",
    "if it hangs, stop it: a training goes on from its last checkpoint",
)
FOLLOWS = frozenset(("xid", "gpu_idle"))
FORETELLS = frozenset(("idle_hang", "collective", "rendezvous"))


def judge(evidence: Evidence) -> Sign | None:
    """Whether it has been silent for too long; None where nobody looked how it prints."""
    printing = evidence.observed.printing
    if printing is None:
        return None
    printed_at = evidence.observed.last_output_at
    silence_s = evidence.ended_at - printed_at
    if silence_s < max(thresholds.SILENCE_S, thresholds.SILENCE_STEPS * printing.longest_pause_s):
        return FINE
    printed_much = printing.moments >= thresholds.LEAST_PRINTS
    lately = max(printed_at, evidence.ended_at - thresholds.SILENCE_S)
    cores = cores_used(evidence, lately)
    busy = gpu_percent(evidence, lately)
    works = (cores is None or cores >= thresholds.IDLE_CPU) or (
        (busy or 0.0) >= thresholds.IDLE_GPU_PERCENT
    )
    if works and not printed_much:
        return FINE
    if (works or not printed_much) and silence_s < thresholds.LONG_SILENCE_S:
        return FINE
    shows = [seen(_pauses(silence_s, printing.longest_pause_s), "log")]
    if cores is not None:
        shows.append(seen(f"its processes used {cores:.2f} cores of late", "processes"))
    if busy is not None:
        shows.append(seen(f"its busiest GPU worked {busy:.1f} % of late", "nvml"))
    shows += [claim(one) for one in evidence.happened("process_blocked", "process_idle")[-1:]]
    return Sign("nothing printed", printed_at, tuple(shows))


def _pauses(silence_s: float, longest_s: float) -> str:
    said = f"nothing was printed for {silence_s:.0f} s"
    return f"{said}; its longest pause before was {longest_s:.0f} s" if longest_s else said
