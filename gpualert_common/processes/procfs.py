"""Readers of /proc.  A file may be gone, or closed to us, before it is read."""

from __future__ import annotations

import os
import sys
import time

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_EXEC_RETRIES = 20
_EXEC_PAUSE_S = 0.0005
_CHUNK_BYTES = 1 << 17
MOST_CHOSEN_BYTES = 1 << 20
"""Of an environment or a command that is read: a process can make its own as long as its memory."""


class ProcessStat:
    """The content of /proc/PID/stat.

    ``cpu_s`` is the processor time of the process's own threads, ``reaped_cpu_s`` that of the
    descendants that were waited for.
    """

    __slots__ = (
        "cpu_s",
        "group",
        "name",
        "parent",
        "pid",
        "reaped_cpu_s",
        "rss_bytes",
        "session",
        "start_ticks",
        "state",
        "threads",
    )

    def __init__(self, pid: int, text: bytes) -> None:
        head, _, tail = text.rpartition(b")")
        fields = tail.split()
        self.pid = pid
        self.name = head.partition(b"(")[2].decode("utf-8", "replace")
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.cpu_s = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
        self.reaped_cpu_s = (int(fields[13]) + int(fields[14])) / TICKS_PER_S
        self.threads = int(fields[17])
        self.start_ticks = int(fields[19])
        self.rss_bytes = int(fields[21]) * PAGE_BYTES

    @property
    def identity(self) -> tuple[int, int]:
        """Number and start time, which no later process of the same number shares."""
        return self.pid, self.start_ticks

    @property
    def is_live(self) -> bool:
        """False for a process that has exited and waits to be reaped."""
        return self.state not in "ZX"


def read(path: str, most_bytes: int | None = None) -> bytes:
    """Return the content of a file, or its first bytes; empty where it is not readable."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    chunks = []
    left = sys.maxsize if most_bytes is None else most_bytes
    try:
        while chunk := os.read(fd, min(left, _CHUNK_BYTES)):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError:
        pass
    finally:
        os.close(fd)
    return b"".join(chunks)


def read_stat(pid: int) -> ProcessStat | None:
    """Return the status of a process, None where no process has that number."""
    data = read(f"/proc/{pid}/stat")
    return ProcessStat(pid, data) if data else None


def list_pids() -> list[int]:
    """Return the number of every process.  Raises OSError when descriptors ran out."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read_name(pid: int) -> str:
    """Return the name of a process as the kernel keeps it; empty where it is gone."""
    stat = read_stat(pid)
    return stat.name if stat is not None else ""


def read_executable(pid: int) -> str:
    """Return the path of the file that a process executes; empty where it cannot be seen."""
    return _read_link(f"/proc/{pid}/exe").removesuffix(" (deleted)")


def read_command(pid: int) -> list[str]:
    """Return the words of the command of a process; empty where it is gone."""
    data = read(f"/proc/{pid}/cmdline", MOST_CHOSEN_BYTES).removesuffix(b"\0")
    return os.fsdecode(data).split("\0") if data else []


def read_cwd(pid: int) -> str:
    """Return the working directory of a process; empty where it cannot be seen."""
    return _read_link(f"/proc/{pid}/cwd")


def read_network(pid: int) -> int:
    """Return the number of the network namespace of a process; 0 where it cannot be seen."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return 0


def read_descriptor(pid: int, number: int) -> str:
    """Return the target of a descriptor, as in "pipe:[123]"; empty where it cannot be seen."""
    return _read_link(f"/proc/{pid}/fd/{number}")


def read_environment(pid: int) -> bytes | None:
    """Return the environment a process was started with, empty where it is closed to us.

    None while the process executes a program: the kernel then shows neither environment nor
    arguments.  A kernel thread and a zombie look the same.
    """
    data = read(f"/proc/{pid}/environ", MOST_CHOSEN_BYTES)
    return data if data or read(f"/proc/{pid}/cmdline", 1) else None


def await_environment(pid: int) -> bytes:
    """Return the environment of a process, also of one that executes a program just now."""
    for _attempt in range(_EXEC_RETRIES):
        data = read_environment(pid)
        if data is not None:
            return data
        time.sleep(_EXEC_PAUSE_S)
    return b""


def parse_environment(data: bytes) -> dict[str, str]:
    """Return an environment by names; the first entry of a name counts, as it does for getenv."""
    found: dict[str, str] = {}
    for entry in data.decode("utf-8", "replace").split("\0"):
        name, separator, value = entry.partition("=")
        if separator:
            found.setdefault(name, value)
    return found


def parse_numbers(data: bytes) -> dict[str, int]:
    """Return the whole numbers of "name value" and "name: value unit" lines."""
    found = {}
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[1].isdecimal():
            found[words[0]] = int(words[1])
    return found


def read_last_pid() -> int:
    """Return the number that the kernel assigned last; 0 where /proc/loadavg is missing."""
    fields = read("/proc/loadavg").split()
    return int(fields[-1]) if fields else 0


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
