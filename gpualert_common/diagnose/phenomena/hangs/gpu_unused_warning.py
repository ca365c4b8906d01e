"""The run holds GPUs that it has not used for hours.

No kernel ran on a GPU for two hours, and the run held memory of it all the time: it may be a
notebook that somebody left, a server without requests, or a training that never began.  Each GPU
counts by itself; a GPU that worked before and is idle for minutes is the warning ``gpu_idle``.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.phenomena.hangs._activity import holds_memory
from gpualert_common.diagnose.recent_series import recent
from gpualert_common.model import Claim

DO = (
    "end it if nobody needs it, or release the memory of the GPUs, so that others can use them",
    "if it ought to compute, see where it waits: `gpualert stacks RUN`",
)
FOLLOWS = frozenset(("gpu_idle", "hung", "log_silent", "rendezvous_wait", "xid"))
PREDICTS: frozenset[str] = frozenset()


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the run holds GPUs in vain; None without GPUs."""
    if not evidence.gpus:
        return None
    unused = [gpu for gpu in evidence.gpus if _is_unused(evidence, gpu)]
    if not unused:
        return NOT_DETECTED
    names = ", ".join(map(parse_index, unused))
    hours = thresholds.GPU_UNUSED_S / 3600
    shown = f"no kernel ran there for {hours:.0f} hours, and the run holds their memory"
    summary = f"GPU {names} unused" if len(unused) == 1 else f"GPUs {names} unused"
    since = evidence.ended_at - thresholds.GPU_UNUSED_S
    return Detection(summary, since, (Claim(shown, "nvml"),))


def _is_unused(evidence: Evidence, gpu: str) -> bool:
    """Return whether a GPU was held, and idle, for the whole time."""
    now = evidence.ended_at
    load = recent(evidence.series(gpu, "utilization_percent"), now, thresholds.GPU_UNUSED_S)
    used = recent(evidence.series(gpu, "memory_used_bytes"), now, thresholds.GPU_UNUSED_S)
    if not load or not used or not holds_memory(evidence, gpu):
        return False
    is_idle = sum(load.value) / len(load.value) < thresholds.IDLE_GPU_PERCENT
    return is_idle and used.least >= thresholds.GPU_USED_MIB * 2**20
