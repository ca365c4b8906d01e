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


def reap_adopted(leader: int) -> list[int]:
    """Reap orphans that came to us as their subreaper; the leader's status is taken elsewhere.

    Returns those that failed, or were killed.
    """
    failed: list[int] = []
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return failed
        if not found or found.si_pid == leader:  # None when there is nothing to reap
            return failed
        if os.waitpid(found.si_pid, 0)[1]:
            failed.append(found.si_pid)


def reap(pid: int) -> bool:
    """Take the status of a child that has exited, so that no zombie is left.

    False for one that failed, or was killed.
    """
    try:
        return os.waitpid(pid, os.WNOHANG)[1] == 0
    except ChildProcessError:
        return True  # it is a child of another process, or somebody took it
