"""Descriptors on which threads wait: sockets, pipes, files, and their other ends in the run."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property

from gpualert_common.processes.mounts import find_mount
from gpualert_common.processes.procfs import read, read_descriptor
from gpualert_common.processes.sockets import Socket, read_sockets
from gpualert_common.stacks.dump import WaitKind
from gpualert_common.structs import Struct

_STDIN = 0
_MOST_NAMED = 3
_REMOTE = ("nfs", "cifs", "smb", "fuse", "ceph", "lustre", "beegfs", "gpfs", "9p", "afs")
"""Beginnings of the types of file systems whose server may not answer."""
_ANONYMOUS = {
    "anon_inode:[eventfd]": (WaitKind.EVENTS, "an event of another thread"),
    "anon_inode:[timerfd]": (WaitKind.SLEEP, "a timer"),
    "anon_inode:[pidfd]": (WaitKind.CHILD, "the end of a process"),
    "anon_inode:inotify": (WaitKind.EVENTS, "a change of files"),
    "anon_inode:[io_uring]": (WaitKind.FILE, "requests to the kernel (io_uring)"),
}
"""Kind and description of each anonymous descriptor, by the target of its link."""


class Descriptor(Struct, frozen=True):
    """One open descriptor: ``text`` names it, ``process`` is the only other end of it."""

    kind: WaitKind
    text: str
    process: int | None = None


class DescriptorReader:
    """Describes descriptors of the processes of a run.

    ``names`` are the processes of the run with their names for people.  Tables are read once, so a
    reader serves one dump.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._sockets: dict[int, dict[str, Socket]] = {}

    def describe(self, pid: int, number: int) -> Descriptor | None:
        """Return the descriptor; None if it is not open, or may not be seen."""
        target = read_descriptor(pid, number)
        if not target:
            return None
        if target in _ANONYMOUS:
            kind, text = _ANONYMOUS[target]
            return Descriptor(kind, text)
        if target.startswith("socket:["):
            return self._describe_socket(pid, target)
        if target.startswith("pipe:["):
            return self._describe_pipe(pid, number, target)
        if target.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
            return Descriptor(WaitKind.INPUT, f"the terminal {target}")
        if target.startswith("/dev/") and _is_type(pid, number, stat.S_ISCHR):
            return Descriptor(WaitKind.DEVICE, f"the device {target}")
        if target.startswith("/"):
            return self._describe_path(pid, number, target)
        return Descriptor(WaitKind.EVENTS, target)

    def list_watched(self, pid: int, number: int) -> list[int]:
        """Return the descriptors that an epoll descriptor watches."""
        lines = read(f"/proc/{pid}/fdinfo/{number}").splitlines()
        words = [line.split() for line in lines if line.startswith(b"tfd:")]
        return [int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()]

    def _describe_path(self, pid: int, number: int, target: str) -> Descriptor:
        """Describe a file or a named pipe; a file on a network is not examined, since its server
        may not answer."""
        mount = find_mount(target, pid)
        is_remote = mount.get("type", "").startswith(_REMOTE)
        if not is_remote and _is_type(pid, number, stat.S_ISFIFO):
            return self._describe_pipe(pid, number, target)
        return Descriptor(WaitKind.FILE, describe_file(target, pid))

    def _describe_socket(self, pid: int, target: str) -> Descriptor:
        inode = target.removeprefix("socket:[").rstrip("]")
        found = self._read_sockets(pid).get(inode)
        if found is None:
            return Descriptor(WaitKind.SOCKET, "a socket of this machine")
        text = f"a socket {found.describe()}"
        other = None if found.is_listening else self._find_end(pid, found)
        if other is not None:
            text += f", which is {self._names[other]}"
        return Descriptor(WaitKind.SOCKET, text, other)

    def _find_end(self, pid: int, socket: Socket) -> int | None:
        """Return the process of the run that has the other end of a socket."""
        for inode, other in self._read_sockets(pid).items():
            if (other.local, other.remote) == (socket.remote, socket.local):
                holders = self._holders.get(f"socket:[{inode}]", ())
                return min((holder for holder, _number in holders if holder != pid), default=None)
        return None

    def _describe_pipe(self, pid: int, number: int, target: str) -> Descriptor:
        kind = WaitKind.INPUT if number == _STDIN else WaitKind.PIPE
        name = "its standard input, a pipe" if number == _STDIN else "a pipe"
        wanted = os.O_RDONLY if _access(pid, number) == os.O_WRONLY else os.O_WRONLY
        role = "reads from" if wanted == os.O_RDONLY else "writes to"
        ends = {
            holder
            for holder, fd in self._holders.get(target, ())
            if _access(holder, fd) in (wanted, os.O_RDWR)
        }
        others = sorted(ends - {pid})
        if not others:
            is_own = "only the process itself has the other end" if ends else ""
            text = f"{name}; {is_own or f'no process of the run {role} it'}"
            return Descriptor(kind, text)
        shown = [self._names[one] for one in others[:_MOST_NAMED]]
        shown += [f"{len(others) - _MOST_NAMED} more"] if len(others) > _MOST_NAMED else []
        ends_text = " and ".join((", ".join(shown[:-1]), shown[-1])) if shown[1:] else shown[0]
        text = f"{name} that {ends_text} {role if len(others) == 1 else role.replace('s ', ' ', 1)}"
        return Descriptor(kind, text, others[0] if len(others) == 1 else None)

    def _read_sockets(self, pid: int) -> dict[str, Socket]:
        """Return the sockets in the network of a process; a container has one of its own."""
        network = 0
        with suppress(OSError):
            network = os.stat(f"/proc/{pid}/ns/net").st_ino
        if network not in self._sockets:
            self._sockets[network] = read_sockets(pid)
        return self._sockets[network]

    @cached_property
    def _holders(self) -> dict[str, list[tuple[int, int]]]:
        """The processes and numbers that have each pipe and socket open."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for pid in self._names:
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")
            except OSError:
                continue
            for number in numbers:
                target = read_descriptor(pid, int(number))
                if target and not target.startswith(("anon_inode:", "/dev/")):
                    found[target].append((pid, int(number)))
        return found


def describe_file(path: str, pid: int) -> str:
    """Return a path with its mount, as in "/data/a (nfs4, server:/data at /data)"."""
    mount = find_mount(path, pid)
    if not mount:
        return path
    return f"{path} ({mount['type']}, {mount['device']} at {mount['mounted_at']})"


def _access(pid: int, number: int) -> int:
    """Return O_RDONLY, O_WRONLY or O_RDWR of a descriptor; -1 if unknown."""
    for line in read(f"/proc/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE
    return -1


def _is_type(pid: int, number: int, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(os.stat(f"/proc/{pid}/fd/{number}").st_mode)
    except OSError:
        return False
