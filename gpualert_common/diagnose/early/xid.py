"""A GPU of the run failed: an Xid of the hardware or its driver, or a GPU that is lost.

Of Xids only those count that NVIDIA's catalogue lays at the hardware's or the driver's door and
does not tell its reader to ignore.  A GPU that is gone, or wants a reset, is the same warning, as
is whatever the run does after it.  Such a fault is never taken back.
"""

from __future__ import annotations

from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.evidence import Evidence, claim, number
from gpualert_common.diagnose.families.gpu_fault import concerns
from gpualert_common.diagnose.xids import UNKNOWN, XIDS, Owner, Xid
from gpualert_common.telemetry.series import TelemetryEvent

DO = (
    "look whether the training still makes progress; one that waits for this GPU never ends",
    "stop it, and start it again from its last checkpoint on another machine",
    "have the GPU looked at (`nvidia-smi -q`, the kernel's log) before anything runs on it",
)
FOLLOWS: frozenset[str] = frozenset()
FORETELLS = frozenset(("gpu_hardware", "collective", "cuda_runtime"))
_OWNERS = (Owner.HARDWARE, Owner.DRIVER)
_MOST_SHOWN = 3


def judge(evidence: Evidence) -> Sign | None:
    """The first fault of the run's GPUs."""
    faults = [one for one in evidence.happened("xid") if _is_fault(one, evidence)]
    gone = evidence.happened("gpu_lost", "reset_required")
    faults += [one for one in gone if one.of in evidence.gpus]
    if not faults:
        return FINE
    faults.sort(key=lambda one: one.at)
    shows = tuple(claim(one) for one in faults[:_MOST_SHOWN])
    return Sign(_said(faults[0]), faults[0].at, shows)


def _is_fault(happening: TelemetryEvent, evidence: Evidence) -> bool:
    found = _xid(happening)
    mine = found.owner in _OWNERS and found.action != "IGNORE"
    return mine and concerns(happening, evidence)


def _xid(happening: TelemetryEvent) -> Xid:
    return XIDS.get(happening.fields.get("xid", 0), UNKNOWN)


def _said(fault: TelemetryEvent) -> str:
    gpu = number(fault.of).partition("/")[0] if fault.of.startswith("gpu:") else None
    where = f" on GPU {gpu}" if gpu is not None else ""
    if fault.what != "xid":
        return fault.text
    return f"Xid {fault.fields['xid']}{where} ({_xid(fault).meaning})"
