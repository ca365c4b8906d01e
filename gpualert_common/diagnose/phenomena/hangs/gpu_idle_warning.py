"""The GPUs that the run holds are idle, after they had worked.

All GPUs on which it holds memory have been idle for ten minutes: saving a large model, or computing
metrics on the CPU, takes less.  A run that never used its GPUs, or released their
memory, raises no warning.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.phenomena.hangs._activity import holds_memory
from gpualert_common.diagnose.recent_series import is_fresh, recent
from gpualert_common.model import Claim

DO = (
    "read the end of the log, and see where each rank waits: `gpualert stacks RUN`",
    "missing data, a blocked file system and a lost peer look similar: `gpualert show` has details",
    "if it hangs, stop it to free the GPUs, and resume from the last checkpoint",
)
FOLLOWS = frozenset(("xid", "log_silent", "rendezvous_wait"))
PREDICTS = frozenset(("idle_hang", "collective", "rendezvous"))


def detect(evidence: Evidence) -> Detection | None:
    """Return whether all GPUs of the run are idle; None where the load of one is not known."""
    held = [gpu for gpu in evidence.gpus if holds_memory(evidence, gpu)]
    if not held:
        return NOT_DETECTED if evidence.gpus else None
    idle_since = [_idle_since(evidence, gpu) for gpu in held]
    known = [since for since in idle_since if since is not None]
    if len(known) < len(held):
        return None
    if any(since > evidence.ended_at - thresholds.GPU_IDLE_S for since in known):
        return NOT_DETECTED
    names = ", ".join(parse_index(gpu) for gpu in held)
    since = max(known)
    minutes = (evidence.ended_at - since) / 60
    shown = f"no kernel ran there for {minutes:.0f} minutes, and the run holds their memory"
    summary = f"GPU {names} idle" if len(held) == 1 else f"GPUs {names} idle"
    return Detection(summary, since, (Claim(shown, "nvml"),))


def _idle_since(evidence: Evidence, gpu: str) -> float | None:
    """Return when a GPU last worked; now for one that never did, None without samples."""
    load = evidence.series(gpu, "utilization_percent")
    now = evidence.ended_at
    if not is_fresh(load, now):
        return None
    window = recent(load, now, thresholds.GPU_IDLE_S)
    has_worked = load.until(now - thresholds.GPU_IDLE_S).peak >= thresholds.STARVED_GPU_PERCENT
    if not window or not has_worked or load.last >= thresholds.IDLE_GPU_PERCENT:
        return now
    if sum(window.value) / len(window.value) >= thresholds.IDLE_GPU_PERCENT:
        return now
    rows = zip(load.at, load.value, strict=True)
    last_at = max(at for at, value in rows if value >= thresholds.IDLE_GPU_PERCENT)
    return min(last_at, window.at[0])
