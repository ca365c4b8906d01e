"""Descriptors on which threads wait: sockets, pipes, files, and their other ends in the run."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property

from gpualert_common.processes.mounts import Mount, find_mount_of
from gpualert_common.processes.procfs import read, read_descriptor, read_network, read_stat
from gpualert_common.processes.sockets import Socket, read_sockets
from gpualert_common.stacks.dump import WaitKind
from gpualert_common.stacks.fuse_daemons import describe_daemon
from gpualert_common.stacks.unix_sockets import read_unix_peers
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
        self._daemons: dict[str, str] = {}

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
        if target.startswith("/dev/") and _is_type(pid, number, stat.S_ISBLK):
            return Descriptor(WaitKind.FILE, f"the disk {target}")
        if target.startswith("/"):
            return self._describe_path(pid, number, target)
        return Descriptor(WaitKind.EVENTS, target)

    def list_watched(self, pid: int, number: int) -> list[int]:
        """Return the descriptors that an epoll descriptor watches."""
        lines = read(f"/proc/{pid}/fdinfo/{number}").splitlines()
        words = [line.split() for line in lines if line.startswith(b"tfd:")]
        return [int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()]

    def describe_file(self, path: str, pid: int) -> str:
        """Return a path with its mount, as in "/data/a (nfs4, server:/data at /data)"."""
        mount = find_mount_of(path, pid)
        if mount is None:
            return path
        return f"{path} ({self.describe_mount(mount)})"

    def describe_mount(self, mount: Mount) -> str:
        """Return a mount, as in "nfs4, server:/data at /data", and the process that serves it."""
        if mount.number not in self._daemons:
            self._daemons[mount.number] = describe_daemon(mount)
        daemon = self._daemons[mount.number]
        text = f"{mount.kind}, {mount.device} at {mount.point}"
        return f"{text}, {daemon}" if daemon else text

    def _describe_path(self, pid: int, number: int, target: str) -> Descriptor:
        """Describe a file or a named pipe; a file on a network is not examined, since its server
        may not answer."""
        if not is_remote_file(target, pid) and _is_type(pid, number, stat.S_ISFIFO):
            return self._describe_pipe(pid, number, target)
        return Descriptor(WaitKind.FILE, f"the file {self.describe_file(target, pid)}")

    def _describe_socket(self, pid: int, target: str) -> Descriptor:
        inode = target.removeprefix("socket:[").rstrip("]")
        found = self._read_sockets(pid).get(inode)
        if found is None:
            peer = self._find_holder(pid, self._unix_peers.get(inode, ""))
            whose = f", whose other end is {self._names[peer]}" if peer is not None else ""
            return Descriptor(WaitKind.SOCKET, f"a socket of this machine{whose}", peer)
        text = f"a socket {found.describe()}"
        other = None if found.is_listening else self._find_end(pid, found)
        if other is not None:
            text += f", which is {self._names[other]}"
        return Descriptor(WaitKind.SOCKET, text, other)

    def _find_end(self, pid: int, socket: Socket) -> int | None:
        """Return the process of the run that has the other end of a socket."""
        for inode, other in self._read_sockets(pid).items():
            if (other.local, other.remote) == (socket.remote, socket.local):
                return self._find_holder(pid, inode)
        return None

    def _find_holder(self, pid: int, inode: str) -> int | None:
        """Return the process of the run, other than that one, that has a socket open.

        A launcher that did not close its copy has it open, too; who started later uses it.
        """
        holders = {holder for holder, _number in self._holders.get(f"socket:[{inode}]", ())}
        return max(holders - {pid}, default=None)

    @cached_property
    def _unix_peers(self) -> dict[str, str]:
        return read_unix_peers()

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
        users = [one for one in others if one != _read_parent(pid)] or others
        return Descriptor(kind, text, users[0] if len(users) == 1 else None)

    def _read_sockets(self, pid: int) -> dict[str, Socket]:
        """Return the sockets in the network of a process; a container has one of its own."""
        network = read_network(pid)
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


def is_remote_file(path: str, pid: int) -> bool:
    """Return whether a file is on a network, or served by a process, which may not answer."""
    mount = find_mount_of(path, pid)
    return mount is not None and mount.kind.startswith(_REMOTE)


def _access(pid: int, number: int) -> int:
    """Return O_RDONLY, O_WRONLY or O_RDWR of a descriptor; -1 if unknown."""
    for line in read(f"/proc/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE
    return -1


def _read_parent(pid: int) -> int | None:
    """Return the process that started one, which often keeps a pipe between its children open."""
    stat_line = read_stat(pid)
    return None if stat_line is None else stat_line.parent


def _is_type(pid: int, number: int, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(os.stat(f"/proc/{pid}/fd/{number}").st_mode)
    except OSError:
        return False
