"""Machines of a test: namespaces of one machine with host names of their own, on one network."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

WITH_US = ("setpriv", "--pdeathsig=KILL", "--")
"""Start of a command that ends with the test, however that ends."""
_START = 10.0
"""Seconds that the start of a machine may take."""
_CONTROLLERS = ("memory", "freezer", "cpuset", "devices", "cpuacct")
"""Controllers of cgroup v1 in which each machine has a hierarchy of its own."""
_CGROUPS = Path("/sys/fs/cgroup")

_INIT = """
hostname "$1"
mount --bind "$2" /etc/hosts
for group in "${@:3}"; do mount --bind "$group" "${group%/*}"; done
echo ready
exec 1>&- 2>&-
sleep infinity &
while :; do wait; done
"""
"""The first process of a machine; bash collects the processes that lose their parent."""


@dataclass(frozen=True)
class Machine:
    """A machine: its name, its address, and its first process on the real machine."""

    name: str
    address: str
    init: int
    namespaces: tuple[str, ...]

    def inside(self, *command: str, user: str | None = None) -> tuple[str, ...]:
        """Return a command that runs on the machine, in the folder of its caller."""
        enter = ("nsenter", f"--target={self.init}", *self.namespaces, f"--wdns={os.getcwd()}")
        if user is None:
            return (*enter, *command)
        group = pwd.getpwnam(user).pw_gid
        become = (f"--reuid={user}", f"--regid={group}", "--clear-groups", "--")
        return (*enter, "setpriv", *become, *command)

    def end(self) -> None:
        """Kill the machine with all that runs on it, as a loss of power does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)


@contextmanager
def start_machines(home: Path, head: str, nodes: Sequence[str]) -> Iterator[dict[str, Machine]]:
    """Start the machines by their names; each is ended at the end with all that runs on it.

    The head has the processes of this machine, so that its records are those of this machine; each
    node has processes and control groups of its own.
    """
    tag = uuid.uuid4().hex[:6]
    addresses = {name: f"10.78.0.{1 + index}" for index, name in enumerate((head, *nodes))}
    hosts = home / "hosts"
    lines = [f"{address} {name}\n" for name, address in addresses.items()]
    hosts.write_text("127.0.0.1 localhost\n" + "".join(lines))
    with ExitStack() as stack:
        made: dict[str, Machine] = {}
        for name, address in addresses.items():
            alone = name != head
            groups = stack.enter_context(_control_groups(f"{tag}-{name}")) if alone else []
            init = stack.enter_context(_init(name, hosts, groups, alone))
            spaces = ("--net", "--uts", "--mount", *(("--pid", "--ipc") if alone else ()))
            made[name] = Machine(name, address, init, spaces)
        _join(made[head], [made[name] for name in nodes], tag)
        yield made


@contextmanager
def _init(name: str, hosts: Path, groups: Sequence[Path], alone: bool) -> Iterator[int]:
    """Start the first process of a machine; its number on the real machine."""
    own = ("--pid", "--ipc", "--fork", "--kill-child", "--mount-proc") if alone else ()
    command = (*WITH_US, "unshare", "--net", "--uts", "--mount", *own, "bash", "-c", _INIT, "bash")
    started = subprocess.Popen(
        (*command, name, str(hosts), *map(str, groups)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # unshare cannot unblock the signals of an interpreter
        text=True,
        start_new_session=True,
    )
    try:
        assert started.stdout is not None
        with started.stdout as answer:
            is_ready = answer.readline() == "ready\n"
        if not is_ready:
            raise RuntimeError(f"the machine {name} did not start")
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        yield int(children.read_text().split()[0]) if alone else started.pid
    finally:
        if alone:  # its end ends unshare
            _end_child(started.pid)
        else:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(_START)


def _end_child(pid: int) -> None:
    with contextlib.suppress(OSError, IndexError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)


@contextmanager
def _control_groups(name: str) -> Iterator[list[Path]]:
    """Create the hierarchies of a machine, as far as the kernel has cgroup v1."""
    made = [_CGROUPS / one / f"gpualert-{name}" for one in _CONTROLLERS]
    made = [group for group in made if (group.parent / "cgroup.procs").exists()]
    for group in made:
        group.mkdir()
        if group.parent.name == "cpuset":
            for file in ("cpuset.cpus", "cpuset.mems"):
                (group / file).write_text((group.parent / file).read_text())
    try:
        yield made
    finally:
        for group in made:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):  # the kernel may still free its memory
                    Path(folder).rmdir()


def _join(head: Machine, nodes: Sequence[Machine], tag: str) -> None:
    """Join the machines by a switch on the head."""
    _ip(head, "link", "set", "lo", "up")
    _ip(head, "link", "add", "switch", "type", "bridge")
    _ip(head, "address", "add", f"{head.address}/24", "dev", "switch")
    _ip(head, "link", "set", "switch", "up")
    for index, node in enumerate(nodes):
        port = f"port{index}"
        end = ("peer", "name", "cable", "netns", str(node.init))
        _ip(head, "link", "add", port, "type", "veth", *end)
        _ip(head, "link", "set", port, "master", "switch", "up")
        _ip(node, "link", "set", "lo", "up")
        _ip(node, "address", "add", f"{node.address}/24", "dev", "cable")
        _ip(node, "link", "set", "cable", "up")


def _ip(machine: Machine, *words: str) -> None:
    net = ("nsenter", f"--target={machine.init}", "--net")
    subprocess.run((*net, "ip", *words), check=True, capture_output=True, text=True)
