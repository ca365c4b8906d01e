"""Xids of NVIDIA's drivers: the meaning, owner and immediate action of each.

Meanings and actions are those of NVIDIA's Xid catalogue of October 2025 ("" where it lists none).
An Xid counts as the application's only where the catalogue advises to check the application first;
the owner of those that firmware, driver or application may cause is unclear.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Owner(StrEnum):
    """Whose fault an Xid is."""

    HARDWARE = "hardware"
    DRIVER = "driver"
    CONTAINED = "contained"
    """A memory error that cost one application, or none; the GPU goes on."""
    APPLICATION = "application"
    FOLLOW_ON = "follow_on"
    """Reported because of another one."""
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Xid:
    """One row of the catalogue."""

    meaning: str
    owner: Owner
    action: str


UNKNOWN = Xid("not in the catalogue", Owner.UNCLEAR, "")

XIDS = {
    8: Xid("GPU stopped processing", Owner.UNCLEAR, "RESTART_APP"),
    9: Xid("Driver error programming GPU", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    11: Xid("Invalid or corrupted push buffer stream", Owner.APPLICATION, "RESTART_APP"),
    12: Xid("Driver error handling GPU exception", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    13: Xid("Graphics Engine Exception", Owner.APPLICATION, "RESTART_APP"),
    18: Xid("Bus mastering disabled in PCI Config Space", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    25: Xid("Invalid or illegal push buffer stream", Owner.APPLICATION, "RESTART_APP"),
    26: Xid("Framebuffer timeout", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    30: Xid("GPU semaphore access error", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    31: Xid("GPU memory page fault", Owner.APPLICATION, "RESTART_APP"),
    32: Xid("Invalid or corrupted push buffer stream", Owner.APPLICATION, "RESTART_APP"),
    37: Xid("Driver firmware error", Owner.APPLICATION, "IGNORE"),
    38: Xid("Driver firmware error", Owner.DRIVER, "IGNORE"),
    39: Xid("Copy Engine Exception", Owner.UNCLEAR, "RESTART_APP"),
    40: Xid("Copy Engine Exception", Owner.UNCLEAR, "RESTART_APP"),
    41: Xid("Copy Engine Exception", Owner.UNCLEAR, "RESTART_APP"),
    43: Xid("GPU stopped processing", Owner.FOLLOW_ON, "IGNORE"),
    44: Xid("Graphics Engine fault during context switch", Owner.UNCLEAR, "IGNORE"),
    45: Xid("Preemptive cleanup, due to previous errors", Owner.FOLLOW_ON, "WORKFLOW_XID_45"),
    46: Xid("GPU stopped processing", Owner.DRIVER, "RESET_GPU"),
    48: Xid("Double Bit ECC Error", Owner.HARDWARE, "WORKFLOW_XID_48"),
    54: Xid(
        "Auxiliary power is not connected to the GPU board", Owner.UNCLEAR, "CHECK_MECHANICALS"
    ),
    59: Xid("Internal micro-controller error", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    60: Xid("Video processor exception", Owner.UNCLEAR, "RESTART_APP"),
    61: Xid("Internal micro-controller breakpoint or warning", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    62: Xid("Internal micro-controller halt", Owner.HARDWARE, "RESET_GPU"),
    63: Xid("GPU memory remapping event", Owner.CONTAINED, "IGNORE"),
    64: Xid("GPU memory remapping failure", Owner.HARDWARE, "RESET_GPU"),
    66: Xid("Illegal access by driver", Owner.DRIVER, "IGNORE"),
    67: Xid("Illegal access by driver", Owner.DRIVER, "IGNORE"),
    68: Xid("NVDEC0 Exception", Owner.UNCLEAR, "RESTART_APP"),
    69: Xid("Graphics Engine class error", Owner.APPLICATION, "RESTART_APP"),
    74: Xid("NVLINK Error", Owner.HARDWARE, "WORKFLOW_NVLINK_ERR"),
    78: Xid("vGPU Start Error", Owner.UNCLEAR, "UPDATE_SWFW"),
    79: Xid("GPU has fallen off the bus", Owner.HARDWARE, "RESTART_BM"),
    80: Xid("Corrupted data sent to GPU", Owner.APPLICATION, "RESTART_APP"),
    81: Xid("VGA Subsystem Error", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    92: Xid("High single-bit ECC error rate", Owner.HARDWARE, "IGNORE"),
    93: Xid("Non-fatal violation of provisioned InfoROM wear limit", Owner.UNCLEAR, "IGNORE"),
    94: Xid("Contained memory error", Owner.CONTAINED, "RESTART_APP"),
    95: Xid("Uncontained memory error", Owner.HARDWARE, "RESET_GPU"),
    109: Xid("Context Switch Timeout Error", Owner.DRIVER, "RESET_GPU"),
    110: Xid("Security Fault Error", Owner.HARDWARE, "RESET_GPU"),
    119: Xid("GSP RPC Timeout", Owner.DRIVER, "RESET_GPU"),
    120: Xid("GSP Error", Owner.DRIVER, "RESET_GPU"),
    121: Xid("C2C Error", Owner.UNCLEAR, "IGNORE"),
    123: Xid("SPI PMU RPC Write Failure", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    136: Xid("Link Training Failed", Owner.HARDWARE, "RESET_GPU"),
    137: Xid("NVLink Privilege Error", Owner.APPLICATION, "IGNORE"),
    139: Xid("OFA1 Error", Owner.UNCLEAR, "RESTART_APP"),
    140: Xid("ECC Unrecovered Error", Owner.HARDWARE, "RESET_GPU"),
    141: Xid("CUDA Fast Path Error", Owner.UNCLEAR, "IGNORE"),
    142: Xid("NVENC3 Error", Owner.UNCLEAR, "CONTACT_SUPPORT"),
    143: Xid("GPU Initialization Error", Owner.HARDWARE, "RESET_GPU"),
    144: Xid("NVLINK: SAW Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    145: Xid("NVLINK: RLW Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    146: Xid("NVLINK: TLW Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    147: Xid("NVLINK: TREX Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    148: Xid("NVLINK: NVLPW_CTRL Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    149: Xid("NVLINK: NETIR Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    150: Xid("NVLINK: MSE Error", Owner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    151: Xid("Key rotation Error", Owner.DRIVER, "RESTART_VM"),
    154: Xid("GPU Recovery Action Changed", Owner.FOLLOW_ON, "XID_154"),
    155: Xid("NVLINK: SW Defined Error", Owner.UNCLEAR, "RESET_GPU"),
    156: Xid("Resource Retirement Event", Owner.CONTAINED, "RESET_GPU"),
    157: Xid("Resource Retirement Failure", Owner.UNCLEAR, "IGNORE"),
    158: Xid("GPU Fatal Timeout", Owner.HARDWARE, "RESET_GPU"),
    159: Xid("CHI Non-Data Error", Owner.UNCLEAR, "CHECK_UVM"),
    160: Xid("Channel Retirement Event", Owner.CONTAINED, "IGNORE"),
    161: Xid("Channel Retirement Failure", Owner.UNCLEAR, "IGNORE"),
    162: Xid("Power Smoothing HW Circuitry capability reengaged", Owner.UNCLEAR, ""),
    163: Xid("Power Smoothing HW Circuitry capability disengaged", Owner.UNCLEAR, ""),
    164: Xid("Power Smoothing HW Circuitry low lifetime reached", Owner.UNCLEAR, ""),
    165: Xid("Power Smoothing HW Circuitry lifetime exhausted", Owner.UNCLEAR, ""),
    166: Xid("Traffic of confidential computing before its link was ready", Owner.UNCLEAR, ""),
    167: Xid("PCIe fatal timeout", Owner.HARDWARE, ""),
    168: Xid("Errors found in write-protected memory", Owner.HARDWARE, ""),
    169: Xid("Internal micro-controller halt", Owner.HARDWARE, ""),
    170: Xid("Interrupt seen in CC mode", Owner.APPLICATION, ""),
    171: Xid("Addition to Xid 48: which memory it was", Owner.FOLLOW_ON, ""),
    172: Xid("Addition to Xid 48: which memory it was", Owner.FOLLOW_ON, ""),
}
