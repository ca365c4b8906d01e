"""Identity of this host: its name, its boot, and the namespace of its process numbers."""

from __future__ import annotations

import os

from gpualert_common.processes.procfs import read

HOST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's constant.  In another namespace, the process numbers that the kernel's log and
NVIDIA's driver name are meaningless."""


def host_name() -> str:
    """Return the name of this host."""
    return os.uname().nodename


def boot_id() -> str:
    """Return the identifier of the current boot; empty where the kernel has none."""
    return read("/proc/sys/kernel/random/boot_id").decode().strip()


def pid_namespace() -> str:
    """Return the namespace that this process's numbers belong to, as in "pid:[4026531836]"."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
