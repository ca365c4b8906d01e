"""The run hangs, by the limit that its user set (option ``hang_timeout``).

It printed nothing for that time, and its stacks, taken then and again 30 s later, show its
processes at the same places.  A process that computes at changing places, and ranks that wait for
one, do not hang.  Where no stacks can be read, idle processors and GPUs decide.  With
``on_hang = "stop"`` the run is stopped.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.phenomena.hangs._activity import (
    cores_used,
    gpu_percent,
    is_working,
)
from gpualert_common.model import Claim
from gpualert_common.stacks.reasons import HangReason

DO = (
    "see where each rank stands: `gpualert stacks RUN`",
    "if it hangs, stop it, and resume from the last checkpoint",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("idle_hang", "collective", "rendezvous"))


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the run hangs; None without a limit."""
    limit_s = evidence.observations.hang_timeout_s
    if limit_s is None:
        return None
    last_output_at = evidence.observations.last_output_at
    silence_s = evidence.ended_at - last_output_at
    if silence_s < limit_s:
        return NOT_DETECTED
    silent = Claim(f"nothing was printed for {silence_s:.0f} s", "log")
    taken = [one.at for one in evidence.observations.stacks if one.at >= last_output_at + limit_s]
    hang = evidence.hang
    has_second = bool(taken) and taken[-1] - taken[0] >= thresholds.LEAST_BETWEEN_DUMPS_S
    if hang is None or not has_second:
        if silence_s < limit_s + 2 * (thresholds.BETWEEN_DUMPS_S + thresholds.SAMPLE_DELAY_S):
            return NOT_DETECTED  # the second dump may still come
        cores, load = cores_used(evidence, last_output_at), gpu_percent(evidence, last_output_at)
        return NOT_DETECTED if is_working(cores, load) else _make(last_output_at, silent)
    if not hang.is_confirmed and hang.reason not in (HangReason.STOPPED, HangReason.DEBUGGER):
        return NOT_DETECTED
    return _make(last_output_at, silent, Claim(hang.text, "stacks", rank=hang.rank))


def _make(since: float, *shows: Claim) -> Detection:
    return Detection("hung", since, shows)
