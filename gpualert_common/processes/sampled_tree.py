"""The processes of a run as they come and go, found again and again at little cost.

A process that is known not to belong to the run is foreign.  It is not read again for a minute: its
environment never changes, and a child of a member is always a new process.
"""

from __future__ import annotations

import os

from gpualert_common.processes import procfs
from gpualert_common.processes.marker import has_marker, is_kernel_thread
from gpualert_common.processes.membership import find_members
from gpualert_common.processes.procfs import ProcessStat

_SAMPLES_UNTIL_FOREIGN_ARE_READ = 12
"""By then, the number of a foreign process may belong to another one."""
_MAX_REMEMBERED = 100_000


class SampledTree:
    """The processes of one run, by the rules of :mod:`.membership`.

    ``leader`` is a live process, or None: then only those count that are included, and the marker.
    A process that belonged once belongs until it ends.  Without a marker no environment is read.
    """

    def __init__(self, leader: int | None, marker: str) -> None:
        stat = None if leader is None else procfs.read_stat(leader)
        self._leader = leader
        self._leader_start = stat.start_ticks if stat else 0
        self._marker = marker
        self._members: dict[int, int] = {}
        self._ever_members: dict[int, None] = {} if leader is None else {leader: None}
        self._foreign: set[int] = set()
        self._samples = 0

    @property
    def leader(self) -> int:
        """Number of the leader; 0 if there is none, or the number is another's."""
        return self._leader or 0

    def members(self) -> dict[int, ProcessStat]:
        """Return every process of the run by its number, also those that wait to be reaped."""
        self._samples += 1
        if self._samples % _SAMPLES_UNTIL_FOREIGN_ARE_READ == 0:
            self._foreign.clear()
        stats = self._read_stats()
        self._lose_leader(stats)
        known = [pid for pid, start in self._members.items() if _has_started(stats, pid, start)]
        leaders = () if self._leader is None else (self._leader,)
        members = find_members(stats, leaders, known, self._is_marked)
        self._foreign -= members
        self._members = {pid: stats[pid].start_ticks for pid in members}
        self._remember(members)
        return {pid: stats[pid] for pid in sorted(members)}

    def include(self, one: ProcessStat) -> None:
        """Count a process as one of the run, with all that it starts from now on."""
        self._members[one.pid] = one.start_ticks
        self._foreign.discard(one.pid)

    def belongs(self, pid: int) -> bool | None:
        """Return whether the last process with this number belonged to the run; None if unknown."""
        if pid in self._foreign:
            return False
        return True if pid in self._ever_members else None

    def _read_stats(self) -> dict[int, ProcessStat]:
        pids = set(procfs.list_pids())
        self._foreign &= pids
        stats = {}
        for pid in pids - self._foreign - {os.getpid()}:
            stat = procfs.read_stat(pid)
            if stat is not None:
                stats[pid] = stat
        return stats

    def _lose_leader(self, stats: dict[int, ProcessStat]) -> None:
        """Forget the leader once its number is another's."""
        leader = self._leader
        if leader in stats and not _has_started(stats, leader, self._leader_start):
            self._leader = None

    def _is_marked(self, stat: ProcessStat) -> bool:
        """True when it carries the marker; if it certainly does not, it is noted as foreign."""
        if not self._marker or is_kernel_thread(stat):
            self._foreign.add(stat.pid)
            return False
        environment = procfs.read_environment(stat.pid)
        if environment is None:  # it executes a program just now
            return False
        if has_marker(environment, self._marker):
            return True
        self._foreign.add(stat.pid)
        return False

    def _remember(self, members: set[int]) -> None:
        for pid in members:
            self._ever_members.setdefault(pid)
        while len(self._ever_members) > _MAX_REMEMBERED:
            del self._ever_members[next(iter(self._ever_members))]


def _has_started(stats: dict[int, ProcessStat], pid: int, start_ticks: int) -> bool:
    """True when the process of that number is the one that started then."""
    return pid in stats and stats[pid].start_ticks == start_ticks
