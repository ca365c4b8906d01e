"""Lines of kernels and drivers with the expected messages, and lines without a message."""

from __future__ import annotations

from typing import Any

HITS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        (
            "python3[4107]: segfault at 20 ip 00007f3c01a2b3c4 sp 00007ffe00000010 error 4 in "
            "libkernels.so[2b3c4,7f3c01a00000+90000] likely on CPU 3 (core 3, socket 0)"
        ),
        "segfault",
        "pid:4107",
        {"process": "python3", "pid": 4107, "address": "20", "library": "libkernels.so"},
    ),
    (
        "my prog[x][77]: segfault at 0 ip 0000000000000000 sp 00007ffe00000010 error 14",
        "segfault",
        "pid:77",
        {"process": "my prog[x]", "error": "14"},
    ),
    (
        (
            "train[812]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation "
            "fault in train[aaaab0b60000+1000]"
        ),
        "segfault",
        "pid:812",
        {"fault": "level 2 translation fault", "library": "train"},
    ),
    (
        (
            "traps: python3[900] trap invalid opcode ip:7f00aa sp:7ffe00 error:0 in "
            "_ext.so[1104,7f0000+1000]"
        ),
        "trap",
        "pid:900",
        {"trap": "invalid opcode", "library": "_ext.so", "process": "python3"},
    ),
    (
        "traps: a.out[5] general protection fault ip:55e0 sp:7ffe error:0 in a.out[55e0+1000]",
        "trap",
        "pid:5",
        {"trap": "general protection fault"},
    ),
    ("show_signal_msg: 17 callbacks suppressed", "suppressed", "host", {"count": 17}),
    (
        (
            "NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus."
        ),
        "xid",
        "pci:0000:3b:00",
        {"xid": 79, "pci": "0000:3b:00", "detail": "GPU has fallen off the bus."},
    ),
    (
        (
            "NVRM: Xid (PCI:0000:05:00): 31, pid=4107, name=python3, Ch 00000010, intr 10000000. "
            "MMU Fault: ENGINE GRAPHICS faulted @ 0x7f_10000000"
        ),
        "xid",
        "pci:0000:05:00",
        {"xid": 31, "pid": 4107, "process": "python3"},
    ),
    ("NVRM: Xid (0000:86:00): 48, An uncorrectable", "xid", "pci:0000:86:00", {"xid": 48}),
    ("NVRM: Xid (PCI:0000:86:00): 64", "xid", "pci:0000:86:00", {"xid": 64}),
    (
        (
            "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
            "(0x004505c6 0x00000001 0x00000000 0x00000000 0x00000000 0x00000000)"
        ),
        "xid",
        "pci:0018:01:00",
        {
            "xid": 149,
            "unit": "NETIR_LINK_EVT",
            "severity": "Fatal",
            "link": 8,
            "sub_code": 4,
            "error_status": "0x00000001",
        },
    ),
    (
        "NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
        "xid",
        "pci:0000:18:00",
        {"xid": 79, "pci": "0000:18:00"},
    ),
    (
        (
            "NVRM: The NVIDIA GPU 0000:b3:00.0\n"
            "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
            "NVRM: fallen off the bus and is not responding to commands."
        ),
        "xid",
        "pci:0000:b3:00",
        {"xid": 79, "pci": "0000:b3:00"},
    ),
    (
        "NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x26:0x56:1463)",
        "gpu_not_initialised",
        "pci:0000:b3:00",
        {"code": "0x26:0x56:1463"},
    ),
    (
        "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
        "sxid",
        "pci:0000:c5:00",
        {"sxid": 20034, "severity": "Fatal", "link": 28, "switch": "3"},
    ),
    (
        "nvidia-nvswitch0: SXid (PCI:0000:c5:00.0): 10004, Non-fatal, Temperature of 96C is high",
        "sxid",
        "pci:0000:c5:00",
        {"sxid": 10004, "severity": "Non-fatal"},
    ),
    (
        "INFO: task python3:4107 blocked for more than 120 seconds.",
        "hung_task",
        "pid:4107",
        {"process": "python3", "seconds": 120},
    ),
    (
        "INFO: task kworker/u8:3:71 blocked in I/O wait for more than 122 seconds.",
        "hung_task",
        "pid:71",
        {"process": "kworker/u8:3", "wait": "I/O", "seconds": 122},
    ),
    (
        "watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [python3:4107]",
        "soft_lockup",
        "pid:4107",
        {"cpu": 12, "seconds": 26},
    ),
    (
        "nfs: server filer-2 not responding, still trying",
        "nfs_stalled",
        "server:filer-2",
        {"then": "still trying"},
    ),
    (
        "nfs: server 10.0.0.9 not responding, timed out",
        "nfs_stalled",
        "server:10.0.0.9",
        {"then": "timed out"},
    ),
    ("nfs: server filer-2 OK", "nfs_ok", "server:filer-2", {}),
    (
        (
            "Lustre: work-OST0007-osc-ffff8c01: Connection to work-OST0007 (at 10.1.0.7@o2ib) was "
            "lost; in progress operations using this service will wait for recovery to complete"
        ),
        "lustre_stalled",
        "device:work-OST0007-osc-ffff8c01",
        {"server": "10.1.0.7@o2ib"},
    ),
    (
        "Lustre: work-OST0007-osc-ffff8c01: Connection restored to  (at 10.1.0.7@o2ib)",
        "lustre_ok",
        "device:work-OST0007-osc-ffff8c01",
        {"server": "10.1.0.7@o2ib"},
    ),
    (
        "EXT4-fs (nvme1n1p1): Remounting filesystem read-only",
        "readonly_remount",
        "device:nvme1n1p1",
        {},
    ),
    (
        "BTRFS info (device vdb): forced readonly",
        "readonly_remount",
        "device:vdb",
        {},
    ),
    (
        "BTRFS: error (device vdb: state A) in cleanup:1: errno=-5 IO failure: forced readonly",
        "readonly_remount",
        "device:vdb",
        {},
    ),
    (
        "XFS (dm-2): Filesystem has been shut down due to log error (0x2).",
        "readonly_remount",
        "device:dm-2",
        {"fault": "log error"},
    ),
    (
        "blk_update_request: I/O error, dev sdb, sector 8192 op 0x1:(WRITE) flags 0x800",
        "io_error",
        "device:sdb",
        {"fault": "I/O", "sector": 8192},
    ),
    (
        "critical medium error, dev nvme0n1, sector 77 op 0x0:(READ) flags 0x80700 phys_seg 1",
        "io_error",
        "device:nvme0n1",
        {"fault": "critical medium"},
    ),
    (
        "EXT4-fs error (device dm-0): ext4_find_entry:1455: inode #2: comm python3: reading",
        "io_error",
        "device:dm-0",
        {"fault": "ext4_find_entry"},
    ),
    (
        'XFS (sdc1): metadata I/O error in "xfs_trans_read" at daddr 0x2 len 1 error 5',
        "io_error",
        "device:sdc1",
        {"fault": "metadata"},
    ),
    (
        "nvme nvme2: I/O 12 QID 3 timeout, aborting",
        "nvme_timeout",
        "device:nvme2",
        {"then": "aborting"},
    ),
    (
        "nvme nvme2: I/O tag 4 (1004) opcode 0x1 (I/O Cmd) QID 2 timeout, reset controller",
        "nvme_timeout",
        "device:nvme2",
        {"then": "reset controller"},
    ),
    (
        "nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
        "nvme_timeout",
        "device:nvme2",
        {"fault": "controller is down; will reset"},
    ),
    (
        "mce: [Hardware Error]: CPU 9: Machine Check Exception: 5 Bank 7: be00000000800400",
        "hardware_error",
        "host",
        {"cpu": 9},
    ),
    (
        "{3}[Hardware Error]: event severity: fatal",
        "hardware_error",
        "host",
        {"severity": "fatal", "kind": "platform"},
    ),
    (
        "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0 (channel:0 slot:0 page:0x1)",
        "hardware_error",
        "host",
        {"unit": "MC1", "count": 1, "kind": "memory"},
    ),
    (
        "Memory failure: 0x1850602: Sending SIGBUS to train:4107 due to hardware memory corruption",
        "hardware_error",
        "pid:4107",
        {"process": "train"},
    ),
    (
        (
            "pcieport 0000:5a:01.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
            "type=Transaction Layer, (Receiver ID)"
        ),
        "hardware_error",
        "pci:0000:5a:01",
        {"kind": "pcie", "severity": "Uncorrectable (Fatal)"},
    ),
    ("VFS: file-max limit 65536 reached", "file_max", "host", {"limit": 65536}),
    (
        "cgroup: fork rejected by pids controller in /kubepods/pod1/c2",
        "pids_limit",
        "host",
        {"cgroup": "/kubepods/pod1/c2"},
    ),
    (
        "mlx5_core 0000:1a:00.0 ens1np0: Link down",
        "link_down",
        "interface:ens1np0",
        {"driver": "mlx5_core", "pci": "0000:1a:00"},
    ),
    (
        "igb 0000:01:00.0 eth0: igb: eth0 NIC Link is Down",
        "link_down",
        "interface:eth0",
        {"driver": "igb"},
    ),
    ("e1000e: eth1 NIC Link is Down", "link_down", "interface:eth1", {"driver": "e1000e"}),
    (
        "bond0: (slave ens1np0): link status definitely down, disabling slave",
        "link_down",
        "interface:ens1np0",
        {"bond": "bond0"},
    ),
    ("mlx5_core 0000:1a:00.0 ens1np0: Link up", "link_up", "interface:ens1np0", {}),
    (
        (
            "mlx5_core 0000:1a:00.0: poll_health:801:(pid 0): device's health compromised "
            "- reached miss count"
        ),
        "nic_fault",
        "pci:0000:1a:00",
        {"fault": "device's health compromised"},
    ),
]


NEAR_MISSES = [
    "python3[4107]: loaded segfault handler at 0x20",
    "audit: type=1701 audit(1700000000.1:9): comm=python3 sig=11 res=1",
    "systemd[1]: nvidia.service: NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.",
    "x NVRM: Xid (PCI:0000:05:00): 79, pid=1, name=y",
    "NVRM: Xid (PCI:nowhere): 79, pid=1",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
    "NVRM: GPU at PCI:0000:91:00: GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b",
    "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Severity 1 Engine instance 28",
    "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Data {0x00000000, 0x00000000}",
    "INFO: task python3:4107 is blocked on a mutex likely owned by task sh:9.",
    "INFO: lockdep is turned off.",
    "nfs: Deprecated parameter 'intr'",
    "NFS: nfs4_discover_server_trunking unhandled error -110",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode",
    "EXT4-fs (sda1): re-mounted 51feb2d8-66dc-44e6-8cb8-eba61ec9ddea ro.",
    "XFS (dm-2): Ending clean mount",
    "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0",
    "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    "nvme nvme0: 8/0/0 default/read/poll queues",
    "nvme nvme0: I/O 12 QID 3 timeout, completion polled",
    "EDAC MC1: 1 CE memory read error on CPU_SrcID#1_MC#0 (channel:0 slot:0 page:0x1)",
    "{1}[Hardware Error]: event severity: corrected",
    "[Hardware Error]: Corrected error, no action required.",
    "pcieport 0000:5a:01.0: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
    "Memory failure: 0x1850602: recovery action for dirty page: Recovered",
    "VFS: Mounted root (ext4 filesystem) readonly on device 254:0.",
    "mlx5_core 0000:1a:00.0 ens1np0: Link speed 100000",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
    "br-7c1: port 1(veth9) entered disabled state",
    "r8169 0000:06:00.0 eth0: Downshift occurred",
    "net_ratelimit: 4 callbacks suppressed",
    "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "oom_reaper: reaped process 4107 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    "Memory cgroup stats for /job: anon 1 file 2 kernel 3",
    "Out of memory and no killable processes...",
    "",
]


LIMIT = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c2,mems_allowed=0-1,"
    "oom_memcg=/pods/p1,task_memcg=/pods/p1/c2,task=python3,pid=4107,uid=1000"
)
KILLED = (
    "Memory cgroup out of memory: Killed process 4107 (python3) total-vm:900000kB, "
    "anon-rss:204800kB, file-rss:1024kB, shmem-rss:0kB, UID:1000 pgtables:320kB oom_score_adj:0"
)
