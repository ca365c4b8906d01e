"""Waits for peers: whether a rank stands in a collective operation, or works, at this moment.

One reading of one rank costs some ten milliseconds of a core and does not pause it.
"""

from __future__ import annotations

from gpualert_common.processes.procfs import read
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.activities import StackActivity, find_activity
from gpualert_common.stacks.descriptors import DescriptorReader
from gpualert_common.stacks.dump import WaitKind
from gpualert_common.stacks.waits import read_wait

_IDLE = frozenset((WaitKind.LOCK, WaitKind.EVENTS, WaitKind.SOCKET))
_DEVICES = (b"/dev/nvidia", b"/dev/kfd")
"""Files that a process which uses a GPU has mapped."""


def is_waiting_for_peers(pid: int) -> bool | None:
    """Return whether a rank waits for its peers; None where its Python stack cannot be read.

    In a collective it waits, also while the data is exchanged.  In a backward pass it waits if no
    thread of it computes: the gradients are reduced there.  With a GPU it may wait there for its
    own GPU, so that is not counted.
    """
    found = py_spy.read_python_stacks(pid)
    main = next((one for one in found.threads if one.tid == pid), None)
    if main is None:
        return None
    activity = find_activity(main.frames)
    if activity is StackActivity.BACKWARD:
        return not _uses_gpu(pid) and _is_idle(pid)
    return activity in (StackActivity.COLLECTIVE, StackActivity.RENDEZVOUS)


def _is_idle(pid: int) -> bool:
    return read_wait(pid, pid, DescriptorReader({})).kind in _IDLE


def _uses_gpu(pid: int) -> bool:
    maps = read(f"/proc/{pid}/maps")
    return any(device in maps for device in _DEVICES)
