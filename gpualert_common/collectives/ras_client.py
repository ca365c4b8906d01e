"""Client of NCCL's RAS: the status of all communicators of a job, from one of its processes.

RAS answers on a socket of each machine, by default ``localhost:28028``, since NCCL 2.24; since 2.28
also in JSON.  The commands are lines of text.  Only its status is asked for; nothing is changed.
"""

from __future__ import annotations

import socket
import time

DEFAULT_ADDRESS = "localhost:28028"
_MOST_BYTES = 64 << 20
"""Size of an answer that is read: the JSON of 1,024 ranks in 100 communicators has 46 MB."""
_GREETING = b"CLIENT PROTOCOL 2\n"
_COLLECT_S = 5
"""Time that RAS itself waits for the other processes of the job."""
_EXTRA_S = 5.0
_CHUNK_BYTES = 1 << 16


class RasError(Exception):
    """RAS gave no answer, or not the expected one; the message says which."""


def query_status(address: str = DEFAULT_ADDRESS, timeout_s: float = _COLLECT_S + _EXTRA_S) -> str:
    """Return the status as RAS reports it: JSON, or else its verbose text.

    Takes *timeout_s* at most.  Raises RasError.
    """
    host, port = parse_address(address)
    deadline = time.monotonic() + timeout_s
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            return _Dialog(connection, deadline).query()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise RasError(f"RAS at {address} does not answer: {reason}") from None


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of "HOST:PORT" or "[HOST]:PORT".  Raises RasError."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise RasError(f"{address!r} is no address of RAS")
    return host.strip("[]"), int(port)


class _Dialog:
    """One connection: lines that are sent and received until a deadline."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._received = bytearray()

    def query(self) -> str:
        """Return the status.  Raises RasError and OSError."""
        greeting = self._ask(_GREETING)
        if not greeting.upper().startswith("SERVER PROTOCOL "):
            raise RasError(f"the server there is not RAS: it answers {greeting[:80]!r}")
        self._ask(b"TIMEOUT %d\n" % _COLLECT_S)
        has_json = self._ask(b"SET FORMAT json\n") == "OK"
        self._connection.sendall(b"STATUS\n" if has_json else b"VERBOSE STATUS\n")
        while self._receive():
            pass
        return self._received.decode("utf-8", "replace")

    def _ask(self, command: bytes) -> str:
        """Return the line that answers a command."""
        self._connection.sendall(command)
        while b"\n" not in self._received:
            if not self._receive():
                raise RasError("RAS closed the connection")
        line, _, self._received = self._received.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _receive(self) -> bool:
        """Receive more; False at the end of the answer."""
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("it took too long")
        self._connection.settimeout(left_s)
        data = self._connection.recv(_CHUNK_BYTES)
        self._received += data
        if len(self._received) > _MOST_BYTES:
            raise RasError(f"the answer of RAS has more than {_MOST_BYTES >> 20} MiB")
        return bool(data)
