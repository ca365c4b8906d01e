"""Signals to the supervisor, and their senders.

After :meth:`Inbox.install` none of these signals ends the supervisor; after :meth:`Inbox.arm` they
arrive through a signalfd, which names the sender.  These are two steps because a blocked signal
would stay blocked in the child: it is launched between them.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

from gpualert_common.launch import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.end_record import Sender

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Begin a stop: the leader first, the rest after the grace."""

PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT)
"""Are passed on to the leader."""

_FROM_KERNEL = 0x80


class Signal:
    """One signal that reached the supervisor.  ``sender`` is empty where it is unknown."""

    __slots__ = ("number", "sender")

    def __init__(self, number: int, sender: Sender) -> None:
        self.number = number
        self.sender = sender


class Inbox:
    """Signals to this process, from installation until its end.

    ``senders`` has the last sender of each signal that was taken.
    """

    def __init__(self) -> None:
        self.fd = -1
        self.senders: dict[int, Sender] = {}
        self._early: list[Signal] = []
        self._ours: list[int] = []

    def install(self) -> None:
        """Catch all that are not ignored; under nohup SIGHUP stays ignored, for the child too."""
        for number in (*STOPS, *PASSED_ON):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._ours.append(number)
                signal.signal(number, self._catch)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def arm(self) -> None:
        """After launch: receive the signals from a descriptor from now on."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._ours)
        try:
            self.fd = libc.open_signalfd(self._ours)
        except OSError:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._ours)

    def take(self) -> list[Signal]:
        """Return the signals that arrived since the last call."""
        found, self._early = self._early, []
        while self.fd >= 0:
            try:
                data = os.read(self.fd, libc.SIGINFO_BYTES)
            except BlockingIOError:
                break
            number, code, pid, uid = libc.parse_siginfo(data)
            found.append(Signal(number, _sender(code, pid, uid)))
        self.senders.update((one.number, one.sender) for one in found)
        return found

    def ignore_in_recorder(self) -> None:
        """In a forked recorder: leave signals to the process group to the supervisor."""
        for number in (*STOPS, *PASSED_ON):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._ours)

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        self._early.append(Signal(number, {}))


def _sender(code: int, pid: int, uid: int) -> Sender:
    if code == _FROM_KERNEL:
        return {"pid": 0, "uid": uid, "command": "the terminal"}
    if pid == 0:  # of a namespace of process numbers that this one does not see
        return {"pid": 0, "uid": uid, "command": "a process outside of this container"}
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            command = file.read().strip()
    except OSError:
        command = ""
    return {"pid": pid, "uid": uid, "command": command}
