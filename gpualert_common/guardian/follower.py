"""The process that follows a run, as its guardian recognises it on the same host."""

from __future__ import annotations

import os

from gpualert_common.processes.host import boot_id, pid_namespace
from gpualert_common.processes.pidfd import open_pidfd
from gpualert_common.processes.procfs import read_stat
from gpualert_common.quantities import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_PID = 1 << 22


def describe_follower() -> dict[str, Any]:
    """Return a description of this process that its guardian can check."""
    status = read_stat(os.getpid())
    return {
        "pid": os.getpid(),
        "start_ticks": status.start_ticks if status is not None else 0,
        "boot": boot_id(),
        "pids": pid_namespace(),
    }


def open_follower(follower: object) -> tuple[int, int]:
    """Return the process number and a pidfd of the process that ``follower`` describes.

    The number is 0 and the descriptor -1 when that process cannot be seen from here; the descriptor
    is readable at once when it has ended.
    """
    if not isinstance(follower, dict):
        return 0, -1
    here = (boot_id(), pid_namespace())
    pid = follower.get("pid")
    if (follower.get("boot"), follower.get("pids")) != here or not is_number(pid):
        return 0, -1
    if not 0 < pid < _MOST_PID:
        return 0, -1
    fd = open_pidfd(pid)
    status = read_stat(pid)
    if fd >= 0 and (status is None or status.start_ticks != follower.get("start_ticks")):
        os.close(fd)
        fd = _open_ended_pipe()  # it has ended, and its number may be another process's
    return pid, fd


def _open_ended_pipe() -> int:
    """Return a descriptor that is readable at once."""
    fd, other = os.pipe2(os.O_CLOEXEC)
    os.close(other)
    return fd
