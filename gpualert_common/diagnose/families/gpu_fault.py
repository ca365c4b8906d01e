"""B2, a fault of the hardware: Xids, ECC, row remapping, a GPU that is lost.

A fault counts when it happened on a GPU of the run, while it ran.  In a run that failed near it, it
is the cause, over all that processes say when their GPU is gone; in one that ended well it is a
warning.  Where it is not known whose GPU it was, it explains only errors of GPUs.  A counter that
stood where it was before the run is latent: told, never the cause.  An Xid that NVIDIA's catalogue
gives to the application is no fault of the hardware, and one that follows another says nothing by
itself.  Where neither NVML nor the kernel's log could be seen, an error of
CUDA is told as one, and nobody's fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim, number, seen
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.xids import UNKNOWN, XIDS, Owner
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
"""Of them, those that nothing but a GPU or its way to others can have to do with."""
_AT_ONCE = frozenset(("runtime_error", "traceback", "assertion"))
"""What a program raises with its next call to the GPU; what it raises later has other reasons."""
_FAULTS = {Owner.HARDWARE, Owner.DRIVER, Owner.CONTAINED}
_RISING = {
    "ecc_uncorrected_total": "uncorrectable memory errors",
    "remapped_rows_uncorrected_total": "rows remapped for uncorrectable errors",
    "retired_pages_uncorrected_total": "pages retired for uncorrectable errors",
    "nvlink_failed_recoveries_total": "NVLink recoveries that failed",
    "pcie_fatal_errors_total": "fatal PCIe errors",
}
_LATENT = {
    **_RISING,
    "remapped_rows_pending": "a remapping of rows that waits for a reset",
    "remapped_rows_failed": "a remapping of rows that failed",
    "retired_pages_pending": "a retirement of pages that waits for a reboot",
}


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What speaks for a fault of a GPU, and which GPU it was."""
    xids = [one for one in evidence.happened("xid") if concerns(one, evidence)]
    faults = [one for one in xids if _owner(one) in _FAULTS]
    lost = [one for one in evidence.happened("gpu_lost") if one.of in evidence.gpus]
    risen = list(_risen(evidence))
    if faults or lost or risen:
        yield _fault(evidence, faults, lost, risen)
    elif any(_owner(one) is Owner.APPLICATION for one in xids):
        one = next(one for one in xids if _owner(one) is Owner.APPLICATION)
        yield Finding(
            FAMILY,
            Weight.RULED_OUT,
            f"Xid {one.fields['xid']} is what the driver reports when a program errs",
            claims=(claim(one),),
        )
    elif evidence.resolution.cause != "none" and evidence.can_see("nvml") and evidence.gpus:
        yield Finding(
            FAMILY, Weight.RULED_OUT, "no Xid came, and no fault counter of its GPUs rose"
        )
    elif _is_blind(evidence):
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            "neither NVML nor the kernel's log could be seen",
            cause=evidence.resolution.cause,
            confidence=0.8,
            cannot_decide=(
                "whether a fault of the GPU is behind it: nothing told of its hardware",
            ),
        )
    for one in evidence.happened("gpu_lost"):
        if one not in lost:
            said = f"{one.text}; it is not known to be of this run"
            yield Finding(FAMILY, Weight.WARNS, said, kind="lost_elsewhere")
    for gpu, name in _latent(evidence):
        yield Finding(
            FAMILY,
            Weight.WARNS,
            f"GPU {number(gpu)} had {_LATENT[name]} before the run began",
            kind="latent_fault",
        )


def _fault(
    evidence: Evidence, xids: list[TelemetryEvent], lost: list[TelemetryEvent], risen: list[_Risen]
) -> Finding:
    claims: list[Claim] = [claim(one) for one in (*xids[:2], *lost[:1])]
    claims += [
        seen(f"GPU {number(one.gpu)}: {one.by:.0f} {_RISING[one.name]} during the run", "nvml")
        for one in risen[:2]
    ]
    because = claims[0].claim
    if not evidence.failed:
        return Finding(FAMILY, Weight.WARNS, because, kind="gpu_fault", claims=tuple(claims))
    since = evidence.ended_at - _explains_for_s(evidence.resolution.cause)
    told = any(one.at >= since for one in (*xids, *lost))
    near = told or any(one.at >= since for one in risen)
    gpus = [*(one.of for one in lost), *(_gpu_of(one, evidence) for one in xids)]
    gpus += [one.gpu for one in risen]
    known = [gpu for gpu in gpus if gpu]
    ours = bool(known) or any(_is_of_our_process(one, evidence) for one in xids)
    unknown = () if ours else ("whether that GPU was one of the run's",)
    return Finding(
        FAMILY,
        Weight.DECIDES if near else Weight.SUPPORTS,
        because,
        cause=_CAUSE,
        confidence=0.8 if unknown else 0.97 if told else 0.9,
        over=_OVER if ours else _OF_A_GPU,
        claims=tuple(claims),
        details={"fault": because, **_details(xids), **_index(known)},
        cannot_decide=unknown,
    )


def _details(xids: list[TelemetryEvent]) -> dict[str, Scalar]:
    if not xids:
        return {}
    fields = xids[0].fields
    found = {
        "xid": str(fields["xid"]),
        "pci": fields.get("pci"),
        "action": XIDS.get(fields["xid"], UNKNOWN).action,
    }
    return {name: value for name, value in found.items() if value}


def _index(gpus: list[str]) -> dict[str, Scalar]:
    return {"gpu": int(number(gpus[0]).partition("/")[0])} if gpus else {}


def _explains_for_s(cause: str) -> float:
    """For how long after a fault a run may end by it in that way."""
    return thresholds.FAULT_AT_ONCE_S if cause in _AT_ONCE else thresholds.FAULT_BEFORE_END_S


def _is_blind(evidence: Evidence) -> bool:
    """True where a GPU may have failed and there was nobody to tell."""
    if not evidence.telemetry.sources or evidence.can_see("nvml") or evidence.can_see("kernel_log"):
        return False
    given = evidence.facts_of("environment").get("variables", {})
    has_gpus = any(given.get(name) for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"))
    cause = evidence.resolution.cause
    return cause == "cuda_runtime" or (cause == "segfault" and has_gpus)


def _owner(xid: TelemetryEvent) -> Owner:
    return XIDS.get(xid.fields.get("xid", 0), UNKNOWN).owner


def concerns(xid: TelemetryEvent, evidence: Evidence) -> bool:
    """True for an Xid of a GPU that the run used, or of which that cannot be told."""
    gpu = _gpu_of(xid, evidence)
    return _is_of_our_process(xid, evidence) or gpu is None or gpu in evidence.gpus


def _is_of_our_process(xid: TelemetryEvent, evidence: Evidence) -> bool:
    pid = xid.fields.get("pid")
    return isinstance(pid, int) and pid in evidence.pids


def _gpu_of(xid: TelemetryEvent, evidence: Evidence) -> str | None:
    """The GPU that it is of; None where that is not known."""
    gpu = xid.of if xid.of.startswith("gpu:") else _gpu_at(xid.fields.get("pci"), evidence)
    return None if gpu is None else gpu.partition("/")[0]


def _gpu_at(pci: object, evidence: Evidence) -> str | None:
    """The GPU at a place on the bus, as the kernel writes it; None where NVML knows none there."""
    if not isinstance(pci, str):
        return None
    for gpu in evidence.facts_of("nvml").get("gpus", ()):
        known = str(gpu.get("pci_bus_id", "")).lower()
        if known and _place(known) == _place(pci.lower()):
            return f"gpu:{gpu.get('index')}"
    return None


def _place(pci: str) -> tuple[int, str]:
    """Domain, and bus with device: the kernel writes four digits of the domain, NVML eight."""
    domain, _, rest = pci.partition(":")
    return int(domain or "0", 16), rest.partition(".")[0]


class _Risen(NamedTuple):
    """A counter of faults that rose, by how much, and when for the last time."""

    gpu: str
    name: str
    by: float
    at: float


def _risen(evidence: Evidence) -> Iterator[_Risen]:
    for gpu in evidence.gpus:
        for name in _RISING:
            series = evidence.series(gpu, name)
            counts = [*series.low[:1], *series.value]  # the first look may be several, merged
            steps = zip(series.at, pairwise(counts), strict=True)
            rises = [(at, after - before) for at, (before, after) in steps if after > before]
            if rises:
                yield _Risen(gpu, name, sum(by for _at, by in rises), rises[-1][0])


def _latent(evidence: Evidence) -> Iterator[tuple[str, str]]:
    for gpu in evidence.gpus:
        for name in _LATENT:
            series = evidence.series(gpu, name)
            if series and series.low[0] > 0:
                yield gpu, name
                break
