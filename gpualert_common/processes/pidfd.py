"""Pidfds: descriptors that pin a process, so that a recycled number is never signalled."""

from __future__ import annotations

import os
import select
import signal

from gpualert_common.processes.procfs import read_stat


class Process:
    """One live process, pinned by a pidfd that :meth:`close` gives back."""

    __slots__ = ("fd", "pid", "start_ticks")

    def __init__(self, pid: int, fd: int, start_ticks: int) -> None:
        self.pid = pid
        self.fd = fd
        self.start_ticks = start_ticks

    @classmethod
    def open(cls, pid: int) -> Process | None:
        """Return the process of that number, None when it has exited."""
        fd = open_pidfd(pid)
        if fd < 0:
            return None
        stat = read_stat(pid)
        process = cls(pid, fd, 0 if stat is None else stat.start_ticks)
        if stat is None or not process.is_alive:
            process.close()
            return None
        return process

    @property
    def identity(self) -> tuple[int, int]:
        """Number and start time, which no later process of the same number shares."""
        return self.pid, self.start_ticks

    @property
    def is_alive(self) -> bool:
        """False as soon as the process has exited, also while it is a zombie."""
        return not is_ready(self.fd)

    def send(self, number: int) -> None:
        """Send a signal; a process that is gone or not ours is left alone."""
        try:
            signal.pidfd_send_signal(self.fd, number)
        except OSError:
            pass

    def close(self) -> None:
        """Close the pidfd."""
        os.close(self.fd)


def open_pidfd(pid: int) -> int:
    """Return a pidfd, or -1 when the process was reaped already or descriptors ran out."""
    try:
        return os.pidfd_open(pid)
    except (OSError, OverflowError):  # a damaged record may name an impossible number
        return -1


def is_ready(fd: int) -> bool:
    """True when the descriptor is readable; a pidfd is when its process has exited."""
    return _poll(fd, 0.0)


def await_exit(pid: int, deadline_s: float) -> None:
    """Return when the process has exited, or at the deadline."""
    fd = open_pidfd(pid)
    if fd >= 0:
        _poll(fd, deadline_s)
        os.close(fd)


def _poll(fd: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
