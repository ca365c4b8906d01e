"""A fault of the hardware: Xids, ECC, row remapping, a GPU that is lost.

A fault counts if it happened on a GPU of the run, during the run.  It is the cause of a run that
failed soon after it, in place of all errors that processes report after they lost their GPU; in a
successful run it is a warning.  If it is not known whether the GPU is one of the run's, the fault
explains only errors of GPUs; so it does if the run ended before samples could show its GPUs.  A
training that went on after a fault did not fail at it.  A counter that was above zero before the
run used the GPU is a latent fault: a warning, never the cause.  Where no sample is so early, such a
counter decides nothing, and excludes nothing.  An Xid that NVIDIA's catalogue attributes to the
application is not a hardware fault, and an Xid that follows another one proves nothing by itself.
If neither NVML nor the kernel log was available, a CUDA error stays a CUDA error, and its
attribution is unknown.  A kernel log without any Xid shows nothing either, where the driver writes
an Xid for each such error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.hardware._gpu_events import (
    concerns,
    find_gpu,
    find_owner,
    find_xid,
    is_of_own_process,
)
from gpualert_common.diagnose.phenomena.hardware._xids import XidOwner
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "B2"
_CAUSE = "gpu_hardware"
_OVER = frozenset(
    (
        *("cuda_runtime", "collective", "rendezvous", "segfault", "runtime_error", "traceback"),
        *("assertion", "killed_unknown", "idle_hang", "time_limit"),
    )
)
_OF_A_GPU = frozenset(("cuda_runtime", "collective"))
"""The errors among them that only a GPU or its links to other GPUs can cause."""
_AT_ONCE = frozenset(("runtime_error", "traceback", "assertion"))
"""Errors of the next call to a failed GPU; later ones have other reasons."""
_HAS_AN_XID = (
    *("illegal memory access", "unspecified launch failure", "misaligned address"),
    *("illegal instruction", "invalid program counter", "hardware stack error"),
)
"""Errors of kernels for which the driver always writes an Xid, such as 13 or 31."""
_FAULTS = {XidOwner.HARDWARE, XidOwner.DRIVER, XidOwner.CONTAINED}
_RISING = {
    "ecc_uncorrected_total": "uncorrectable memory errors",
    "remapped_rows_uncorrected_total": "rows remapped for uncorrectable errors",
    "retired_pages_uncorrected_total": "pages retired for uncorrectable errors",
    "nvlink_failed_recoveries_total": "NVLink recoveries that failed",
    "pcie_fatal_errors_total": "fatal PCIe errors",
}
_LATENT = {
    **_RISING,
    "remapped_rows_pending": "a row remapping that is pending a reset",
    "remapped_rows_failed": "a row remapping that failed",
    "retired_pages_pending": "a page retirement that is pending a reboot",
}


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the fault of a GPU, or the evidence against one."""
    xids = [one for one in evidence.events("xid") if _may_concern(one, evidence)]
    faults = [one for one in xids if find_owner(one) in _FAULTS]
    lost = [one for one in evidence.events("gpu_lost") if evidence.may_use(one.of)]
    risen = list(_find_rises(evidence))
    unclear = [] if risen else list(_find_undated(evidence))
    if faults or lost or risen:
        yield _fault(evidence, faults, lost, risen)
    elif any(find_owner(one) is XidOwner.APPLICATION for one in xids):
        one = next(one for one in xids if find_owner(one) is XidOwner.APPLICATION)
        yield Finding(
            FAMILY,
            Weight.RULED_OUT,
            f"Xid {one.fields['xid']} is reported by the driver for an error of the program",
            claims=(claim_of_event(one),),
        )
    elif unclear:
        gpu, name = unclear[0]
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            f"the first sample of GPU {parse_index(gpu)} shows {_LATENT[name]}",
            cause=evidence.resolution.cause if evidence.resolution.cause in _OF_A_GPU else "",
            confidence=0.8,
            cannot_decide=(
                f"whether GPU {parse_index(gpu)} had {_LATENT[name]} before the run used it",
            ),
        )
    elif evidence.resolution.cause != _CAUSE and _is_covered(evidence):
        yield Finding(
            FAMILY, Weight.RULED_OUT, "no Xid was reported, and no fault counter of its GPUs rose"
        )
    elif _is_blind(evidence):
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            _no_source(evidence),
            cause=evidence.resolution.cause,
            confidence=0.8,
            cannot_decide=(
                "whether a fault of the GPU is the reason: no source shows its hardware",
            ),
        )
    for one in evidence.events("gpu_lost"):
        if one not in lost:
            text = f"{one.text}; it is not known to belong to this run"
            yield Finding(FAMILY, Weight.WARNS, text, kind="lost_elsewhere")
    for gpu, name in _latent(evidence):
        since = "before the run started" if evidence.has_baseline(gpu) else "at its first sample"
        yield Finding(
            FAMILY,
            Weight.WARNS,
            f"GPU {parse_index(gpu)} had {_LATENT[name]} {since}",
            kind="latent_fault",
        )


def _fault(
    evidence: Evidence, xids: list[TelemetryEvent], lost: list[TelemetryEvent], risen: list[_Rise]
) -> Finding:
    claims: list[Claim] = [claim_of_event(one) for one in (*xids[:2], *lost[:1])]
    claims += [
        Claim(
            f"GPU {parse_index(one.gpu)}: {one.by:.0f} {_RISING[one.name]} during the run", "nvml"
        )
        for one in risen[:2]
    ]
    because = claims[0].claim
    if not evidence.has_failed:
        return Finding(FAMILY, Weight.WARNS, because, kind="gpu_fault", claims=tuple(claims))
    since = evidence.ended_at - _explains_for_s(evidence.resolution.cause)
    is_reported = any(one.at >= since for one in (*xids, *lost))
    near = is_reported or any(one.at >= since for one in risen)
    last_at = max([*(one.at for one in (*xids, *lost)), *(one.at for one in risen)])
    went_on = evidence.count_steps_since(last_at) >= thresholds.STEPS_DESPITE_FAULT
    if went_on and evidence.resolution.cause in _AT_ONCE:
        near = False
    gpus = [*(one.of for one in lost), *(find_gpu(one, evidence) for one in xids)]
    gpus += [one.gpu for one in risen]
    known = [gpu for gpu in gpus if gpu in evidence.gpus]
    ours = bool(known) or any(is_of_own_process(one, evidence) for one in xids)
    unknown = () if ours else ("whether that GPU was one of the run's",)
    return Finding(
        FAMILY,
        Weight.DECIDES if near else Weight.SUPPORTS,
        because,
        cause=_CAUSE,
        confidence=0.8 if unknown else 0.97 if is_reported else 0.9,
        over=_OVER if ours else _OF_A_GPU,
        claims=tuple(claims),
        details={"fault": because, **_details(xids), **_index(known)},
        cannot_decide=unknown,
    )


def _may_concern(event: TelemetryEvent, evidence: Evidence) -> bool:
    gpu = find_gpu(event, evidence)
    return concerns(event, evidence) or (gpu is not None and evidence.may_use(gpu))


def _is_covered(evidence: Evidence) -> bool:
    """Return whether a fault of the run's GPUs would have been reported at any time of the run."""
    if not evidence.gpus or not evidence.is_available("nvml"):
        return False
    has_log = evidence.is_available("kernel_log") and not evidence.events("kernel_log_overwritten")
    return has_log or all(map(evidence.has_baseline, evidence.gpus))


def _find_undated(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield counters above zero in a first sample that is no baseline, each with its GPU."""
    return (one for one in _latent(evidence) if not evidence.has_baseline(one[0]))


def _details(xids: list[TelemetryEvent]) -> dict[str, Scalar]:
    if not xids:
        return {}
    fields = xids[0].fields
    found = {
        "xid": str(fields["xid"]),
        "pci": fields.get("pci"),
        "action": find_xid(xids[0]).action,
    }
    return {name: value for name, value in found.items() if value}


def _index(gpus: list[str]) -> dict[str, Scalar]:
    return {"gpu": int(parse_index(gpus[0]).partition("/")[0])} if gpus else {}


def _explains_for_s(cause: str) -> float:
    """Return for how long after a fault a run may end with this cause because of it."""
    return thresholds.FAULT_AT_ONCE_S if cause in _AT_ONCE else thresholds.FAULT_BEFORE_END_S


def _no_source(evidence: Evidence) -> str:
    """Return why no source shows the hardware of a run that :func:`_is_blind` is true of."""
    if evidence.is_available("kernel_log"):
        return "NVML was not available, and the kernel's log has no Xid for this error of a kernel"
    return "neither NVML nor the kernel's log was available"


def _is_blind(evidence: Evidence) -> bool:
    """Return whether a GPU may have failed without a source to show it."""
    if not evidence.telemetry.sources or evidence.is_available("nvml"):
        return False
    if evidence.is_available("kernel_log"):
        error = str(evidence.resolution.details.get("cuda_error", ""))
        return not evidence.events("xid") and any(one in error for one in _HAS_AN_XID)
    given = evidence.environment
    has_gpus = any(given.get(name) for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"))
    cause = evidence.resolution.cause
    return cause == "cuda_runtime" or (cause == "segfault" and has_gpus)


class _Rise(NamedTuple):
    """A counter of faults that rose: by how much, and when for the last time."""

    gpu: str
    name: str
    by: float
    at: float


def _find_rises(evidence: Evidence) -> Iterator[_Rise]:
    for gpu in evidence.gpus:
        for name in _RISING:
            series = evidence.series(gpu, name)
            counts = [*series.low[:1], *series.value]  # the first sample may be several, merged
            steps = zip(series.at, pairwise(counts), strict=True)
            rises = [(at, after - before) for at, (before, after) in steps if after > before]
            if rises:
                yield _Rise(gpu, name, sum(by for _at, by in rises), rises[-1][0])


def _latent(evidence: Evidence) -> Iterator[tuple[str, str]]:
    for gpu in evidence.gpus:
        for name in _LATENT:
            series = evidence.series(gpu, name)
            if series and series.low[0] > 0:
                yield gpu, name
                break
