"""Activity of a run's processors and GPUs since its last output.

The first samples after that still have the end of the work that was printed, and do not count.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.recent_series import is_fresh


def cores_used(evidence: Evidence, since: float) -> float | None:
    """Return the mean number of busy cores from *since* on; None for too short a time."""
    cpu = evidence.series("host:tree", "cpu_seconds_total").since(since + thresholds.SAMPLE_DELAY_S)
    if len(cpu.at) < 2 or (passed_s := cpu.at[-1] - cpu.at[0]) < thresholds.SILENCE_S / 2:
        return None
    return cpu.rise / passed_s


def gpu_percent(evidence: Evidence, since: float) -> float | None:
    """Return the mean load of the busiest GPU of the run from *since* on; None without samples."""
    begin = since + thresholds.SAMPLE_DELAY_S
    loads = [evidence.series(gpu, "utilization_percent").since(begin) for gpu in evidence.gpus]
    means = [sum(one.value) / len(one.value) for one in loads if one]
    return max(means, default=None)


def holds_memory(evidence: Evidence, gpu: str) -> bool:
    """Return whether the run holds memory of a GPU at present."""
    used = evidence.series(gpu, "memory_used_bytes")
    return is_fresh(used, evidence.ended_at) and used.last >= thresholds.GPU_USED_MIB * 2**20


def is_working(cores: float | None, gpu_load: float | None) -> bool:
    """Return whether a processor or a GPU works; an unknown number of cores counts as work."""
    cpu_works = cores is None or cores >= thresholds.IDLE_CPU
    return cpu_works or (gpu_load or 0.0) >= thresholds.IDLE_GPU_PERCENT
