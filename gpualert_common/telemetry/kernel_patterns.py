"""Patterns of the messages with which the kernel and its drivers report faults, one line each.

The patterns follow the sources of the kernel (x86 and arm64, 3.10 to 6.18) and of the drivers of
NVIDIA, Lustre, and network cards that report their link state.  Each pattern matches from the start
of a record, because a record also contains text that a process chooses: its name of up to 15 bytes.
"""

from __future__ import annotations

from gpualert_common.telemetry.kernel_message import KernelPattern

FALLEN_OFF_THE_BUS = 79
"""The Xid of a GPU that the host has lost; newer drivers report it without the number."""

PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
_PROCESS = r"(?P<process>.{1,64}?)"
_LIBRARY = r"(?: in (?P<library>.+?)\[[0-9a-f,]+\+[0-9a-f]+\])?"
_DISK = r"(?P<device>(?:dm-|hd|loop|md|mmcblk|nbd|nvme|pmem|rbd|sd|vd|xvd)\w*)"
"""Optical drives are excluded: an empty one reports errors, and no training uses it."""


def _link_patterns(what: str, state: str) -> tuple[KernelPattern, ...]:
    """Return the patterns of link states, from drivers of network cards and from bonds."""
    return (
        KernelPattern(
            what,
            "ink ",
            rf"^(?P<driver>[\w-]+) {PCI}(?: (?P<interface>[\w.@-]+))?: "
            rf"(?:[a-z0-9]+: \S+ )?(?:NIC )?[Ll]ink (?:is )?{state}\b",
            "interface",
        ),
        KernelPattern(
            what,
            "ink ",
            rf"^(?P<driver>\w+): (?P<interface>[\w.@-]+):? (?:NIC )?[Ll]ink (?:is )?{state}\b",
            "interface",
        ),
        KernelPattern(
            what,
            "link status definitely",
            rf"^(?P<bond>[\w.-]+): \(slave (?P<interface>[\w.@-]+)\): "
            rf"link status definitely {state}\b",
            "interface",
        ),
    )


PATTERNS = (
    # -- crashes -----------------------------------------------------------------------------
    KernelPattern(
        "segfault",
        "]: segfault at ",
        rf"^{_PROCESS}\[(?P<pid>\d+)\]: segfault at (?P<address>[0-9a-f]+) ip .{{0,80}} "
        r"error (?P<error>[0-9a-f]+)" + _LIBRARY,
        "pid",
    ),
    KernelPattern(
        "segfault",
        "unhandled exception: ",
        rf"^{_PROCESS}\[(?P<pid>\d+)\]: unhandled exception: [DI]ABT .*?, "
        r"(?P<fault>[a-z0-9 ]+ fault)" + _LIBRARY,
        "pid",
    ),
    KernelPattern(
        "trap",
        "traps: ",
        rf"^traps: {_PROCESS}\[(?P<pid>\d+)\] (?:trap )?(?P<trap>.+?) ip:.*?" + _LIBRARY + "$",
        "pid",
    ),
    KernelPattern(
        "suppressed",
        " callbacks suppressed",
        r"^show_signal(?:_msg)?: (?P<count>\d+) callbacks suppressed",
    ),
    # -- GPUs and their switches ---------------------------------------------------------------
    KernelPattern(
        "xid",
        "NVRM: Xid (",
        rf"^NVRM: Xid \((?:PCI:)?{PCI}\): (?P<xid>\d+)"
        r"(?:, pid='?(?P<pid>\d+|<unknown>)'?)?(?:, name=(?P<process>[^,]*))?,? ?(?P<detail>.*)$",
        "pci",
    ),
    KernelPattern(
        "xid",
        "has fallen off the bus",
        rf"^NVRM: GPU (?:at PCI:)?{PCI}:? (?:GPU )?has fallen off the bus",
        "pci",
        xid=FALLEN_OFF_THE_BUS,
    ),
    KernelPattern(
        "xid",
        "NVRM: The NVIDIA GPU",
        rf"^NVRM: The NVIDIA GPU {PCI}\b.*\bfallen off the bus and is not responding",
        "pci",
        xid=FALLEN_OFF_THE_BUS,
    ),
    KernelPattern(
        "gpu_not_initialised",
        "RmInitAdapter failed",
        rf"^NVRM: GPU {PCI}: RmInitAdapter failed! \((?P<code>[0-9a-fx:]+)\)",
        "pci",
    ),
    KernelPattern(
        "sxid",
        ": SXid (",
        rf"^nvidia-nvswitch(?P<switch>\d+): SXid \((?:PCI:)?{PCI}\): (?P<sxid>\d+), "
        r"(?P<severity>Fatal|Non-fatal), (?P<detail>(?:Link (?P<link>\d+))?.*)$",
        "pci",
    ),
    # -- stalled tasks and servers ---------------------------------------------------------------
    KernelPattern(
        "hung_task",
        " blocked ",
        rf"^INFO: task {_PROCESS}:(?P<pid>\d+) blocked (?:in (?P<wait>I/O) wait )?"
        r"for more than (?P<seconds>\d+) seconds",
        "pid",
    ),
    KernelPattern(
        "soft_lockup",
        "soft lockup",
        r"^watchdog: BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! "
        rf"\[{_PROCESS}:(?P<pid>\d+)\]",
        "pid",
    ),
    KernelPattern(
        "nfs_stalled",
        " not responding",
        r"^(?:nfs|lockd): server (?P<server>\S+) not responding(?:, (?P<then>[a-z ]+))?",
        "server",
    ),
    KernelPattern("nfs_ok", ": server ", r"^(?:nfs|lockd): server (?P<server>\S+) OK$", "server"),
    KernelPattern(
        "lustre_stalled",
        " was lost; in progress operations",
        r"^Lustre: (?P<device>\S+): Connection to \S* ?\(at (?P<server>\S+)\) was lost",
        "device",
    ),
    KernelPattern(
        "lustre_ok",
        "Connection restored to",
        r"^Lustre: (?P<device>\S+): Connection restored to \S* ?\(at (?P<server>\S+)\)",
        "device",
    ),
    # -- disks -------------------------------------------------------------------------------
    KernelPattern(
        "readonly_remount",
        "Remounting filesystem read-only",
        r"^EXT[234]-fs \((?P<device>[^)]+)\): Remounting filesystem read-only",
        "device",
    ),
    KernelPattern(
        "readonly_remount",
        "forced readonly",
        r"^BTRFS[a-z: ]*\(device (?P<device>[^):]+)[^)]*\).*: forced readonly",
        "device",
    ),
    KernelPattern(
        "readonly_remount",
        "XFS (",
        r"^XFS \((?P<device>[^)]+)\): (?:Filesystem has been shut down due to "
        r"(?P<fault>[a-z]+(?: [a-z]+)*)|.*Shutting down filesystem)",
        "device",
    ),
    KernelPattern(
        "io_error",
        " error, dev ",
        r"^(?:blk_update_request: |print_req_error: )?(?P<fault>I/O|critical [a-z -]+) error, "
        rf"dev {_DISK}, sector (?P<sector>\d+)",
        "device",
    ),
    KernelPattern(
        "io_error",
        "EXT4-fs error (device ",
        r"^EXT4-fs error \(device (?P<device>[^)]+)\): (?P<fault>\w+)",
        "device",
    ),
    KernelPattern(
        "io_error",
        "XFS (",
        r"^XFS \((?P<device>[^)]+)\): (?P<fault>metadata|log) I/O error",
        "device",
    ),
    KernelPattern(
        "nvme_timeout",
        "nvme nvme",
        r"^nvme (?P<device>nvme\d+): (?:I/O .* timeout, (?P<then>aborting|reset controller"
        r"|disable controller)|(?P<fault>controller is down; will reset"
        r"|Device not ready; aborting|Removing after probe failure))",
        "device",
    ),
    # -- hardware; corrected errors are left out -----------------------------------------------
    KernelPattern(
        "hardware_error",
        "[Hardware Error]: ",
        r"^(?:mce: )?\[Hardware Error\]: (?P<kind>Machine check events logged"
        r"|CPU (?P<cpu>\d+): Machine Check[a-zA-Z ]*|Uncorrected[a-z, ]*|Deferred error)",
    ),
    KernelPattern(
        "hardware_error",
        "event severity: ",
        r"^\{\d+\}\[Hardware Error\]: event severity: (?P<severity>recoverable|fatal)",
        kind="platform",
    ),
    KernelPattern(
        "hardware_error",
        "mce: Uncorrected hardware memory error",
        r"^mce: (?P<kind>Uncorrected hardware memory error) in user-access",
    ),
    KernelPattern(
        "hardware_error",
        " UE ",
        r"^EDAC (?P<unit>MC\d+): (?P<count>\d+) UE ",
        kind="memory",
    ),
    KernelPattern(
        "hardware_error",
        "hardware memory corruption",
        r"^(?:Memory failure: 0x[0-9a-f]+|MCE): (?:Killing|Sending SIGBUS to) "
        rf"{_PROCESS}:(?P<pid>\d+) due to hardware memory corruption",
        "pid",
        kind="memory",
    ),
    KernelPattern(
        "hardware_error",
        "PCIe Bus Error: severity=Uncorrect",
        rf"^(?P<driver>\S+) {PCI}: (?:AER: )?PCIe Bus Error: "
        r"severity=(?P<severity>Uncorrect[a-z]+ \([A-Za-z-]+\))",
        "pci",
        kind="pcie",
    ),
    # -- limits of the host --------------------------------------------------------------------
    KernelPattern(
        "file_max", "VFS: file-max limit", r"^VFS: file-max limit (?P<limit>\d+) reached"
    ),
    KernelPattern(
        "pids_limit",
        "fork rejected by pids controller",
        r"^cgroup: fork rejected by pids controller in (?P<cgroup>.+)$",
    ),
    # -- network -------------------------------------------------------------------------------
    *_link_patterns("link_down", "(?i:down)"),
    *_link_patterns("link_up", "(?i:up)"),
    KernelPattern(
        "nic_fault",
        "mlx5_core ",
        rf"^mlx5_core {PCI}(?: [\w.@-]+)?: (?:\w+:\d+:\(pid \d+\): )?"
        r"(?P<fault>device's health compromised|Port module event\[error\]: module \d+, [\w ]+)",
        "pci",
    ),
)
