"""A run that failed before training began.

The log has no step of a training, or the program's traceback comes before the first one.  If NVML
was available, its GPUs also held no more than a context, or had not worked for long: this excludes
a training whose steps are only in an unknown format.  The same failure of a run that had trained
has no family.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.rule_text import format_size
from gpualert_common.model import Claim

FAMILY = "A1"
CAUSES = frozenset(
    (
        *("missing_module", "dependency", "command_not_found", "compile_error", "cuda_environment"),
        *("config", "pickling", "data", "asset", "file_not_found", "permission", "network"),
        *("checkpoint", "shape_mismatch", "dtype_mismatch", "device_mismatch", "div_zero"),
        *("assertion", "runtime_error", "traceback"),
    )
)
"""Causes that have this family when the run fails before it trains."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether a run that failed had begun to train."""
    cause = evidence.resolution.cause
    if not evidence.has_failed or cause not in CAUSES:
        return
    if evidence.has_trained:
        yield Finding(FAMILY, Weight.RULED_OUT, _describe_training(evidence))
        return
    claims = []
    if evidence.progress is not None:
        claims.append(Claim("the log reports no step of a training", "progress"))
    held = _describe_idle_memory(evidence)
    if held:
        claims.append(Claim(held, "nvml"))
    if held and claims:
        because = "it failed before training began"
        yield Finding(FAMILY, Weight.SUPPORTS, because, cause=cause, claims=tuple(claims))


def _describe_training(evidence: Evidence) -> str:
    if evidence.progress is not None and evidence.progress.counts.last_step:
        return f"it had reported step {evidence.progress.counts.last_step}"
    if evidence.resolution.has_trained:
        return "its log reports a step"
    return f"a GPU had worked for {evidence.gpu_work_s:.0f} s"


def _describe_idle_memory(evidence: Evidence) -> str:
    """Return the memory use of its GPUs in words, if it was almost nothing; else ""."""
    every = [of for of in evidence.telemetry.list_entities("gpu") if "/" not in of]
    if not every:
        return ""
    if not evidence.gpus:
        return "none of the GPUs held memory for the run"
    peaks = {
        gpu: (
            evidence.series(gpu, "memory_used_bytes").peak,
            evidence.series(gpu, "memory_total_bytes").peak,
        )
        for gpu in evidence.gpus
    }
    fullest = max(peaks, key=lambda gpu: peaks[gpu][0])
    held, total = peaks[fullest]
    if held >= thresholds.CONTEXT_ONLY * total:
        return ""
    return f"GPU {parse_index(fullest)} held {format_size(int(held))} at most"
