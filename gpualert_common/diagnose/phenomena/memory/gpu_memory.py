"""Out of GPU memory: whether the memory in use agrees with the error in the log.

The log names the cause.  The memory in use agrees when it came near the size of the card.
Otherwise one of three reasons explains the error and is reported: a single request larger than the
memory left, other processes on the card, or a rise between two samples.  In a run with another end,
cards that never were nearly full speak against this family.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.rule_text import format_size
from gpualert_common.model import Claim

FAMILY = "B1"
_CAUSE = "cuda_oom"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about an error in the log from the memory of the cards."""
    if not evidence.gpus:
        return
    if evidence.resolution.cause != _CAUSE:
        yield from _rule_out(evidence)
        return
    gpu, peak, total = max(
        ((gpu, *_peak(evidence, gpu)) for gpu in evidence.gpus), key=lambda one: one[1] / one[2]
    )
    others = _sum_memory_of_others(evidence, gpu)
    claims = [
        Claim(
            f"GPU {parse_index(gpu)} held {format_size(peak)} of {format_size(total)} at most",
            "nvml",
        )
    ]
    details: dict[str, Scalar] = {"peak_bytes": peak, "gpu": int(parse_index(gpu))}
    corrections: dict[str, Scalar] = {}
    cannot_decide: tuple[str, ...] = ()
    if others >= thresholds.CO_TENANT_SHARE * total:
        claims.append(Claim(f"other processes held {format_size(others)} of it", "nvml"))
        if _would_fit_alone(evidence, others + max(0, total - peak)):
            corrections = {
                "kind": "co_tenant",
                "other_process_bytes": others,
                "device_total_bytes": total,
            }
    elif _is_shared_by_job(evidence):
        corrections = {"kind": "shared_by_job"}
    elif peak < thresholds.MEMORY_NEAR_FULL * total:
        asked = evidence.resolution.details.get("requested_bytes")
        if isinstance(asked, int) and peak + asked > total:
            claims.append(Claim(f"{format_size(asked)} more did not fit", "nvml"))
        else:
            why = f"why the request failed at {format_size(peak)} of {format_size(total)}"
            cannot_decide = (f"{why}: memory may have risen between two samples, or be limited",)
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        claims[0].claim,
        cause=_CAUSE,
        claims=tuple(claims),
        details=details,
        corrections=corrections,
        cannot_decide=cannot_decide,
    )


def _rule_out(evidence: Evidence) -> Iterator[Finding]:
    peaks = [_peak(evidence, gpu) for gpu in evidence.gpus]
    peak, total = max(peaks, key=lambda one: one[0] / one[1])
    if not evidence.is_running and 0 < peak < thresholds.MEMORY_NEAR_FULL * total:
        text = f"its GPUs held {format_size(peak)} of {format_size(total)} at most"
        yield Finding(FAMILY, Weight.RULED_OUT, text)


def _peak(evidence: Evidence, gpu: str) -> tuple[int, int]:
    total = int(evidence.series(gpu, "memory_total_bytes").peak) or 1
    return int(evidence.series(gpu, "memory_used_bytes").peak), total


def _would_fit_alone(evidence: Evidence, left: int) -> bool:
    """Return whether the request fits in the memory that is left without the other processes."""
    found = evidence.resolution.details
    asked = found.get("requested_bytes")
    is_limited = found.get("kind") in ("oversize", "refused")
    return not is_limited and (not isinstance(asked, int) or asked <= left)


def _is_shared_by_job(evidence: Evidence) -> bool:
    """Return whether the processes that the error names belong to this run."""
    named = str(evidence.resolution.details.get("other_pids") or "").split()
    return bool(named) and all(int(pid) in evidence.pids for pid in named)


def _sum_memory_of_others(evidence: Evidence, gpu: str) -> int:
    held = 0.0
    for of in evidence.telemetry.list_entities("gpu"):
        card, _, pid = of.partition("/pid:")
        if card == gpu and pid and int(pid) not in evidence.pids:
            held += evidence.series(of, "memory_used_bytes").peak
    return int(held)
