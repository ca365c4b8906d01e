"""The daemon's end of its socket: who asks, and which answers are still read.

A process waits 50 ms for its answer.  One that comes later stays in its queue, where it takes it
for the answer to its next question, five seconds later: from then on each answer is late by one.
So a question that has waited is answered only with a configuration, which cannot wait, and a
process that is behind is brought back by leaving out one answer.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
import time
from collections.abc import Iterator

from gpualert_common.kineto import protocol
from gpualert_common.kineto.socket_directory import is_client_address

_WAITS_S = 0.04
"""Less than the 50 ms of Kineto (``IpcFabricConfigClient.cpp``: five times 10 ms)."""
_READ_WITHIN_S = 0.2
"""The ranks of a run ask within milliseconds of each other, and then pause."""
_MOST_AT_ONCE = 256
_TIMESTAMP = 35
"""SO_TIMESTAMPNS, and the type of its message (``asm-generic/socket.h``)."""
_CREDENTIALS = struct.Struct("=iII")
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_TIMESPEC.size)


class Question:
    """A message of a process of this user, and the socket that waits for the answer.

    ``is_late`` says that the process may wait no more.
    """

    __slots__ = ("address", "is_late", "message", "pid")

    def __init__(
        self,
        message: protocol.Poll | protocol.Registration,
        pid: int,
        address: str,
        *,
        is_late: bool,
    ) -> None:
        self.message = message
        self.pid = pid
        self.address = address
        self.is_late = is_late


class DaemonSocket:
    """The bound socket in its directory."""

    def __init__(self, bound: socket.socket, directory: str) -> None:
        self._socket = bound
        self._directory = directory
        self._answered_at = 0.0
        self._is_unchecked = False
        bound.setblocking(False)
        try:
            bound.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
        except OSError:
            pass  # a late answer is noticed only once it was given

    @property
    def fd(self) -> int:
        """Readable when a datagram has come."""
        return self._socket.fileno()

    @property
    def check_due_s(self) -> float | None:
        """Time until :meth:`has_late_answer` can be told; None if it is known."""
        if not self._is_unchecked:
            return None
        return max(0.0, self._answered_at + _READ_WITHIN_S - time.monotonic())

    def has_late_answer(self) -> bool:
        """Return True, once, when an answer was not read: its process is one answer behind.

        That can be seen only between two questions, since a process that asks reads at once.
        """
        if self.check_due_s != 0.0:
            return False
        self._is_unchecked = False
        unread = bytearray(4)
        try:
            fcntl.ioctl(self._socket, termios.TIOCOUTQ, unread)
        except OSError:
            return False
        return bool(struct.unpack("=i", unread)[0])

    def receive(self) -> Iterator[Question]:
        """Yield the questions that have come; other datagrams only wake the daemon."""
        for _number in range(_MOST_AT_ONCE):
            try:
                data, ancillary, _flags, address = self._socket.recvmsg(
                    protocol.MOST_DATAGRAM_BYTES, _ANCILLARY_BYTES
                )
            except OSError:
                return
            message = protocol.parse_datagram(data)
            pid, waited_s = _read_ancillary(ancillary)
            is_client = pid and is_client_address(address, self._directory)
            if message is not None and is_client:
                yield Question(message, pid, str(address), is_late=waited_s > _WAITS_S)

    def answer(self, question: Question, answer: bytes) -> None:
        """Send an answer; a process that has ended, or does not read, gets none."""
        try:
            self._socket.sendto(answer, question.address)
        except OSError:
            return
        self._answered_at = time.monotonic()
        self._is_unchecked = True


def _read_ancillary(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, float]:
    """Return the process of this user that sent a datagram, as the kernel says, and how long ago.

    The process is 0 for another user's.
    """
    pid, waited_s = 0, 0.0
    for level, kind, data in ancillary:
        if level != socket.SOL_SOCKET:
            continue
        if kind == socket.SCM_CREDENTIALS and len(data) >= _CREDENTIALS.size:
            sender, uid, _gid = _CREDENTIALS.unpack_from(data)
            pid = sender if uid == os.geteuid() else 0
        elif kind == _TIMESTAMP and len(data) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            waited_s = time.time() - seconds - nanoseconds / 1e9
    return pid, waited_s
