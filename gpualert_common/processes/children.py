"""Children of this process."""

from __future__ import annotations

import os

from gpualert_common.processes.procfs import read


def list_children() -> list[int]:
    """Return the children of this process.

    Before the launch these are children it had before it became gpualert: a script that starts a
    sidecar and then executes ``gpualert run`` leaves one.
    """
    return [int(pid) for pid in read(f"/proc/self/task/{os.getpid()}/children").split()]


def reap_adopted(leader: int) -> None:
    """Reap orphans that came to us as their subreaper; the leader's status is taken elsewhere."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if not found or found.si_pid == leader:  # None when there is nothing to reap
            return
        os.waitpid(found.si_pid, 0)


def reap(pid: int) -> None:
    """Take the status of a child that has exited, so that no zombie is left."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # it is a child of another process, or somebody took it
