"""Files that system calls name by their paths, and those that a process has mapped."""

from __future__ import annotations

import os

from gpualert_common.processes.mounts import find_mount_of, read_mounts
from gpualert_common.processes.procfs import read, read_cwd, read_descriptor
from gpualert_common.stacks.descriptors import DescriptorReader
from gpualert_common.stacks.process_memory import read_text
from gpualert_common.stacks.system_calls import SystemCall

_MOST_DESCRIPTORS = 1 << 30
"""A larger number is that of the working directory (AT_FDCWD), which is negative."""
PATH_ARGUMENT = {
    "open": 0, "stat": 0, "lstat": 0, "mkdir": 0, "unlink": 0, "rename": 0, "access": 0,
    "readlink": 0, "execve": 0, "statfs": 0, "openat": 1, "openat2": 1, "newfstatat": 1,
    "statx": 1, "renameat": 1, "mkdirat": 1, "unlinkat": 1, "faccessat": 1, "faccessat2": 1,
    "readlinkat": 1,
}  # fmt: skip
"""Calls that wait for a file, and which of their arguments is its path."""
PLACES_OF_FUSE = ("request_wait_answer", "fuse_")
"""Places of a request to the daemon of a file system in user space."""


def describe_argument(pid: int, call: SystemCall, descriptors: DescriptorReader) -> str:
    """Describe the file that a call names by its path; "" where it may not be read."""
    index = PATH_ARGUMENT[call.name]
    path = read_text(pid, call.argument(index))
    directory = call.argument(0) if index and call.argument(0) < _MOST_DESCRIPTORS else None
    if not path and directory is not None:  # fstat() has an empty path
        found = descriptors.describe(pid, directory)
        return "" if found is None else found.text
    if not path:
        return ""
    base = read_cwd(pid) if directory is None else read_descriptor(pid, directory)
    whole = os.path.normpath(os.path.join(base, path))
    return f"the file {descriptors.describe_file(whole, pid)}"


def describe_mapped_mount(pid: int, descriptors: DescriptorReader) -> str:
    """Return the only mount of FUSE that has files which a process has mapped into its memory,
    since no system call names the file of a page fault; "" for none or several."""
    points = tuple(
        mount.point.rstrip("/") + "/" for mount in read_mounts(pid) if mount.kind.startswith("fuse")
    )
    lines = read(f"/proc/{pid}/maps").splitlines() if points else ()
    mapped = {"/" + os.fsdecode(line.partition(b"/")[2]) for line in lines}
    mounts = {find_mount_of(path, pid) for path in mapped if path.startswith(points)}
    found = [one for one in mounts if one is not None and one.kind.startswith("fuse")]
    return (
        f" of {found[0].point} ({descriptors.describe_mount(found[0])})" if len(found) == 1 else ""
    )
