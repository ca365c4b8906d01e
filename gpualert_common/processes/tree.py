"""The processes of a run, to be signalled: each is pinned by a pidfd before it counts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from gpualert_common.processes import marker as markers
from gpualert_common.processes import procfs
from gpualert_common.processes.membership import find_members
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.procfs import ProcessStat
from gpualert_common.shells import names_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.end_record import Survivor


class ProcessTree:
    """The processes of one run, by the rules of :mod:`.membership`.

    ``leader`` is None when it is long gone and its number may be another's: then only the marker
    counts.  Once ``leader_reaped`` is set, a process of its number is another one.  ``adopts`` says
    that orphans of the run become children of this process; ``exclude`` are children of this
    process, helpers and others, that never count.
    """

    def __init__(
        self,
        leader: int | None,
        marker: str,
        *,
        adopts: bool = False,
        exclude: Iterable[int] = (),
    ) -> None:
        self.leader = leader
        self.leader_reaped = False
        self.adopts = adopts
        self.exclude = {os.getpid(), *exclude}
        self._marker = marker

    def is_childless(self) -> bool:
        """True when no process was started since the leader, so that nothing can survive it.

        The kernel numbers processes in order and /proc/loadavg ends with the last number given.
        Only for a run of milliseconds: later the numbers may have wrapped around.
        """
        return procfs.read_last_pid() == self.leader

    def members(self) -> list[Process]:
        """Return every live process of the run, each with an open pidfd that the caller closes.

        Raises OSError when descriptors ran out, so that no process can be seen.
        """
        stats = self._read_stats()
        found = []
        for pid in sorted(self._find_members(stats)):
            process = Process.open(pid)
            if process is None:
                continue
            if process.start_ticks == stats[pid].start_ticks:
                found.append(process)
            else:
                process.close()
        return found

    def survivors(self) -> list[Survivor]:
        """Return what is known of every live process of the run; empty when none can be seen."""
        try:
            members = self.members()
        except OSError:
            return []
        found: list[Survivor] = [
            {"pid": process.pid, "command": procfs.read_name(process.pid)} for process in members
        ]
        for process in members:
            process.close()
        return found

    def signal_group(self, *numbers: int) -> list[tuple[int, int]]:
        """Signal the leader's group without any descriptor; its identity, if it has members."""
        return [] if self.leader is None else _signal_group(self.leader, numbers)

    def first_targets(self) -> list[Process]:
        """Return the processes that a stop signals first; the caller closes the pidfds.

        Those are the leaders or, once they are gone, every process whose parent is gone.  A shell
        that dies of a signal does not pass it on, so the children of a shell are signalled with it,
        and theirs where a child is a shell itself; but not a ``tee`` behind the training, which
        ends with its input and without which the training could not write while it saves.
        """
        stats = self._read_stats()
        targets = [pid for pid in self._find_leaders(stats) if pid in stats]
        targets = targets or self._find_roots(stats)
        for pid in targets:  # grows while it is walked
            if names_shell(procfs.read_executable(pid)):
                children = [child for child, stat in stats.items() if stat.parent == pid]
                targets += [child for child in children if child not in targets]
        targets = _without_readers(targets)
        return [process for pid in targets if (process := Process.open(pid)) is not None]

    def _find_roots(self, stats: dict[int, ProcessStat]) -> list[int]:
        members = self._find_members(stats)
        return [pid for pid in members if stats[pid].parent not in members]

    def _read_stats(self) -> dict[int, ProcessStat]:
        stats = {}
        for pid in procfs.list_pids():
            stat = None if pid in self.exclude else procfs.read_stat(pid)
            if stat is not None and stat.is_live:
                stats[pid] = stat
        return stats

    def _find_members(self, stats: dict[int, ProcessStat]) -> set[int]:
        leaders = self._find_leaders(stats)
        return find_members(stats, leaders, self._list_adopted(stats), self._is_marked)

    def _find_leaders(self, stats: dict[int, ProcessStat]) -> Collection[int]:
        """Return the leaders, also one that has exited, but no number that is another's now."""
        number_is_reused = self.leader_reaped and self.leader in stats
        return () if self.leader is None or number_is_reused else (self.leader,)

    def _list_adopted(self, stats: dict[int, ProcessStat]) -> list[int]:
        if not self.adopts:
            return []
        children = [pid for pid, stat in stats.items() if stat.parent == os.getpid()]
        return [pid for pid in children if pid == self.leader or not self._is_helper(pid)]

    def _is_helper(self, pid: int) -> bool:
        return markers.is_helper(procfs.await_environment(pid), self._marker)

    def _is_marked(self, stat: ProcessStat) -> bool:
        return not markers.is_kernel_thread(stat) and markers.has_marker(
            procfs.await_environment(stat.pid), self._marker
        )


class TreeOfLeaders(ProcessTree):
    """The processes of a run with several leaders, by number and start of each."""

    def __init__(self, leaders: Iterable[tuple[int, int]], marker: str) -> None:
        super().__init__(None, marker)
        self._leaders = dict(leaders)

    def signal_group(self, *numbers: int) -> list[tuple[int, int]]:
        """Signal the groups of the leaders without any descriptor; those that have members."""
        return [one for leader in self._leaders for one in _signal_group(leader, numbers)]

    def _find_leaders(self, stats: dict[int, ProcessStat]) -> Collection[int]:
        for pid in self._leaders.keys() & stats.keys():
            if stats[pid].start_ticks != self._leaders[pid]:
                del self._leaders[pid]
        return self._leaders


def _signal_group(leader: int, numbers: Iterable[int]) -> list[tuple[int, int]]:
    try:
        for number in (*numbers, 0):
            os.killpg(leader, number)
    except ProcessLookupError:
        return []
    except PermissionError:
        pass
    return [(leader, 0)]


def _without_readers(pids: list[int]) -> list[int]:
    """Return the processes whose stdin is not a pipe that another one of them writes to."""
    written = {procfs.read_descriptor(pid, number) for pid in pids for number in (1, 2)}
    pipes = {target for target in written if target.startswith("pipe:")}
    return [pid for pid in pids if procfs.read_descriptor(pid, 0) not in pipes]
