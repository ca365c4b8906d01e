"""Sockets of a process: their ends and states, from the tables of its network in /proc."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable

from gpualert_common.processes.procfs import read
from gpualert_common.structs import Struct

_TABLES = ("tcp", "tcp6", "udp", "udp6")
_STATES = {
    1: "connected",
    2: "no answer to its connection request yet",
    4: "closing",
    5: "closing",
    6: "closing",
    7: "closed",
    8: "closed by its peer",
    9: "closing",
    10: "listening",
    11: "closing",
}
"""States of TCP by their numbers (``include/net/tcp_states.h``)."""
_LISTENS = 10


class Socket(Struct, frozen=True):
    """One socket: ``local`` and ``remote`` are "ADDRESS:PORT", ``unanswered`` counts the times for
    which unacknowledged data was sent again."""

    local: str
    remote: str
    state: str
    is_listening: bool = False
    unanswered: int = 0

    def describe(self) -> str:
        """Return the socket in words, after "a socket"."""
        if self.is_listening:
            return f"that listens on {self.local}"
        text = f"to {self.remote} ({self.state})"
        if self.unanswered:
            text += f"; its data was sent {self.unanswered + 1} times without an answer"
        return text


def read_sockets(pid: int) -> dict[str, Socket]:
    """Return the TCP and UDP sockets in the network of a process, by inode."""
    found: dict[str, Socket] = {}
    for table in _TABLES:
        found |= parse_sockets(read(f"/proc/{pid}/net/{table}").splitlines()[1:])
    return found


def parse_sockets(lines: Iterable[bytes]) -> dict[str, Socket]:
    """Return the sockets of the lines of a table, by inode; a line that is no socket is left
    out."""
    found = {}
    for line in lines:
        words = line.decode("ascii", "replace").split()
        try:
            local, remote = _parse_address(words[1]), _parse_address(words[2])
            state, unanswered, inode = int(words[3], 16), int(words[6], 16), words[9]
        except (IndexError, ValueError, struct.error):
            continue
        state_text = _STATES.get(state, f"state {state}")
        found[inode] = Socket(local, remote, state_text, state == _LISTENS, unanswered)
    return found


def _parse_address(text: str) -> str:
    """Return "ADDRESS:PORT" from the kernel's form: words of the machine's byte order, in hex."""
    host, _, port = text.partition(":")
    raw = bytes.fromhex(host)
    words = struct.unpack(f">{len(raw) // 4}I", raw)
    address = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = getattr(address, "ipv4_mapped", None)
    shown = f"[{address}]" if address.version == 6 and mapped is None else f"{mapped or address}"
    return f"{shown}:{int(port, 16)}"
