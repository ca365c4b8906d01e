"""Messages between the supervisor and its recorder: one JSON object a line, over two pipes.

Sending never blocks and never raises: a message that a stalled recorder does not read waits in
memory, and one that a dead recorder cannot read is dropped.
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
    """One end of the link.

    ``is_closed`` turns True when all that the other end ever sent was received; ``has_no_reader``
    when a message found no reader.  Messages of that reader may still wait to be received here.
    """

    __slots__ = ("_incoming", "_outgoing", "has_no_reader", "is_closed", "read_fd", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.is_closed = self.has_no_reader = False
        self._incoming = b""
        self._outgoing = b""

    def send(self, message: dict[str, Any]) -> None:
        """Queue a message and write as much as the pipe takes."""
        if len(self._outgoing) < _MAX_BACKLOG_BYTES:
            self._outgoing += json.dumps(message).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Write as much of the queue as the pipe takes."""
        while self._outgoing and not (self.is_closed or self.has_no_reader):
            try:
                written = os.write(self.write_fd, self._outgoing)
            except BlockingIOError:
                return
            except OSError:
                self.has_no_reader = True
                return
            self._outgoing = self._outgoing[written:]

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that have arrived."""
        while not self.is_closed:
            try:
                data = os.read(self.read_fd, _READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                self.is_closed = True
            self._incoming += data
            if len(data) < _READ_BYTES:
                break  # the pipe is empty; its end shows at the next call
        *lines, self._incoming = self._incoming.split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close this end; the other one sees it."""
        os.close(self.read_fd)
        os.close(self.write_fd)
        self.is_closed = True


def connect_recorder() -> tuple[RecorderLink, RecorderLink]:
    """Return the two ends of a link.  Raises OSError when descriptors run out."""
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    read_one, write_two = os.pipe2(flags)
    try:
        read_two, write_one = os.pipe2(flags)
    except OSError:
        os.close(read_one)
        os.close(write_two)
        raise
    return RecorderLink(read_one, write_one), RecorderLink(read_two, write_two)
