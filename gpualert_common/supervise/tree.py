"""The processes of a run, found by what they cannot all shed at once.

A process belongs to the run when it descends from the leader, shares the leader's session or
group, or carries the run's mark in its environment.  A daemon that forked twice into a session of
its own still carries the mark; one that also cleaned its environment is still found when we are
its subreaper.  Only pidfds are signalled, so a recycled number is never hit.
"""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHELLS = frozenset(
    ("sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "ksh93", "mksh", "tcsh", "zsh")
)

_MARK = "GPUALERT_MARK_"

_KTHREADD = 2
"""Parent of the kernel's own threads, which never have an environment."""
_LOOKS_AT_EXEC = 20
_EXEC_PAUSE_S = 0.0005


def mark(run_id: str) -> str:
    """Name of the variable that marks every process of the run.

    One name per run, so that a run inside a run carries both marks.
    """
    return _MARK + run_id.replace("-", "_")


def own_children() -> list[int]:
    """The children of this process: before launch, those it had before it became gpualert.

    A script that starts a sidecar and then becomes ``gpualert run`` by exec leaves it such a child.
    """
    return [int(pid) for pid in _read(f"/proc/self/task/{os.getpid()}/children").split()]


class Process:
    """One live process, pinned by a pidfd."""

    __slots__ = ("fd", "pid", "start_ticks")

    def __init__(self, pid: int, fd: int, start_ticks: int) -> None:
        self.pid = pid
        self.fd = fd
        self.start_ticks = start_ticks

    @classmethod
    def open(cls, pid: int) -> Process | None:
        """The process of that number, or None when it is gone or a zombie."""
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return None
        status = read_stat(pid)
        process = cls(pid, fd, 0 if status is None else status.start_ticks)
        if status is None or not process.alive:
            process.close()
            return None
        return process

    @property
    def identity(self) -> tuple[int, int]:
        """Names this process and no later one of the same number."""
        return self.pid, self.start_ticks

    @property
    def alive(self) -> bool:
        """False as soon as it has exited, also while it is a zombie."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not poll.poll(0)

    def send(self, number: int) -> None:
        """Send a signal; a process that is gone or not ours is left alone."""
        try:
            signal.pidfd_send_signal(self.fd, number)
        except OSError:
            pass

    def close(self) -> None:
        """Give back the pidfd."""
        os.close(self.fd)


class Stat:
    """What /proc/<pid>/stat says."""

    __slots__ = ("command", "group", "parent", "session", "start_ticks", "state")

    def __init__(self, text: bytes) -> None:
        head, _, tail = text.rpartition(b")")
        fields = tail.split()
        self.command = head.partition(b"(")[2].decode("utf-8", "replace")
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.start_ticks = int(fields[19])


def read_stat(pid: int) -> Stat | None:
    """The status of a process, or None when there is none of that number."""
    data = _read(f"/proc/{pid}/stat")
    return Stat(data) if data else None


def is_shell(pid: int) -> bool:
    """True when the process runs a shell, by the file it executes."""
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    return name.removesuffix(" (deleted)") in SHELLS


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

    def created_none(self) -> bool:
        """True when no process was started since the leader, so that nothing can survive it.

        The kernel numbers processes in order and /proc/loadavg ends with the last number given.
        Only for a run of milliseconds: later the numbers may have gone all the way round.
        """
        return _last_pid() == self.leader

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
            if is_shell(pid):
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
                status = read_stat(int(name))
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
                if pid not in related and (status.parent in roots or status.parent in related)
            }
            related |= more
            pending = bool(more)
        return related

    def _is_marked(self, pid: int, status: Stat) -> bool:
        return status.parent != _KTHREADD and self._mark in b"\0" + _environment(pid)


def _without_readers(pids: list[int]) -> list[int]:
    """The processes whose stdin is not a pipe that another one of them writes to."""
    written = {_descriptor(pid, number) for pid in pids for number in (1, 2)}
    pipes = {target for target in written if target.startswith("pipe:")}
    return [pid for pid in pids if _descriptor(pid, 0) not in pipes]


def _descriptor(pid: int, number: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return ""


def _environment(pid: int) -> bytes:
    """The environment of a process, waiting for it while the process is executing a program.

    For that moment the kernel shows neither environment nor arguments.
    """
    for _look in range(_LOOKS_AT_EXEC):
        data = _read(f"/proc/{pid}/environ")
        if data or _read(f"/proc/{pid}/cmdline"):
            return data
        time.sleep(_EXEC_PAUSE_S)
    return b""


def boot_id() -> str:
    """Names the present boot of the machine; empty where the kernel does not tell."""
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


def pid_namespace() -> str:
    """Names the space that process numbers of this process are meant in."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _last_pid() -> int:
    fields = _read("/proc/loadavg").split()
    return int(fields[-1]) if fields else 0


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    chunks = []
    try:
        while chunk := os.read(fd, 1 << 17):
            chunks.append(chunk)
    except OSError:
        pass
    finally:
        os.close(fd)
    return b"".join(chunks)
