"""Discovery of the groups of processes, and of their output, by threads.

To read the memory of a process, or the status of a file, may take for ever: another thread of it
has its memory locked, or a server does not answer.  That delays the discovery of this group only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection

from gpualert_common.agent.foreign_process import ForeignProcess, read_foreign_process
from gpualert_common.agent.grouping import FoundGroup, find_group
from gpualert_common.agent.output_files import Outputs, open_outputs
from gpualert_common.errors import UsageError
from gpualert_common.record.watch_history import Identity
from gpualert_common.structs import Struct
from gpualert_common.telemetry.nvml.background_call import BackgroundCall

MOST_AT_ONCE, MOST_OF_USER = 128, 16
"""Each that does not answer keeps a thread.  Those of one user other than ours leave room for
others."""


class Discovered(Struct, frozen=True):
    """The group of a process, and its output; without a group the process is left alone."""

    group: FoundGroup | None = None
    outputs: Outputs = Outputs()


def discover(pid: int, output_pid: int) -> Discovered:
    """Return the group of a process, with the output of its leader.

    It is that of another process where the leader's is not readable.
    """
    group = find_group(pid)
    if group is None:
        return Discovered()
    return Discovered(group, _open_any_outputs(group.leader, output_pid))


class Discovery:
    """Calls of *find*, by default :func:`discover`, one for each process and in a thread of it."""

    def __init__(self, find: Callable[[int, int], Discovered] = discover) -> None:
        self._find = find
        self._calls: dict[Identity, BackgroundCall[Discovered]] = {}
        self._users: dict[Identity, int] = {}

    def find(self, process: Identity, output_pid: int, deadline: float) -> Discovered:
        """Return what is found of a process by a time of ``time.monotonic``; its outputs are open.

        Raises TimeoutError; the call goes on, and a later one for the same process has its result.
        """
        call = self._calls.get(process)
        if call is None:
            self._take_place(process)
            call = BackgroundCall(lambda: self._find(process[0], output_pid), "discovery")
            self._calls[process] = call
            call.request()
        try:
            return call.wait(deadline)
        finally:
            if call.requested_at is None:
                call.stop()
                del self._calls[process], self._users[process]

    def _take_place(self, process: Identity) -> None:
        """Note the user of a process.  Raises TimeoutError where there is no room for a call."""
        try:
            uid = os.stat(f"/proc/{process[0]}").st_uid
        except OSError:
            uid = -1  # it has ended: its call returns at once
        others = sum(one == uid for one in self._users.values())
        is_own = uid == os.geteuid()
        if len(self._calls) >= MOST_AT_ONCE or (others >= MOST_OF_USER and not is_own):
            raise TimeoutError
        self._users[process] = uid

    def forget(self, present: Collection[Identity]) -> None:
        """Close what was found of processes other than these."""
        for process in self._calls.keys() - present:
            try:
                self.find(process, process[0], time.monotonic()).outputs.close()
            except Exception:  # noqa: BLE001 - it is still at work, or failed
                continue


def _open_any_outputs(leader: ForeignProcess, pid: int) -> Outputs:
    """Return the files of the leader's output; else those of the process that uses the GPU."""
    outputs = open_outputs(leader)
    if outputs.problem is None or pid == leader.pid:
        return outputs
    try:
        found = open_outputs(read_foreign_process(pid))
    except UsageError:
        return outputs
    return outputs if found.problem is not None else found
