"""Use of a TCP port of this machine: the process that listens there, and its clients.

The tables of the kernel name a socket; the process is found by its descriptors, which only the same
user and root may see.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.processes.procfs import list_pids, read_command, read_descriptor, read_name
from gpualert_common.processes.sockets import read_sockets
from gpualert_common.structs import Struct

_CONNECTED = "connected"
_MOST_COMMAND_CHARS = 120
_MOST_DESCRIPTORS = 4096


class PortHolder(Struct, frozen=True):
    """The process that listens on a port; its number is 0 if no process is seen to have it."""

    pid: int = 0
    name: str = ""
    command: str = ""


class PortUse(Struct, frozen=True):
    """Use of a port: sockets that listen there, and the addresses of connected clients, one for
    each connection."""

    listening: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()


def read_port_use(port: int, pid: int) -> PortUse:
    """Return the use of a port in the network of a process."""
    sockets = read_sockets(pid)
    ours = {inode: one for inode, one in sockets.items() if _split(one.local)[1] == port}
    return PortUse(
        tuple(inode for inode, one in ours.items() if one.is_listening),
        tuple(_split(one.remote)[0] for one in ours.values() if one.state == _CONNECTED),
    )


def find_port_holder(use: PortUse, first: Iterable[int] = ()) -> PortHolder:
    """Return the process that listens, sought among the *first* ones before all others."""
    wanted = {f"socket:[{inode}]" for inode in use.listening}
    if not wanted:
        return PortHolder()
    pids = dict.fromkeys((*first, *list_pids()))
    pid = next((pid for pid in pids if _holds(pid, wanted)), None)
    if pid is None:
        return PortHolder()
    words = os.fsencode(" ".join(read_command(pid))).decode("utf-8", "replace").strip()
    short = words if len(words) <= _MOST_COMMAND_CHARS else words[:_MOST_COMMAND_CHARS] + "…"
    return PortHolder(pid, read_name(pid), short)


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
