"""Use of a TCP port of this machine: the process that listens there, and its clients.

The tables of the kernel name a socket; the process is found by its descriptors, which only the same
user and root may see.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.processes.procfs import (
    list_pids,
    parse_environment,
    read,
    read_descriptor,
    read_name,
)
from gpualert_common.stacks.sockets import Socket, read_sockets
from gpualert_common.structs import Struct

_CONNECTED = "connected"
_MOST_COMMAND_CHARS = 120
_MOST_DESCRIPTORS = 4096


class PortHolder(Struct, frozen=True):
    """The process that listens on a port; ``rank`` is that of its environment, "" without one."""

    pid: int
    name: str
    command: str
    rank: str = ""


_HIDDEN = PortHolder(0, "", "")


class PortUse(Struct, frozen=True):
    """Use of a port: sockets that listen there, and the addresses of connected clients, one for
    each connection."""

    listening: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()


def read_port_use(port: int, pid: int | str = "self") -> PortUse:
    """Return the use of a port in the network of a process."""
    sockets = _read_sockets(pid)
    ours = {inode: one for inode, one in sockets.items() if _split(one.local)[1] == port}
    return PortUse(
        tuple(inode for inode, one in ours.items() if one.is_listening),
        tuple(_split(one.remote)[0] for one in ours.values() if one.state == _CONNECTED),
    )


def count_connections(addresses: Iterable[str], port: int, pid: int | str = "self") -> int:
    """Return the connections from the network of a process to a port of these addresses."""
    wanted = set(addresses)
    remotes = (_split(one.remote) for one in _read_sockets(pid).values() if one.state == _CONNECTED)
    return sum(address in wanted and other == port for address, other in remotes)


def find_port_holder(use: PortUse, first: Iterable[int] = ()) -> PortHolder:
    """Return the process that listens, sought among the *first* ones before all others.

    Its number is 0 if no process is seen to have the socket.
    """
    wanted = {f"socket:[{inode}]" for inode in use.listening}
    if not wanted:
        return _HIDDEN
    pids = list(dict.fromkeys((*first, *list_pids())))
    holders = (pid for pid in pids if _holds(pid, wanted))
    pid = next(holders, None)
    if pid is None:
        return _HIDDEN
    words = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
    rank = parse_environment(read(f"/proc/{pid}/environ")).get("RANK", "")
    short = words if len(words) <= _MOST_COMMAND_CHARS else words[:_MOST_COMMAND_CHARS] + "…"
    return PortHolder(
        pid, read_name(pid), short, rank if rank.isdecimal() and len(rank) < 8 else ""
    )


def _read_sockets(pid: int | str) -> dict[str, Socket]:
    return read_sockets(os.getpid() if pid == "self" else int(pid))


def _holds(pid: int, sockets: set[str]) -> bool:
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")[:_MOST_DESCRIPTORS]
    except OSError:
        return False
    return any(read_descriptor(pid, int(number)) in sockets for number in numbers)


def _split(address: str) -> tuple[str, int]:
    """Return host and port of "ADDRESS:PORT" or "[ADDRESS]:PORT"."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
