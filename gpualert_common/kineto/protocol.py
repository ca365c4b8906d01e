"""Datagrams between Kineto, the profiler inside of PyTorch, and its daemon.

A datagram is the size of its payload (8 bytes), its kind (32 bytes, padded by NULs) and the
payload.  Every number has the byte order of the machine.  A process sends ``req``, which asks for a
configuration: the kinds of configuration that it would take (4 bytes), a number of process numbers
(4), the job of Slurm (8), and these process numbers (4 each): its own, and those of its ancestors.
The answer is a ``req`` with the configuration as text, or empty.  For each GPU it once sends
``ctxt``, which is answered by the number of processes there.

Measured with PyTorch 2.13; see also ``libkineto/src/IpcFabricConfigClient.cpp`` of Kineto.
"""

from __future__ import annotations

import os
import struct

MOST_DATAGRAM_BYTES = 64 << 10
_MOST_PIDS = 4096
_KIND_BYTES = 32
_HEADER = struct.Struct(f"=Q{_KIND_BYTES}s")
_POLL = struct.Struct("=iiq")
_CONTEXT = struct.Struct("=iiq")
_ACTIVITIES = 2
"""Bit of a process that records no trace now."""
_POLL_KIND = b"req"
_CONTEXT_KIND = b"ctxt"


class Poll:
    """A process asks for a configuration.

    ``pid`` is its number as it sees itself, which may be another one in a container.  ``is_idle``
    is False while it records a trace.
    """

    __slots__ = ("is_idle", "pid")

    def __init__(self, pid: int, *, is_idle: bool) -> None:
        self.pid = pid
        self.is_idle = is_idle


class Registration:
    """A process reports a GPU that it uses."""

    __slots__ = ()


def parse_datagram(data: bytes) -> Poll | Registration | None:
    """Return the message of a datagram; None for one that Kineto does not send."""
    if len(data) < _HEADER.size:
        return None
    size, padded_kind = _HEADER.unpack_from(data)
    kind = padded_kind.rstrip(b"\0")
    payload = data[_HEADER.size :]
    if size != len(payload):
        return None
    if kind == _CONTEXT_KIND:
        return Registration() if len(payload) == _CONTEXT.size else None
    if kind != _POLL_KIND or len(payload) < _POLL.size:
        return None
    wanted, count, _job = _POLL.unpack_from(payload)
    if not 1 <= count <= _MOST_PIDS or len(payload) != _POLL.size + 4 * count:
        return None
    (pid,) = struct.unpack_from("=i", payload, _POLL.size)
    return Poll(pid, is_idle=bool(wanted & _ACTIVITIES)) if pid > 0 else None


def format_configuration(text: str) -> bytes:
    """Return the answer to a :class:`Poll`: a configuration, or "" for none."""
    return _format(_POLL_KIND, os.fsencode(text))


def format_count(count: int) -> bytes:
    """Return the answer to a :class:`Registration`."""
    return _format(_CONTEXT_KIND, struct.pack("=i", count))


def _format(kind: bytes, payload: bytes) -> bytes:
    return _HEADER.pack(len(payload), kind) + payload
