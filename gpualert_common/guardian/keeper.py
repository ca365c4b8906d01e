"""Keeps a lease while an attempt follows its run, and carries its stop to the guardian.

Both touch the disk, which may stall, so they are done by a thread.  The attempt itself only sets a
flag and wakes it: that much is safe in a signal handler that interrupts anything at all.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import time
from typing import Any

from gpualert_common.guardian.attempt import Attempt
from gpualert_common.record import Record
from gpualert_common.supervise import proc

_RENEWALS = 6
"""In one lease: some may come late."""
_CARRY_S = 0.5
"""A request that has not reached the record by then goes to the guardian as a signal."""


class Keeper:
    """The lease of one attempt on one run, renewed from construction until :meth:`close`.

    Raises OSError when the lease cannot be written in the first place.
    """

    def __init__(self, record: Record, attempt: Attempt, guardian_pid: int) -> None:
        self._record = record
        self._attempt = attempt
        self.guardian_fd = proc.open_pidfd(guardian_pid) if record.held else -1
        """Readable when the guardian has ended; -1 when it cannot be seen from here."""
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._asked: tuple[dict[str, Any], float | None] | None = None
        self._closing = False
        self._carried = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        record.renew_lease(attempt.owner)
        self._carried.acquire()
        self._ended.acquire()
        _thread.start_new_thread(self._keep, ())

    def stop(self, sender: dict[str, Any], grace_s: float | None) -> None:
        """Have the run stopped; returns when the request is on its way, within half a second."""
        if self._closing:
            self._carry(sender, grace_s)
            return
        self._asked = (sender, grace_s)
        self._rouse()
        if self._carried.acquire(timeout=_CARRY_S):
            self._carried.release()
        elif self.guardian_fd >= 0:
            try:
                signal.pidfd_send_signal(self.guardian_fd, signal.SIGTERM)
            except OSError:
                pass  # it has ended

    def close(self) -> None:
        """Renew no more; a second call does nothing."""
        if self._closing:
            return
        self._closing = True
        self._rouse()
        if self._ended.acquire(timeout=_CARRY_S):
            os.close(self._wake)
            if self.guardian_fd >= 0:
                os.close(self.guardian_fd)
                self.guardian_fd = -1

    def _rouse(self) -> None:
        try:
            os.eventfd_write(self._wake, 1)
        except OSError:
            pass  # closed: the run is over for us

    def _keep(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        due = time.monotonic()
        pause_s = self._attempt.lease_s / _RENEWALS
        while True:
            if poll.poll(max(0.0, due - time.monotonic()) * 1000):
                os.eventfd_read(self._wake)
            if self._asked is not None and self._carried.locked():
                self._carry(*self._asked)
            if self._closing:
                break
            if time.monotonic() >= due:
                due = time.monotonic() + pause_s
                self._renew()
        self._ended.release()

    def _renew(self) -> None:
        try:
            if self._record.held:
                self._record.renew_lease(self._attempt.owner)
        except OSError:
            pass  # the next one may succeed; the guardian does not count time it cannot see

    def _carry(self, sender: dict[str, Any], grace_s: float | None) -> None:
        try:
            self._record.request("stop", owner=self._attempt.owner, sender=sender, grace_s=grace_s)
        except OSError:
            return  # the signal will do
        if self._carried.locked():
            self._carried.release()
