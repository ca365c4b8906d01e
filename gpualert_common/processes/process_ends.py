"""Ends of processes that are not our children: the time, and the exit status where it is visible.

A pidfd tells the time.  The status is in /proc while the process waits to be reaped, for its user
and for root; Linux 6.15 and newer tell it also afterwards.  torchrun reaps its ranks within 0.1 s.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from gpualert_common.processes.pidfd import Process, open_pidfd
from gpualert_common.processes.procfs import ProcessStat, read, read_stat
from gpualert_common.structs import Struct

_INFO = struct.Struct("=QQ11Ii")
"""``struct pidfd_info`` of <linux/pidfd.h>: mask, cgroup, 11 numbers of the process, status."""
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_INFO_EXIT = 1 << 3
_STATUS_FIELD = 49
"""Place of the exit status in /proc/PID/stat, after the name."""
_ZOMBIE_POLL_S = 0.02


class ProcessEnd(Struct, frozen=True):
    """End of the process ``name``.

    ``at`` is in seconds since the epoch.  ``code`` is the exit status, -n for signal n, and None
    where it could not be seen.
    """

    name: str
    pid: int
    at: float
    code: int | None


class ProcessEnds:
    """Waits, in a thread of its own, for the ends of the processes that it was given."""

    def __init__(self) -> None:
        self._epoll: select.epoll | None = None
        self._closing = -1
        self._watched: dict[int, tuple[str, int, int]] = {}
        self._ended: list[tuple[int, float, int | None]] = []
        self._lock = threading.Lock()

    def watch(self, processes: Mapping[str, ProcessStat]) -> None:
        """Wait for the ends of these processes, too, by their names."""
        known = {(pid, start_ticks) for _name, pid, start_ticks in self._watched.values()}
        for name, one in processes.items():
            if one.identity in known:
                continue
            fd = open_pidfd(one.pid)
            if fd < 0:
                continue
            found = read_stat(one.pid)
            if found is not None and found.identity == one.identity:
                self._watched[fd] = name, one.pid, one.start_ticks
                self._register(fd)
            else:
                os.close(fd)

    def take(self) -> list[ProcessEnd]:
        """Return the ends since the last call, in their order."""
        with self._lock:
            ended, self._ended = self._ended, []
        found = []
        for fd, at, code in ended:
            name, pid, _start = self._watched.pop(fd)
            seen = read_reaped_code(fd) if code is None else code
            found.append(ProcessEnd(name, pid, at, seen))
            os.close(fd)
        return found

    def close(self) -> None:
        """End the thread, and close all descriptors."""
        if self._epoll is None:
            return
        os.eventfd_write(self._closing, 1)
        self._waiting.join()
        self._epoll.close()
        self._epoll = None
        for fd in (self._closing, *self._watched):
            os.close(fd)
        self._watched.clear()

    def _register(self, fd: int) -> None:
        if self._epoll is None:
            self._epoll = select.epoll()
            self._closing = os.eventfd(0, os.EFD_CLOEXEC)
            self._epoll.register(self._closing, select.EPOLLIN)
            self._waiting = threading.Thread(target=self._wait, args=(self._epoll,), daemon=True)
            self._waiting.start()
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLONESHOT)

    def _wait(self, epoll: select.epoll) -> None:
        while True:
            ready = epoll.poll()
            if any(fd == self._closing for fd, _events in ready):
                return
            at = time.time()
            ends = [(fd, at, self._read_zombie(fd)) for fd, _events in ready]
            with self._lock:
                self._ended += ends

    def _read_zombie(self, fd: int) -> int | None:
        _name, pid, start_ticks = self._watched[fd]
        return read_zombie_code(pid, start_ticks)


def read_zombie_code(pid: int, start_ticks: int) -> int | None:
    """Return the code of a process that its parent has not waited for yet; None if unknown."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except PermissionError:  # the kernel then shows 0 for the status
        return None
    except OSError:  # a zombie has no program
        pass
    text = read(f"/proc/{pid}/stat")
    if not text or ProcessStat(pid, text).start_ticks != start_ticks:
        return None
    fields = text.rpartition(b")")[2].split()
    return os.waitstatus_to_exitcode(int(fields[_STATUS_FIELD]))


def read_reaped_code(pidfd: int) -> int | None:
    """Return the code of a process that was reaped; None if the kernel cannot tell it."""
    request = _INFO.pack(_INFO_EXIT, *(0,) * 13)
    with suppress(OSError):
        mask, *_numbers, status = _INFO.unpack(fcntl.ioctl(pidfd, _GET_INFO, request))
        if mask & _INFO_EXIT:
            return os.waitstatus_to_exitcode(status)
    return None


def await_exit_code(process: Process, deadline_s: float) -> int | None:
    """Return the code of a process that has exited; None if it is not visible by the deadline."""
    deadline = time.monotonic() + deadline_s
    while True:
        code = read_zombie_code(process.pid, process.start_ticks)
        if code is None:
            code = read_reaped_code(process.fd)
        is_zombie = read_stat(process.pid) is not None
        if code is not None or not is_zombie or time.monotonic() >= deadline:
            return code
        time.sleep(_ZOMBIE_POLL_S)
