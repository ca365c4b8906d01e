"""Stop of a run: the leader first, then the rest, then by force.

============  ===========================================================  =========================
phase         action                                                       ends when
============  ===========================================================  =========================
wait          nothing: the stacks of the processes are being taken         :meth:`Stop.begin` is
                                                                           called, or the time is up
request       the signal, then SIGCONT, to the leader (through shells);    the tree is empty, or
              when it has exited, SIGTERM to the processes whose parent    the grace is over
              has exited, repeatedly
terminate     SIGTERM, then SIGCONT, to the whole tree                     the tree is empty, or
                                                                           TERMINATE_S (at most the
                                                                           grace) after it
kill          SIGKILL to the whole tree, repeatedly                        the tree is empty, or
                                                                           KILLING_S later
============  ===========================================================  =========================

No process is signalled while its parent lives and may need it: a SIGTERM to data-loader workers
would cost the checkpoint that their parent is saving.  The caller passes the time in.
"""

from __future__ import annotations

import signal
import time

from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.quantities import is_number, is_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpualert_common.end_record import Sender

TERMINATE_S = 2.0
KILLING_S = 5.0
_RESCAN_S = 0.05
_WAIT, _REQUEST, _TERMINATE, _KILL = range(4)
_NUMBERS = ("pid", "uid")
_TEXTS = ("command", "user", "host", "terminal", "meant_as", "because")
"""Keys of a sender."""


def read_terms(request: Mapping[str, Any]) -> tuple[Sender, float | None]:
    """Return the sender and the grace of a request to stop; any process of the user may write one.

    Of a sender the invalid values are left out; an invalid grace is None.
    """
    given, grace_s = request.get("sender"), request.get("grace_s")
    values = given if isinstance(given, dict) else {}
    sender: Any = {name: values[name] for name in _NUMBERS if is_number(values.get(name))}
    sender |= {name: values[name] for name in _TEXTS if isinstance(values.get(name), str)}
    return sender, grace_s if is_seconds(grace_s) else None


class Stop:
    """One stop in progress.  Call :meth:`advance` at every ``due`` time until ``is_over``.

    It begins after ``wait_s``, or earlier by :meth:`begin`.  ``survivors`` are in the end the
    identities of the processes that not even SIGKILL ended.
    """

    def __init__(
        self, tree: ProcessTree, number: int, grace_s: float, now: float, *, wait_s: float = 0.0
    ) -> None:
        self._tree = tree
        self._number = number
        self._grace_s = grace_s
        self._phase = _WAIT
        self._targets: list[Process] = []
        self._grace_ends = 0.0
        self._terminate_s = min(TERMINATE_S, grace_s)
        self._kill_ends = 0.0
        self.is_over = False
        self.survivors: list[tuple[int, int]] = []
        self.due = now + wait_s
        if not wait_s:
            self.begin(now)

    def begin(self, now: float) -> None:
        """Send the signal, unless that was done; the grace begins."""
        if self._phase != _WAIT:
            return
        self._phase = _REQUEST
        self.due = now
        self._grace_ends = now + self._grace_s
        try:
            self._targets = self._tree.first_targets()
        except OSError:
            self._tree.signal_group(self._number, signal.SIGCONT)
        self.request(self._number)

    def request(self, number: int) -> None:
        """Send a signal to the first targets; a second request changes no deadline."""
        for process in self._targets:
            process.send(number)
        for process in self._targets:
            process.send(signal.SIGCONT)

    def shorten(self, grace_ends: float, now: float) -> None:
        """End the grace at that time, if that is earlier."""
        self.begin(now)
        self._grace_ends = min(self._grace_ends, grace_ends)
        self.due = now

    def force(self, now: float) -> None:
        """Kill at once."""
        self.shorten(now - self._terminate_s, now)

    def advance(self, now: float) -> None:
        """Do what is due; sets ``due``, and in the end ``is_over`` and ``survivors``."""
        self.begin(now)
        if self._phase == _REQUEST:
            if now < self._grace_ends and self._has_targets():
                self.due = min(now + _RESCAN_S, self._grace_ends)
                return
            self._phase = _TERMINATE
            self._signal_tree(signal.SIGTERM, signal.SIGCONT)
        if self._phase == _TERMINATE and now >= self._grace_ends + self._terminate_s:
            self._phase = _KILL
            self._kill_ends = now + KILLING_S
        is_killing = self._phase == _KILL
        left = self._signal_tree(signal.SIGKILL) if is_killing else self._signal_tree()
        if not left or (is_killing and now >= self._kill_ends):
            self.is_over, self.survivors = True, left
            self._close_targets()
        self.due = now + _RESCAN_S

    def complete(self) -> list[tuple[int, int]]:
        """Advance to the end, sleeping in between; return the survivors."""
        while True:
            self.advance(time.monotonic())
            if self.is_over:
                return self.survivors
            time.sleep(max(0.0, self.due - time.monotonic()))

    def _has_targets(self) -> bool:
        """True while a target lives; once all have exited, the next ones are signalled."""
        if not any(process.is_alive for process in self._targets):
            self._close_targets()
            try:
                self._targets = self._tree.first_targets()
            except OSError:
                return bool(self._tree.signal_group())
            self.request(signal.SIGTERM)
        return bool(self._targets)

    def _close_targets(self) -> None:
        for process in self._targets:
            process.close()
        self._targets = []

    def _signal_tree(self, *numbers: int) -> list[tuple[int, int]]:
        """Send the signals, if any, to every process; return the identities of all.

        Where no process can be seen (no descriptor is left for /proc), signal the group blindly.
        """
        try:
            members = self._tree.members()
        except OSError:
            return self._tree.signal_group(*numbers)
        for process in members:
            for number in numbers:
                process.send(number)
            process.close()
        return [process.identity for process in members]
