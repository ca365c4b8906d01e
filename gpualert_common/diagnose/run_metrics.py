"""Metrics of a run: its resources and progress, for comparison with later runs of the command."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.median import median
from gpualert_common.model import Disposition
from gpualert_common.progress import CheckpointAction, Progress, Start, determine_start

RunMetrics = dict[str, int | float | str | bool]
_Metrics = dict[str, int | float | str | bool | None]

SETTINGS = (
    *("CUDA_LAUNCH_BLOCKING", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
    *("NCCL_P2P_LEVEL", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_NVLS_ENABLE", "NCCL_ALGO"),
    *("NCCL_PROTO", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "TORCH_NCCL_BLOCKING_WAIT"),
    *("TORCH_DISTRIBUTED_DEBUG", "TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
    *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "CUBLAS_WORKSPACE_CONFIG"),
    *("CUDA_DEVICE_MAX_CONNECTIONS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
)
"""Variables that make a training slower or faster.  No others of an environment are stored."""
_VERSIONS = (
    *("driver", "python", "torch", "tensorflow", "jax", "jaxlib", "transformers", "accelerate"),
    *("deepspeed", "lightning", "flash_attn", "triton"),
)
_VALUE = re.compile(r"[\w.,:+-]{1,32}")
_MOST_CHARS = 300
_MANY = 120
"""A stream keeps 256 of its events, the first and the latest; beyond this, some may be missing."""


def measure_run(evidence: Evidence) -> RunMetrics:
    """Return the known metrics, under the names of :class:`gpualert_common.history.PastRun`.

    ``wasted_gpu_seconds`` is the part of a failed run without a lasting result: all of it, or the
    part after its last checkpoint, by the share of its steps.
    """
    found = {**_gpu_metrics(evidence), **_settings(evidence)}
    resident = evidence.series("host:tree", "rss_bytes")
    if resident:
        found["peak_host_memory_bytes"] = int(resident.peak)
    if evidence.progress is not None:
        found |= _training_metrics(evidence.progress, evidence.observations.stepping)
    return {name: value for name, value in found.items() if value is not None}


def _gpu_metrics(evidence: Evidence) -> _Metrics:
    if not evidence.gpus:
        return {}
    count, seconds = len(evidence.gpus), evidence.duration_s
    held = [evidence.series(gpu, "memory_used_bytes").peak for gpu in evidence.gpus]
    loads = [load for gpu in evidence.gpus if (load := evidence.gpu_load(gpu)) is not None]
    lost = _lost_share(evidence.progress)
    is_lost = evidence.has_failed and evidence.resolution.disposition is not Disposition.UNKNOWN
    return {
        "gpus": count,
        "gpu_model": evidence.gpu_model,
        "gpu_seconds": round(count * seconds, 1),
        "wasted_gpu_seconds": round(count * seconds * lost, 1) if is_lost else None,
        "peak_gpu_memory_bytes": int(max(held)),
        "gpu_percent": round(max(loads), 1) if len(loads) == count else None,
    }


def _settings(evidence: Evidence) -> _Metrics:
    """Return the settings and versions of known names with plain values."""
    facts = evidence.get_facts("environment")
    if not facts:
        return {}
    driver = evidence.get_facts("nvml").get("driver")
    return {
        "cpus": facts.get("cpus_allowed"),
        "settings": _assignments(facts.get("variables", {}), SETTINGS),
        "versions": _assignments({"driver": driver, **facts.get("versions", {})}, _VERSIONS),
    }


def _assignments(given: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return NAME=VALUE for each of these names, as many as fit."""
    text = ""
    for name in names:
        value = str(given.get(name) or "")
        if _VALUE.fullmatch(value):
            longer = f"{text} {name}={value}".lstrip()
            text = longer if len(longer) <= _MOST_CHARS else text
    return text


def _training_metrics(progress: Progress, stepping: tuple[int, float] | None) -> _Metrics:
    counts = progress.counts
    losses = [one.loss for one in progress.points if one.loss is not None]
    losses = [loss for loss in losses if math.isfinite(loss)]
    rates = [one.throughput for one in progress.points if one.throughput]
    units = {one.throughput_unit for one in progress.points if one.throughput}
    start = determine_start(progress).start
    steps = None
    if counts.last_step is not None and counts.first_step is not None:
        steps = counts.last_step - counts.first_step
    return {
        "steps": steps,
        "last_step": counts.last_step,
        "total_steps": counts.total_steps,
        "step_time_s": find_step_time_s(progress, stepping),
        "throughput": median(rates) if rates and len(units) == 1 else None,
        "throughput_unit": units.pop() if rates and len(units) == 1 else None,
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if losses else None,
        "best_loss": min(losses, default=None),
        "resumed": None if start is Start.UNKNOWN else start is Start.RESUMED,
        "saves": None if steps is None else count_saves(progress),
    }


def count_saves(progress: Progress) -> int:
    """Return the number of checkpoints that a training saved.

    Several lines about one step are one checkpoint.  If not all of these events are stored, it
    follows from the usual number of steps between two.
    """
    saves = [one for one in progress.checkpoints if one.action is CheckpointAction.SAVED]
    at = [one.step for one in saves if one.step is not None]
    count = len(set(at)) or len(saves)
    gaps = [after - before for before, after in pairwise(at) if after > before]
    if len(saves) < _MANY or not gaps:
        return count
    return max(count, round((at[-1] - at[0]) / median(gaps)))


def find_step_time_s(progress: Progress, stepping: tuple[int, float] | None) -> float | None:
    """Return the time of a step as the log reports it, else by the clock.

    The clock also counts the work between steps.
    """
    reported = [one.step_s for one in progress.points if one.step_s]
    if reported:
        return median(reported)
    if stepping is None or stepping[1] < thresholds.LEAST_TIMED_S:
        return None
    return stepping[1] / stepping[0]


def _lost_share(progress: Progress | None) -> float:
    """Return the lost share of a failed run: all of it, or the part after its last checkpoint."""
    if progress is None:
        return 1.0
    first, last = progress.counts.first_step, progress.counts.last_step
    saved = [
        one.step
        for one in progress.checkpoints
        if one.action is CheckpointAction.SAVED and one.step is not None
    ]
    if not saved or first is None or last is None or last <= first:
        return 1.0
    return min(1.0, max(0.0, (last - max(saved)) / (last - first)))
