"""Messages between the supervisor and its scribe: one JSON object a line, over two pipes.

Sending never blocks and never raises: what a stalled scribe does not read waits in memory, and
what a dead one cannot read is forgotten.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_BACKLOG_BYTES = 1 << 20
_READ_BYTES = 1 << 16


class RecorderLink:
    """One end.

    ``closed`` turns True when all that the other end ever sent was received; ``unheard`` when a
    message found nobody to read it, which says nothing of those that may still wait here.
    """

    __slots__ = ("_incoming", "_outgoing", "closed", "read_fd", "unheard", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.closed = self.unheard = False
        self._incoming = b""
        self._outgoing = b""

    def send(self, message: dict[str, Any]) -> None:
        """Queue a message and write what the pipe takes."""
        if len(self._outgoing) < _MAX_BACKLOG_BYTES:
            self._outgoing += json.dumps(message).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes of what is queued."""
        while self._outgoing and not (self.closed or self.unheard):
            try:
                written = os.write(self.write_fd, self._outgoing)
            except BlockingIOError:
                return
            except OSError:
                self.unheard = True
                return
            self._outgoing = self._outgoing[written:]

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have arrived; empty when there are none."""
        while not self.closed:
            try:
                data = os.read(self.read_fd, _READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                self.closed = True
            self._incoming += data
            if len(data) < _READ_BYTES:
                break  # that was all; the end of it shows at the next call
        *lines, self._incoming = self._incoming.split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close this end; the other one sees it."""
        os.close(self.read_fd)
        os.close(self.write_fd)
        self.closed = True


def connect_recorder() -> tuple[RecorderLink, RecorderLink]:
    """Two ends that talk to each other.  Raises OSError when descriptors run out."""
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    read_one, write_two = os.pipe2(flags)
    try:
        read_two, write_one = os.pipe2(flags)
    except OSError:
        os.close(read_one)
        os.close(write_two)
        raise
    return RecorderLink(read_one, write_one), RecorderLink(read_two, write_two)
