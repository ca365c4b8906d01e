"""What /proc says of processes: files that may be gone, or not for us, before they are read."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_LOOKS_AT_EXEC = 20
_EXEC_PAUSE_S = 0.0005
_WHOLE_FROM_S = 10_000


class Stat(NamedTuple):
    """What /proc/<pid>/stat says.

    ``cpu_s`` is the time of its own threads, ``reaped_cpu_s`` that of the descendants which it, and
    they in turn, have waited for.
    """

    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    cpu_s: float
    reaped_cpu_s: float
    threads: int
    start_ticks: int
    rss_bytes: int

    @property
    def is_live(self) -> bool:
        """False of one that has ended and waits to be reaped."""
        return self.state not in "ZX"


def read(path: str) -> bytes:
    """Content of a file; empty where there is none, or none for us."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def stat(pid: int) -> Stat | None:
    """The status of a process, None where there is none of that number."""
    data = read(f"/proc/{pid}/stat")
    if not data:
        return None
    head, _, tail = data.rpartition(b")")
    fields = tail.split()
    return Stat(
        pid=pid,
        name=head.partition(b"(")[2].decode("utf-8", "replace"),
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        cpu_s=(int(fields[11]) + int(fields[12])) / TICKS_PER_S,
        reaped_cpu_s=(int(fields[13]) + int(fields[14])) / TICKS_PER_S,
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        rss_bytes=int(fields[21]) * PAGE_BYTES,
    )


def cwd_of(pid: int) -> str:
    """The working directory of a process; empty where it is gone, or not for us."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def environment(pid: int) -> bytes:
    """The environment a process was started with; empty where we may not see it.

    While it executes a program the kernel shows neither that nor its arguments; we wait for it.
    """
    for _look in range(_LOOKS_AT_EXEC):
        data = read(f"/proc/{pid}/environ")
        if data or read(f"/proc/{pid}/cmdline"):
            return data
        time.sleep(_EXEC_PAUSE_S)
    return b""


def variables(data: bytes) -> dict[str, str]:
    """An environment by names; the first of a name counts, as it does for getenv()."""
    found: dict[str, str] = {}
    for entry in data.decode("utf-8", "replace").split("\0"):
        name, separator, value = entry.partition("=")
        if separator:
            found.setdefault(name, value)
    return found


def fields(data: bytes) -> dict[str, int]:
    """The whole numbers of "name value" or "name: value unit" lines."""
    found = {}
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[1].isdecimal():
            found[words[0]] = int(words[1])
    return found


def counted_s(seconds: float) -> float:
    """Seconds as a counter: hundredths, and whole ones once six digits would not hold those."""
    return round(seconds, 2) if seconds < _WHOLE_FROM_S else int(seconds)
