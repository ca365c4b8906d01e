"""Ending a run: leader first, then the rest, then by force.

============  ===========================================================  =========================
phase         what has been done                                           it ends when
============  ===========================================================  =========================
asked         the signal, then CONT, to the leader (through shells);       the tree is empty, or
              once it is gone TERM to those whose parent is gone, again    the grace is over
              and again
last call     TERM, then CONT, to the whole tree                           the tree is empty, or
                                                                           LAST_CALL_S (at most the
                                                                           grace) after it
killing       KILL to the whole tree, again and again                      the tree is empty, or
                                                                           KILLING_S later
============  ===========================================================  =========================

Nobody is asked while its parent lives and may be using it: a TERM to data-loader workers would cost
the checkpoint that their parent is saving.  Time is handed in, so that tests own the clock.
"""

from __future__ import annotations

import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.processes.tree import ProcessTree

LAST_CALL_S = 2.0
KILLING_S = 5.0
_RESCAN_S = 0.05


class Stop:
    """One stop in progress.  Call :meth:`advance` at every ``due`` time until ``over``."""

    def __init__(self, tree: ProcessTree, number: int, grace_s: float, now: float) -> None:
        self._tree = tree
        self._phase = "asked"
        try:
            self._asked = tree.first_targets()
        except OSError:
            self._asked = []
            tree.signal_group(number, signal.SIGCONT)
        self._grace_ends = now + grace_s
        self._last_call_s = min(LAST_CALL_S, grace_s)
        self._killing_ends = 0.0
        self.over = False
        self.left: list[tuple[int, int]] = []
        self.due = now
        self.ask(number)

    def ask(self, number: int) -> None:
        """Send a signal to those who are asked; a second signal changes no deadline."""
        for process in self._asked:
            process.send(number)
        for process in self._asked:
            process.send(signal.SIGCONT)

    def shorten(self, grace_ends: float, now: float) -> None:
        """Let the grace end at that time, if that is earlier."""
        self._grace_ends = min(self._grace_ends, grace_ends)
        self.due = now

    def force(self, now: float) -> None:
        """End by force at once."""
        self.shorten(now - self._last_call_s, now)

    def advance(self, now: float) -> None:
        """Do what is due; sets ``due``, and in the end ``over`` and who was ``left``."""
        if self._phase == "asked" and now < self._grace_ends and self._someone_is_asked():
            self.due = min(now + _RESCAN_S, self._grace_ends)
            return
        if self._phase == "asked":
            self._phase = "last call"
            self._signal_tree(signal.SIGTERM, signal.SIGCONT)
        if self._phase == "last call" and now >= self._grace_ends + self._last_call_s:
            self._phase = "killing"
            self._killing_ends = now + KILLING_S
        left = (
            self._signal_tree(signal.SIGKILL) if self._phase == "killing" else self._signal_tree()
        )
        if not left or (self._phase == "killing" and now >= self._killing_ends):
            self._finish(left)
        self.due = now + _RESCAN_S

    def complete(self) -> list[tuple[int, int]]:
        """Do all that is to be done, sleeping in between; returns who was left."""
        while True:
            self.advance(time.monotonic())
            if self.over:
                return self.left
            time.sleep(max(0.0, self.due - time.monotonic()))

    def _someone_is_asked(self) -> bool:
        """True while those who were asked live; when they are gone, the next are asked."""
        if not any(process.is_alive for process in self._asked):
            self._forget_asked()
            try:
                self._asked = self._tree.first_targets()
            except OSError:
                return bool(self._tree.signal_group())
            self.ask(signal.SIGTERM)
        return bool(self._asked)

    def _forget_asked(self) -> None:
        for process in self._asked:
            process.close()
        self._asked = []

    def _signal_tree(self, *numbers: int) -> list[tuple[int, int]]:
        """Send the signals, if any, to everybody; returns who was there.

        Where nobody can be seen (no descriptor left for /proc), the group is signalled blindly.
        """
        reached = []
        try:
            members = self._tree.members()
        except OSError:
            return self._tree.signal_group(*numbers)
        for process in members:
            for number in numbers:
                process.send(number)
            reached.append(process.identity)
            process.close()
        return reached

    def _finish(self, left: list[tuple[int, int]]) -> None:
        self.over = True
        self.left = left
        self._forget_asked()
