"""Single processes: what /proc says of them, and pidfds that pin them."""

from __future__ import annotations

import os
import select
import signal
import time

SHELLS = frozenset(
    ("sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "ksh93", "mksh", "tcsh", "zsh")
)

_LOOKS_AT_EXEC = 20
_EXEC_PAUSE_S = 0.0005


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
        return not is_ready(self.fd)

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


def descriptor(pid: int, number: int) -> str:
    """What a descriptor of the process is, such as "pipe:[123]"; empty where it cannot be seen."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return ""


def environment(pid: int) -> bytes:
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


def last_pid() -> int:
    """The number that the kernel gave last; 0 where it does not tell."""
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


def await_exit(pid: int, deadline_s: float) -> None:
    """Return when the process has exited, or at the deadline."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll(deadline_s * 1000)
    os.close(fd)


def open_pidfd(pid: int) -> int:
    """A pidfd, or -1 when somebody reaped the process already or descriptors ran out."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def is_ready(fd: int) -> bool:
    """True when the descriptor is readable; a pidfd is when its process has exited."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def command(pid: int) -> str:
    """The name of the process, as the kernel keeps it; empty when it is gone."""
    status = read_stat(pid)
    return status.command if status is not None else ""
