"""The processes of a run, found by what they cannot all shed at once.

A process belongs to the run when it descends from the leader, shares the leader's session or
group, or carries the run's mark in its environment.  A daemon that forked twice into a session of
its own still carries the mark; one that also cleaned its environment is still found when we are
its subreaper.  Only pidfds are signalled, so a recycled number is never hit.
"""

from __future__ import annotations

import os

from gpualert_common.supervise import proc
from gpualert_common.supervise.proc import Process, Stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BESIDE = "GPUALERT_BESIDE"
"""Variable of what we start beside a run, and of all that it starts in turn: the run's mark.

Once orphaned these come to the supervisor, as the run's own do.
"""
_MARK = "GPUALERT_MARK_"

_KTHREADD = 2
"""Parent of the kernel's own threads, which never have an environment."""


def mark(run_id: str) -> str:
    """Name of the variable that marks every process of the run.

    One name per run, so that a run inside a run carries both marks.
    """
    return _MARK + run_id.replace("-", "_")


class Tree:
    """The processes of one run.

    ``leader`` is None when it is long gone and its number may be anybody's: then only the mark
    counts.  Once ``leader_reaped`` is set, a process of its number is not it any more.
    ``adopts`` says that orphans of the run become our children; ``exclude`` are children of
    ours, helpers and others', that must never count.
    """

    def __init__(
        self,
        leader: int | None,
        run_mark: str,
        *,
        adopts: bool = False,
        exclude: Iterable[int] = (),
    ) -> None:
        self.leader = leader
        self.leader_reaped = False
        self.adopts = adopts
        self.exclude = {os.getpid(), *exclude}
        self._mark = b"\0" + run_mark.encode() + b"="
        self._beside = f"\0{BESIDE}={run_mark}\0".encode()

    def created_none(self) -> bool:
        """True when no process was started since the leader, so that nothing can survive it.

        The kernel numbers processes in order and /proc/loadavg ends with the last number given.
        Only for a run of milliseconds: later the numbers may have gone all the way round.
        """
        return proc.last_pid() == self.leader

    def members(self) -> list[Process]:
        """Every live process of the run, each with an open pidfd that the caller closes.

        Raises OSError when nobody can be seen because descriptors ran out.
        """
        found = []
        stats = self._stats()
        related = self._related(stats)
        for pid in stats:
            process = (
                Process.open(pid) if pid in related or self._is_marked(pid, stats[pid]) else None
            )
            if process is None:
                continue
            if process.start_ticks == stats[pid].start_ticks:
                found.append(process)
            else:
                process.close()
        return found

    def signal_group(self, *numbers: int) -> list[tuple[int, int]]:
        """Signal the leader's group without any descriptor; its identity, if it has members."""
        if self.leader is None:
            return []
        try:
            for number in (*numbers, 0):
                os.killpg(self.leader, number)
        except ProcessLookupError:
            return []
        except PermissionError:
            pass
        return [(self.leader, 0)]

    def asked_first(self) -> list[Process]:
        """Whom a stop asks: the leader or, once it is gone, those whose parent is gone.

        A shell that dies of a signal does not pass it on, so the children of a shell are asked
        with it, and theirs where a child is a shell itself; but not a ``tee`` behind the training,
        which ends with its input and without which the training could not speak while it saves.
        The caller closes the pidfds.
        """
        leader = None if self.leader is None or self.leader_reaped else Process.open(self.leader)
        stats = self._stats()
        if leader is not None:
            asked = [leader.pid]
            leader.close()
        else:
            asked = self._roots(stats)
        for pid in asked:  # grows while we look
            if proc.is_shell(pid):
                asked += [child for child, status in stats.items() if status.parent == pid]
        asked = _without_readers(asked)
        return [process for pid in asked if (process := Process.open(pid)) is not None]

    def _roots(self, stats: dict[int, Stat]) -> list[int]:
        members = {process.pid: process for process in self.members()}
        for process in members.values():
            process.close()
        return [pid for pid in members if pid in stats and stats[pid].parent not in members]

    def _stats(self) -> dict[int, Stat]:
        stats: dict[int, Stat] = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) not in self.exclude:
                status = proc.read_stat(int(name))
                if status is not None and status.state not in "ZX":
                    stats[int(name)] = status
        return stats

    def _related(self, stats: dict[int, Stat]) -> set[int]:
        if self.leader is None:
            return set()
        roots = {self.leader, os.getpid()} if self.adopts else {self.leader}
        related = {
            pid
            for pid, status in stats.items()
            if self.leader in (status.session, status.group)
            or (pid == self.leader and not self.leader_reaped)
        }
        pending = True
        while pending:
            more = {
                pid
                for pid, status in stats.items()
                if pid not in related
                and (status.parent in roots or status.parent in related)
                and not self._is_beside(pid)
            }
            related |= more
            pending = bool(more)
        return related

    def _is_beside(self, pid: int) -> bool:
        return self._beside in b"\0" + proc.environment(pid)

    def _is_marked(self, pid: int, status: Stat) -> bool:
        kernel = _KTHREADD in (pid, status.parent)
        return not kernel and self._mark in b"\0" + proc.environment(pid)


def _without_readers(pids: list[int]) -> list[int]:
    """The processes whose stdin is not a pipe that another one of them writes to."""
    written = {proc.descriptor(pid, number) for pid in pids for number in (1, 2)}
    pipes = {target for target in written if target.startswith("pipe:")}
    return [pid for pid in pids if proc.descriptor(pid, 0) not in pipes]
