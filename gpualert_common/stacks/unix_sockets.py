"""Peers of UNIX sockets, which /proc does not show, by the kernel's socket diagnosis (netlink)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_SOCK_DIAG, _BY_FAMILY = 4, 20
_REQUEST_DUMP = 0x301
"""Flags NLM_F_REQUEST and NLM_F_DUMP."""
_ALL_STATES, _SHOW_PEER = 0xFFFFFFFF, 4
_PEER = 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBHIIIII")
_MESSAGE = struct.Struct("=BBBBIII")
_ATTRIBUTE = struct.Struct("=HH")
_TIMEOUT_S = 1.0
_CHUNK_BYTES = 1 << 16


def read_unix_peers() -> dict[str, str]:
    """Return the inode of the other end of each connected UNIX socket, by the inode of the socket.

    Empty where the kernel has no such diagnosis.
    """
    body = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_PEER, 0, 0)
    request = _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + body
    found: dict[str, str] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as one:
            one.settimeout(_TIMEOUT_S)
            one.send(request)
            while True:
                answers = list(_split(one.recv(_CHUNK_BYTES)))
                for kind, message in answers:
                    if kind != _BY_FAMILY:
                        return found  # the end, or an error
                    found |= _parse(message)
                if not answers:
                    return found
    except (OSError, struct.error):
        return found


def _split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and content of each message."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, *_rest = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size:
            return
        yield kind, data[offset + _HEADER.size : offset + length]
        offset += length + 3 & ~3


def _parse(message: bytes) -> dict[str, str]:
    inode = _MESSAGE.unpack_from(message)[4]
    offset = _MESSAGE.size
    while offset + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, offset)
        if length < _ATTRIBUTE.size:
            break
        if kind == _PEER:
            (peer,) = struct.unpack_from("=I", message, offset + _ATTRIBUTE.size)
            return {str(inode): str(peer)}
        offset += length + 3 & ~3
    return {}
