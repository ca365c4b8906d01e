"""Events of GPUs: which GPU an Xid belongs to, and whether the run used it."""

from __future__ import annotations

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.phenomena.hardware._xids import UNKNOWN, XIDS, Xid, XidOwner
from gpualert_common.telemetry.series import TelemetryEvent


def find_xid(event: TelemetryEvent) -> Xid:
    """Return the entry of NVIDIA's catalogue for an event."""
    return XIDS.get(event.fields.get("xid", 0), UNKNOWN)


def find_owner(event: TelemetryEvent) -> XidOwner:
    """Return the owner of an Xid."""
    return find_xid(event).owner


def concerns(event: TelemetryEvent, evidence: Evidence) -> bool:
    """Return whether an Xid is of a GPU that the run used, or may be of one."""
    gpu = find_gpu(event, evidence)
    return is_of_own_process(event, evidence) or gpu is None or gpu in evidence.gpus


def is_of_own_process(event: TelemetryEvent, evidence: Evidence) -> bool:
    """Return whether a process of the run caused the event."""
    pid = event.fields.get("pid")
    return isinstance(pid, int) and pid in evidence.pids


def find_gpu(event: TelemetryEvent, evidence: Evidence) -> str | None:
    """Return the GPU that an event is of; None where that is not known."""
    gpu = event.of if event.of.startswith("gpu:") else _gpu_at(event.fields.get("pci"), evidence)
    return None if gpu is None else gpu.partition("/")[0]


def _gpu_at(pci: object, evidence: Evidence) -> str | None:
    """Return the GPU at a PCI address of the kernel; None where NVML knows none there."""
    if not isinstance(pci, str):
        return None
    for gpu in evidence.get_facts("nvml").get("gpus", ()):
        known = str(gpu.get("pci_bus_id", "")).lower()
        if known and _device_at(known) == _device_at(pci.lower()):
            return f"gpu:{gpu.get('index')}"
    return None


def _device_at(pci: str) -> tuple[int, str]:
    """Return domain, and bus with device: the kernel writes 4 digits of the domain, NVML 8."""
    domain, _, rest = pci.partition(":")
    return int(domain or "0", 16), rest.partition(".")[0]
