"""What a run used and did, in numbers that later runs of the same command can be compared with."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from gpualert_common.diagnose import thresholds
from gpualert_common.model import Disposition
from gpualert_common.progress import CheckpointAction, Progress, Start, beginning_of

if TYPE_CHECKING:
    from gpualert_common.diagnose.evidence import Evidence

Measured = dict[str, float | str | bool]
_Found = dict[str, float | str | bool | None]

SETTINGS = (
    *("CUDA_LAUNCH_BLOCKING", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
    *("NCCL_P2P_LEVEL", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_NVLS_ENABLE", "NCCL_ALGO"),
    *("NCCL_PROTO", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "TORCH_NCCL_BLOCKING_WAIT"),
    *("TORCH_DISTRIBUTED_DEBUG", "TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
    *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "CUBLAS_WORKSPACE_CONFIG"),
    *("CUDA_DEVICE_MAX_CONNECTIONS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
)
"""Variables that make a training slower or faster: what is kept of an environment, and no more."""
_VERSIONS = (
    *("driver", "python", "torch", "tensorflow", "jax", "jaxlib", "transformers", "accelerate"),
    *("deepspeed", "lightning", "flash_attn", "triton"),
)
_VALUE = re.compile(r"[\w.,:+-]{1,32}")
_MOST_CHARS = 300
_MANY = 120
"""Of a stream's events 256 are kept, the first and the latest."""


def measured(evidence: Evidence) -> Measured:
    """What is known of it, under the names of :class:`gpualert_common.history.PastRun`.

    Wasted is what a run that failed left nothing of: all of it, or what came after the last
    checkpoint that it saved, by its share of the steps.
    """
    found = {**_gpus(evidence), **_given(evidence)}
    resident = evidence.series("host:tree", "rss_bytes")
    if resident:
        found["peak_host_memory_bytes"] = int(resident.peak)
    if evidence.progress is not None:
        found |= _trained(evidence.progress, evidence.observed.stepping)
    return {name: value for name, value in found.items() if value is not None}


def _gpus(evidence: Evidence) -> _Found:
    if not evidence.gpus:
        return {}
    count, seconds = len(evidence.gpus), evidence.lasted_s
    held = [evidence.series(gpu, "memory_used_bytes").peak for gpu in evidence.gpus]
    loads = [load for gpu in evidence.gpus if (load := evidence.load_of(gpu)) is not None]
    lost = _lost_share(evidence.progress)
    is_lost = evidence.failed and evidence.resolution.disposition is not Disposition.UNKNOWN
    return {
        "gpus": count,
        "gpu_model": evidence.gpu_model,
        "gpu_seconds": round(count * seconds, 1),
        "wasted_gpu_seconds": round(count * seconds * lost, 1) if is_lost else None,
        "peak_gpu_memory_bytes": int(max(held)),
        "gpu_percent": round(max(loads), 1) if len(loads) == count else None,
    }


def _given(evidence: Evidence) -> _Found:
    """What it was given that makes a training slow or fast; known names and plain values only."""
    facts = evidence.facts_of("environment")
    if not facts:
        return {}
    driver = evidence.facts_of("nvml").get("driver")
    return {
        "cpus": facts.get("cpus_allowed"),
        "settings": _words(facts.get("variables", {}), SETTINGS),
        "versions": _words({"driver": driver, **facts.get("versions", {})}, _VERSIONS),
    }


def _words(given: Mapping[str, Any], names: Sequence[str]) -> str:
    """NAME=VALUE of what is given under these names, as many as fit."""
    text = ""
    for name in names:
        value = str(given.get(name) or "")
        if _VALUE.fullmatch(value):
            longer = f"{text} {name}={value}".lstrip()
            text = longer if len(longer) <= _MOST_CHARS else text
    return text


def _trained(progress: Progress, stepping: tuple[int, float] | None) -> _Found:
    counts = progress.counts
    losses = [one.loss for one in progress.points if one.loss is not None]
    losses = [loss for loss in losses if math.isfinite(loss)]
    rates = [one.throughput for one in progress.points if one.throughput]
    units = {one.throughput_unit for one in progress.points if one.throughput}
    start = beginning_of(progress).start
    steps = None
    if counts.last_step is not None and counts.first_step is not None:
        steps = counts.last_step - counts.first_step
    return {
        "steps": steps,
        "last_step": counts.last_step,
        "total_steps": counts.total_steps,
        "step_time_s": _step_time_s(progress, stepping),
        "throughput": median(rates) if rates and len(units) == 1 else None,
        "throughput_unit": units.pop() if rates and len(units) == 1 else None,
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if losses else None,
        "best_loss": min(losses, default=None),
        "resumed": None if start is Start.UNKNOWN else start is Start.RESUMED,
        "saves": None if steps is None else saves_of(progress),
    }


def saves_of(progress: Progress) -> int:
    """How many checkpoints it saved; where not all are kept, by the usual steps between two."""
    saves = [one for one in progress.checkpoints if one.action is CheckpointAction.SAVED]
    at = [one.step for one in saves if one.step is not None]
    gaps = [after - before for before, after in pairwise(at) if after > before]
    if len(saves) < _MANY or not gaps:
        return len(saves)
    return max(len(saves), round((at[-1] - at[0]) / median(gaps)))


def _step_time_s(progress: Progress, stepping: tuple[int, float] | None) -> float | None:
    """As its lines tell it; else by the clock, which counts what is done between steps, too."""
    told = [one.step_s for one in progress.points if one.step_s]
    if told:
        return median(told)
    if stepping is None or stepping[1] < thresholds.LEAST_TIMED_S:
        return None
    return stepping[1] / stepping[0]


def _lost_share(progress: Progress | None) -> float:
    """Which part of a run that failed is lost: that after its last checkpoint, if it saved one."""
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
