"""The GPUs that the run holds do nothing, after they had worked.

All those on which it holds memory have been idle for ten minutes: a checkpoint of a large model, or
metrics that the processor computes, take some.  A run that never used its GPUs, or gave their
memory back, is none of it.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.early._windows import is_fresh, last
from gpualert_common.diagnose.evidence import Evidence, number, seen

DO = (
    "look at the end of the log, and at what its processes wait for: `py-spy dump --pid PID`",
    "missing data, a hanging file system and a lost peer look alike: `gpualert show` has more",
    "if it hangs, stop it: the GPUs are paid for, and a training goes on from its last checkpoint",
)
FOLLOWS = frozenset(("xid", "log_silent"))
FORETELLS = frozenset(("idle_hang", "collective", "rendezvous"))


def judge(evidence: Evidence) -> Sign | None:
    """Whether all of its GPUs are idle; None where none of them says how busy it is."""
    held = [gpu for gpu in evidence.gpus if _is_held(evidence, gpu)]
    if not held:
        return FINE if evidence.gpus else None
    idle_since = [_idle_since(evidence, gpu) for gpu in held]
    known = [since for since in idle_since if since is not None]
    if len(known) < len(held):
        return None
    if any(since > evidence.ended_at - thresholds.GPU_IDLE_S for since in known):
        return FINE
    names = ", ".join(number(gpu) for gpu in held)
    since = max(known)
    minutes = (evidence.ended_at - since) / 60
    shown = f"no kernel ran there for {minutes:.0f} minutes, and the run holds their memory"
    says = f"GPU {names} idle" if len(held) == 1 else f"GPUs {names} idle"
    return Sign(says, since, (seen(shown, "nvml"),))


def _is_held(evidence: Evidence, gpu: str) -> bool:
    used = evidence.series(gpu, "memory_used_bytes")
    return is_fresh(used, evidence.ended_at) and used.last >= thresholds.GPU_USED_MIB * 2**20


def _idle_since(evidence: Evidence, gpu: str) -> float | None:
    """When it last worked, after that it had worked at all: now, if it never did; None: unknown."""
    busy = evidence.series(gpu, "utilization_percent")
    now = evidence.ended_at
    if not is_fresh(busy, now):
        return None
    window = last(busy, now, thresholds.GPU_IDLE_S)
    worked = busy.until(now - thresholds.GPU_IDLE_S).peak >= thresholds.STARVED_GPU_PERCENT
    if not window or not worked or busy.last >= thresholds.IDLE_GPU_PERCENT:
        return now
    if sum(window.value) / len(window.value) >= thresholds.IDLE_GPU_PERCENT:
        return now
    rows = zip(busy.at, busy.value, strict=True)
    last_at = max(at for at, value in rows if value >= thresholds.IDLE_GPU_PERCENT)
    return min(last_at, window.at[0])
