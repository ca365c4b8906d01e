"""A GPU of the run failed: an Xid of the hardware or its driver, or a GPU that is lost.

Only those Xids count that NVIDIA's catalogue attributes to the hardware or the driver, and does not
advise to ignore.  A GPU that is lost, or needs a reset, raises the same warning.  Such a fault is
never withdrawn.
"""

from __future__ import annotations

from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, claim_of_event, parse_index
from gpualert_common.diagnose.phenomena.hardware._gpu_events import concerns, find_xid
from gpualert_common.diagnose.phenomena.hardware._xids import XidOwner
from gpualert_common.telemetry.series import TelemetryEvent

DO = (
    "check whether the training still makes progress; if it waits for this GPU, it never ends",
    "stop it, and start it again from its last checkpoint on another machine",
    "check the GPU (`nvidia-smi -q`, the kernel log) before its next use",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("gpu_hardware", "collective", "cuda_runtime"))
_OWNERS = (XidOwner.HARDWARE, XidOwner.DRIVER)
_MOST_SHOWN = 3


def detect(evidence: Evidence) -> Detection | None:
    """Return the first fault of the run's GPUs."""
    faults = [one for one in evidence.events("xid") if _is_fault(one, evidence)]
    gone = evidence.events("gpu_lost", "reset_required")
    faults += [one for one in gone if one.of in evidence.gpus]
    if not faults:
        return NOT_DETECTED
    faults.sort(key=lambda one: one.at)
    shows = tuple(claim_of_event(one) for one in faults[:_MOST_SHOWN])
    return Detection(_summary(faults[0]), faults[0].at, shows)


def _is_fault(event: TelemetryEvent, evidence: Evidence) -> bool:
    xid = find_xid(event)
    counts = xid.owner in _OWNERS and xid.action != "IGNORE"
    return counts and concerns(event, evidence)


def _summary(fault: TelemetryEvent) -> str:
    gpu = parse_index(fault.of).partition("/")[0] if fault.of.startswith("gpu:") else None
    where = f" on GPU {gpu}" if gpu is not None else ""
    if fault.what != "xid":
        return fault.text
    return f"Xid {fault.fields['xid']}{where} ({find_xid(fault).meaning})"
