"""Xids of NVIDIA's drivers: the meaning, owner and immediate action of each.

Meanings and actions are those of NVIDIA's Xid catalogue of October 2025 ("" where it lists none).
An Xid counts as the application's only where the catalogue advises to check the application first;
the owner of those that firmware, driver or application may cause is unclear.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.structs import Struct


class XidOwner(StrEnum):
    """Owner of an Xid: the part that is at fault."""

    HARDWARE = "hardware"
    DRIVER = "driver"
    CONTAINED = "contained"
    """A memory error that stopped one application, or none; the GPU continues to work."""
    APPLICATION = "application"
    FOLLOW_ON = "follow_on"
    """Reported because of another Xid."""
    UNCLEAR = "unclear"


class Xid(Struct, frozen=True):
    """One row of the catalogue."""

    meaning: str
    owner: XidOwner
    action: str


UNKNOWN = Xid("not in the catalogue", XidOwner.UNCLEAR, "")

XIDS = {
    8: Xid("GPU stopped processing", XidOwner.UNCLEAR, "RESTART_APP"),
    9: Xid("Driver error programming GPU", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    11: Xid("Invalid or corrupted push buffer stream", XidOwner.APPLICATION, "RESTART_APP"),
    12: Xid("Driver error handling GPU exception", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    13: Xid("Graphics Engine Exception", XidOwner.APPLICATION, "RESTART_APP"),
    18: Xid("Bus mastering disabled in PCI Config Space", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    25: Xid("Invalid or illegal push buffer stream", XidOwner.APPLICATION, "RESTART_APP"),
    26: Xid("Framebuffer timeout", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    30: Xid("GPU semaphore access error", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    31: Xid("GPU memory page fault", XidOwner.APPLICATION, "RESTART_APP"),
    32: Xid("Invalid or corrupted push buffer stream", XidOwner.APPLICATION, "RESTART_APP"),
    37: Xid("Driver firmware error", XidOwner.APPLICATION, "IGNORE"),
    38: Xid("Driver firmware error", XidOwner.DRIVER, "IGNORE"),
    39: Xid("Copy Engine Exception", XidOwner.UNCLEAR, "RESTART_APP"),
    40: Xid("Copy Engine Exception", XidOwner.UNCLEAR, "RESTART_APP"),
    41: Xid("Copy Engine Exception", XidOwner.UNCLEAR, "RESTART_APP"),
    43: Xid("GPU stopped processing", XidOwner.FOLLOW_ON, "IGNORE"),
    44: Xid("Graphics Engine fault during context switch", XidOwner.UNCLEAR, "IGNORE"),
    45: Xid("Preemptive cleanup, due to previous errors", XidOwner.FOLLOW_ON, "WORKFLOW_XID_45"),
    46: Xid("GPU stopped processing", XidOwner.DRIVER, "RESET_GPU"),
    48: Xid("Double Bit ECC Error", XidOwner.HARDWARE, "WORKFLOW_XID_48"),
    54: Xid(
        "Auxiliary power is not connected to the GPU board", XidOwner.UNCLEAR, "CHECK_MECHANICALS"
    ),
    59: Xid("Internal micro-controller error", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    60: Xid("Video processor exception", XidOwner.UNCLEAR, "RESTART_APP"),
    61: Xid("Internal micro-controller breakpoint or warning", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    62: Xid("Internal micro-controller halt", XidOwner.HARDWARE, "RESET_GPU"),
    63: Xid("GPU memory remapping event", XidOwner.CONTAINED, "IGNORE"),
    64: Xid("GPU memory remapping failure", XidOwner.HARDWARE, "RESET_GPU"),
    66: Xid("Illegal access by driver", XidOwner.DRIVER, "IGNORE"),
    67: Xid("Illegal access by driver", XidOwner.DRIVER, "IGNORE"),
    68: Xid("NVDEC0 Exception", XidOwner.UNCLEAR, "RESTART_APP"),
    69: Xid("Graphics Engine class error", XidOwner.APPLICATION, "RESTART_APP"),
    74: Xid("NVLINK Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK_ERR"),
    78: Xid("vGPU Start Error", XidOwner.UNCLEAR, "UPDATE_SWFW"),
    79: Xid("GPU has fallen off the bus", XidOwner.HARDWARE, "RESTART_BM"),
    80: Xid("Corrupted data sent to GPU", XidOwner.APPLICATION, "RESTART_APP"),
    81: Xid("VGA Subsystem Error", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    92: Xid("High single-bit ECC error rate", XidOwner.HARDWARE, "IGNORE"),
    93: Xid("Non-fatal violation of provisioned InfoROM wear limit", XidOwner.UNCLEAR, "IGNORE"),
    94: Xid("Contained memory error", XidOwner.CONTAINED, "RESTART_APP"),
    95: Xid("Uncontained memory error", XidOwner.HARDWARE, "RESET_GPU"),
    109: Xid("Context Switch Timeout Error", XidOwner.DRIVER, "RESET_GPU"),
    110: Xid("Security Fault Error", XidOwner.HARDWARE, "RESET_GPU"),
    119: Xid("GSP RPC Timeout", XidOwner.DRIVER, "RESET_GPU"),
    120: Xid("GSP Error", XidOwner.DRIVER, "RESET_GPU"),
    121: Xid("C2C Error", XidOwner.UNCLEAR, "IGNORE"),
    123: Xid("SPI PMU RPC Write Failure", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    136: Xid("Link Training Failed", XidOwner.HARDWARE, "RESET_GPU"),
    137: Xid("NVLink Privilege Error", XidOwner.APPLICATION, "IGNORE"),
    139: Xid("OFA1 Error", XidOwner.UNCLEAR, "RESTART_APP"),
    140: Xid("ECC Unrecovered Error", XidOwner.HARDWARE, "RESET_GPU"),
    141: Xid("CUDA Fast Path Error", XidOwner.UNCLEAR, "IGNORE"),
    142: Xid("NVENC3 Error", XidOwner.UNCLEAR, "CONTACT_SUPPORT"),
    143: Xid("GPU Initialization Error", XidOwner.HARDWARE, "RESET_GPU"),
    144: Xid("NVLINK: SAW Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    145: Xid("NVLINK: RLW Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    146: Xid("NVLINK: TLW Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    147: Xid("NVLINK: TREX Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    148: Xid("NVLINK: NVLPW_CTRL Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    149: Xid("NVLINK: NETIR Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    150: Xid("NVLINK: MSE Error", XidOwner.HARDWARE, "WORKFLOW_NVLINK5_ERR"),
    151: Xid("Key rotation Error", XidOwner.DRIVER, "RESTART_VM"),
    154: Xid("GPU Recovery Action Changed", XidOwner.FOLLOW_ON, "XID_154"),
    155: Xid("NVLINK: SW Defined Error", XidOwner.UNCLEAR, "RESET_GPU"),
    156: Xid("Resource Retirement Event", XidOwner.CONTAINED, "RESET_GPU"),
    157: Xid("Resource Retirement Failure", XidOwner.UNCLEAR, "IGNORE"),
    158: Xid("GPU Fatal Timeout", XidOwner.HARDWARE, "RESET_GPU"),
    159: Xid("CHI Non-Data Error", XidOwner.UNCLEAR, "CHECK_UVM"),
    160: Xid("Channel Retirement Event", XidOwner.CONTAINED, "IGNORE"),
    161: Xid("Channel Retirement Failure", XidOwner.UNCLEAR, "IGNORE"),
    162: Xid("Power Smoothing HW Circuitry capability reengaged", XidOwner.UNCLEAR, ""),
    163: Xid("Power Smoothing HW Circuitry capability disengaged", XidOwner.UNCLEAR, ""),
    164: Xid("Power Smoothing HW Circuitry low lifetime reached", XidOwner.UNCLEAR, ""),
    165: Xid("Power Smoothing HW Circuitry lifetime exhausted", XidOwner.UNCLEAR, ""),
    166: Xid("Traffic of confidential computing before its link was ready", XidOwner.UNCLEAR, ""),
    167: Xid("PCIe fatal timeout", XidOwner.HARDWARE, ""),
    168: Xid("Errors found in write-protected memory", XidOwner.HARDWARE, ""),
    169: Xid("Internal micro-controller halt", XidOwner.HARDWARE, ""),
    170: Xid("Interrupt seen in CC mode", XidOwner.APPLICATION, ""),
    171: Xid("Addition to Xid 48: which memory it was", XidOwner.FOLLOW_ON, ""),
    172: Xid("Addition to Xid 48: which memory it was", XidOwner.FOLLOW_ON, ""),
}
