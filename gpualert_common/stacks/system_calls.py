"""System calls in which threads wait, by the numbers in /proc/PID/task/TID/syscall."""

from __future__ import annotations

import os

from gpualert_common.processes.procfs import read
from gpualert_common.structs import Struct

_NUMBERS = {
    "x86_64": {
        0: "read", 1: "write", 2: "open", 4: "stat", 5: "fstat", 6: "lstat", 7: "poll", 16: "ioctl",
        17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 21: "access", 23: "select",
        26: "msync", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto",
        45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 59: "execve", 61: "wait4", 72: "fcntl",
        73: "flock", 74: "fsync", 75: "fdatasync", 77: "ftruncate", 78: "getdents", 82: "rename",
        83: "mkdir", 87: "unlink", 89: "readlink", 130: "rt_sigsuspend", 137: "statfs", 162: "sync",
        202: "futex", 217: "getdents64", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid",
        257: "openat", 258: "mkdirat", 262: "newfstatat", 263: "unlinkat", 264: "renameat",
        267: "readlinkat", 269: "faccessat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait",
        288: "accept4", 295: "preadv", 306: "syncfs", 332: "statx", 426: "io_uring_enter",
        437: "openat2", 439: "faccessat2", 441: "epoll_pwait2",
    },
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 34: "mkdirat", 35: "unlinkat",
        38: "renameat", 43: "statfs", 46: "ftruncate", 48: "faccessat", 56: "openat",
        61: "getdents64", 63: "read", 64: "write", 65: "readv", 66: "writev", 67: "pread64",
        68: "pwrite64", 69: "preadv", 72: "pselect6", 73: "ppoll", 78: "readlinkat",
        79: "newfstatat", 80: "fstat", 81: "sync", 82: "fsync", 83: "fdatasync", 95: "waitid",
        98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 133: "rt_sigsuspend", 202: "accept",
        203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
        221: "execve", 227: "msync", 242: "accept4", 260: "wait4", 267: "syncfs", 291: "statx",
        426: "io_uring_enter", 437: "openat2", 439: "faccessat2", 441: "epoll_pwait2",
    },
}  # fmt: skip
"""Names by machine and number, from the tables of the kernel (``syscall_64.tbl``, and
``asm-generic/unistd.h`` for aarch64)."""


class SystemCall(Struct, frozen=True):
    """A system call in progress; ``name`` is its number where that is not in the table."""

    name: str
    arguments: tuple[int, ...]

    def argument(self, index: int) -> int:
        """Return one argument; -1 where it is not known."""
        return self.arguments[index] if index < len(self.arguments) else -1


RUNNING = SystemCall("running", ())
"""Answer of the kernel for a thread that does not wait."""


def read_system_call(pid: int, tid: int) -> SystemCall | None:
    """Return the system call in which a thread waits; None if it waits in none, or that may not be
    seen."""
    return parse_system_call(read(f"/proc/{pid}/task/{tid}/syscall"), os.uname().machine)


def parse_system_call(text: bytes, machine: str) -> SystemCall | None:
    """Return the call in the content of a ``syscall`` file; None for "-1"."""
    words = text.split()
    if words == [b"running"]:
        return RUNNING
    if len(words) < 7 or not words[0].isdigit():
        return None
    number = int(words[0])
    name = _NUMBERS.get(machine, {}).get(number, str(number))
    return SystemCall(name, tuple(int(word, 16) for word in words[1:7]))
