"""Descendants of a child of this process: killed with it, in whatever groups and sessions."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from gpualert_common.processes.procfs import list_pids, read_stat


def kill_descendants(child: int) -> None:
    """Kill a child that was not reaped yet, and all that it started.

    They may not be gone yet.  Raises OSError when descriptors ran out; the child is killed then.

    All are stopped first: a stopped process starts no other one, and reaps none, so that no number
    is used again.  A process whose parent has ended is not found.
    """
    found = {child}
    os.kill(child, signal.SIGSTOP)
    try:
        while added := _find_children(found):
            for pid in added:
                _send(pid, signal.SIGSTOP)
            found |= added
    finally:
        for pid in found:
            _send(pid, signal.SIGKILL)


def _find_children(parents: set[int]) -> set[int]:
    """Return the children of processes that are not among these themselves."""
    stats = (read_stat(pid) for pid in list_pids())
    return {one.pid for one in stats if one is not None and one.parent in parents} - parents


def _send(pid: int, number: int) -> None:
    with suppress(OSError):  # it has ended, or belongs to another user
        os.kill(pid, number)
