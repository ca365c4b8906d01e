"""Lines of a log that tell how the start of a distributed run goes.

It trains, it waits for its coordinator or its peers, or it cannot open the port.  Only new output
is read, and only until the first step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.regex import compile_bytes
from gpualert_common.structs import Struct

_MOST_BYTES_AT_ONCE = 256 << 10
_MOST_BYTES = 8 << 20
"""A program that prints more has passed its start, whatever its lines look like."""

_TRAINS = compile_bytes(
    rb"(?i)(?:^|[\s\[(|,{'\"])(?:train(?:ing)?[_ /-]?|total[_ ])?loss['\"]?\s*[:=]?\s*-?\d"
    rb"|(?:^|[\s\[(|])(?:global[_ ])?(?:step|iter|iteration|epoch)\s*[:=#]?\s*\[?\d+\s*"
    rb"(?:/\s*\d+|of \d+|\]|:|\|| - |, (?:\w+ ?)+[:=])"
)
"""A step of a training, but not a configuration that is printed at the start."""
_PORT_IN_USE = compile_bytes(
    rb"(?i)EADDRINUSE|address already in use|another process is utilizing it"
    rb"|failed to listen on any local network address"
)
_PORT = compile_bytes(rb"(?:port: |\]:|\b0\.0\.0\.0:|\b127\.0\.0\.1:|on port \W?|, )(\d{2,5})\b")
_WAITS = compile_bytes(
    rb"\[c10d\] The (?:client socket|IPv[46] network addresses)|\[c10d\] TCP client failed"
    rb"|\d+/\d+ clients joined|Rendezvous(?:Timeout|Connection|Closed|State)Error"
    rb"|[Ww]aiting in store based barrier|initializing process group in store based barrier"
    rb"|Dist(?:Store|Network)Error|RuntimeError: connect\(\) timed out"
    rb"|still waiting for response from worker|not ready endpoints"
    rb"|CoordinationService/RegisterTask|[Cc]oordination service.{0,80}(?:timed out|unavailable)"
    rb"|PjRT_Client_Connect|DEADLINE_EXCEEDED|EtcdConnectionFailed|host not found"
)


class StartLines(Struct, frozen=True):
    """Content of new output: ``is_new`` without any line that is known is other work.

    ``port`` is that of the last line that names one.
    """

    is_new: bool = False
    trains: bool = False
    waits: bool = False
    port_in_use: bool = False
    port: int = 0


class StartLineReader:
    """Reads what was added to logs since the last call."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._offsets = dict.fromkeys(paths, 0)
        self._total = 0

    def read(self) -> StartLines:
        """Return the content of the new output of all logs."""
        data = b"".join(self._read_new(path) for path in self._offsets)
        if not data:
            return StartLines()
        self._total += len(data)
        return parse_start_lines(data, is_long=self._total > _MOST_BYTES)

    def _read_new(self, path: str) -> bytes:
        """Return the new bytes; of much new output only the end."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return b""
        try:
            size, offset = os.fstat(fd).st_size, self._offsets[path]
            if size <= offset:
                return b""
            self._total += max(0, size - offset - _MOST_BYTES_AT_ONCE)
            data = os.pread(fd, _MOST_BYTES_AT_ONCE, max(offset, size - _MOST_BYTES_AT_ONCE))
            whole = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
            if not whole and len(data) == _MOST_BYTES_AT_ONCE:
                whole = len(data)  # longer than any line that counts
            if whole:  # the rest of a line comes with the next call
                self._offsets[path] = size - (len(data) - whole)
            return data[:whole]
        except OSError:
            return b""
        finally:
            os.close(fd)


def parse_start_lines(data: bytes, *, is_long: bool = False) -> StartLines:
    """Return the content of output; with *is_long* it counts as that of a training."""
    trains = is_long or _TRAINS.search(data) is not None
    port, in_use = 0, False
    for line in data.splitlines():
        if _PORT_IN_USE.search(line):
            in_use = True
            named = _PORT.search(line)
            port = int(named[1]) if named is not None else port
    return StartLines(
        is_new=True,
        trains=trains,
        waits=in_use or _WAITS.search(data) is not None,
        port_in_use=in_use,
        port=port,
    )
