"""The lease of an attempt on its run, renewed by a thread that also delivers stop requests.

Both touch the disk, which may stall, so a thread does them.  The attempt only queues a request and
wakes the thread: that is safe in a signal handler, whatever it interrupts.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import time
from collections import deque

from gpualert_common.guardian.attempt import Attempt
from gpualert_common.processes.pidfd import open_pidfd
from gpualert_common.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.end_record import Sender

_RENEWALS = 6
"""Per lease: some may come late."""
_WRITE_S = 0.5
"""A request that is not in the record by then goes to the guardian as a signal."""
_TAKEN_S = 3.0
"""So does one that the guardian, which looks four times a second, has not taken by then."""


class _Stop:
    """One stop request; ``is_written`` is released when it is in the record."""

    def __init__(self, sender: Sender, grace_s: float | None) -> None:
        self.sender = sender
        self.grace_s = grace_s
        self.is_written = _thread.allocate_lock()
        self.is_written.acquire()


class LeaseRenewer:
    """Renews the lease of one attempt on one run, from construction until :meth:`close`.

    Raises OSError when the lease cannot be written in the first place.
    """

    def __init__(self, record: Record, attempt: Attempt, guardian_pid: int) -> None:
        self._record = record
        self._attempt = attempt
        self._stops: deque[_Stop] = deque()
        self._untaken: list[tuple[str, float]] = []
        self._closing = False
        self._wake = self.guardian_fd = -1
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        record.renew_lease(attempt.owner)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.guardian_fd = open_pidfd(guardian_pid) if record.is_held else -1
        """Readable when the guardian has ended; -1 when it cannot be seen from here."""
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            raise OSError(str(error)) from None

    def __del__(self) -> None:
        """Close the descriptors, now that neither thread nor caller can use them."""
        for fd in (self._wake, self.guardian_fd):
            if fd >= 0:
                os.close(fd)

    def stop(self, sender: Sender, grace_s: float | None) -> None:
        """Request a stop; returns when the request is on its way, within half a second."""
        stop = _Stop(sender, grace_s)
        if self._closing:
            self._write_stop(stop)
            return
        self._stops.append(stop)
        self._wake_thread()
        if not stop.is_written.acquire(timeout=_WRITE_S):
            self._signal_guardian()

    def close(self) -> None:
        """End the lease, within half a second; a second call does nothing."""
        if not self._closing:
            self._closing = True
            self._wake_thread()
            self._ended.acquire(timeout=_WRITE_S)

    def _wake_thread(self) -> None:
        os.eventfd_write(self._wake, 1)

    def _signal_guardian(self) -> None:
        """Request a stop without a disk; the guardian ignores it from a superseded attempt."""
        if self.guardian_fd >= 0:
            try:
                signal.pidfd_send_signal(self.guardian_fd, signal.SIGTERM)
            except OSError:
                pass  # it has ended

    # -- the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        pause_s = self._attempt.lease_s / _RENEWALS
        due = time.monotonic() + pause_s
        while not self._closing or self._stops:
            if poll.poll(max(0.0, due - time.monotonic()) * 1000):
                os.eventfd_read(self._wake)
            while self._stops:
                self._write_stop(self._stops.popleft())
            if time.monotonic() >= due:
                due = time.monotonic() + pause_s
                self._renew()
                self._signal_untaken()
        try:
            self._record.end_lease(self._attempt.owner)
        except OSError:
            pass  # then it runs out
        self._ended.release()

    def _renew(self) -> None:
        try:
            if self._record.is_held:
                self._record.renew_lease(self._attempt.owner)
            else:
                self._closing = True  # the guardian has gone
        except OSError:
            pass  # the next one may succeed; the guardian does not count time it cannot see

    def _write_stop(self, stop: _Stop) -> None:
        try:
            name = self._record.request(
                "stop", owner=self._attempt.owner, sender=stop.sender, grace_s=stop.grace_s
            )
        except OSError:
            self._signal_guardian()
        else:
            self._untaken.append((name, time.monotonic() + _TAKEN_S))
        stop.is_written.release()

    def _signal_untaken(self) -> None:
        """Signal the guardian about requests that its recorder did not take: it may be dead."""
        for name, until in tuple(self._untaken):
            if time.monotonic() >= until:
                self._untaken.remove((name, until))
                if self._record.is_pending(name):
                    self._signal_guardian()
