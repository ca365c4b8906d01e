"""Daemons of FUSE: the processes of this machine that serve file systems in user space."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpualert_common.processes.mounts import Mount
from gpualert_common.processes.procfs import (
    ProcessStat,
    list_pids,
    read,
    read_command,
    read_descriptor,
    read_stat,
)

_DEVICE = "/dev/fuse"
_CONNECTION = b"fuse_connection:"
_STATES = {
    "T": "is stopped by a signal",
    "t": "is stopped by a debugger",
    "D": "waits for a disk itself (state D)",
    "Z": "has exited",
}
"""States of a daemon in which it answers no request."""


def describe_daemon(mount: Mount) -> str:
    """Return the daemon of a mount, as in "served by process 77 (sshfs), which is stopped by a
    signal"; "" for other types, and where it is hidden."""
    if not mount.kind.startswith("fuse"):
        return ""
    one = _find_daemon(mount)
    if one is None:
        return ""
    text = f"served by process {one.pid} ({one.name})"
    return f"{text}, which {_STATES[one.state]}" if one.state in _STATES else text


def _find_daemon(mount: Mount) -> ProcessStat | None:
    """Return the process that serves a mount: by its connection, else by its arguments."""
    connection = mount.number.partition(":")[2].encode()
    candidates = list(_list_connections())
    served = [pid for pid, number in candidates if number == connection]
    unknown = [pid for pid, number in candidates if not number]
    named = [pid for pid in unknown or list_pids() if mount.point in read_command(pid)]
    found = [one for pid in served or named if (one := read_stat(pid)) is not None]
    return found[0] if found and (served or len(found) == 1) else None


def _list_connections() -> Iterator[tuple[int, bytes]]:
    """Yield the processes that have the device of FUSE open, and their connection; older kernels
    do not show its number."""
    for pid in list_pids():
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for number in numbers:
            if read_descriptor(pid, int(number)) == _DEVICE:
                yield pid, _read_connection(pid, number)


def _read_connection(pid: int, number: str) -> bytes:
    for line in read(f"/proc/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(_CONNECTION):
            return line.split()[-1]
    return b""
