"""Looks at /proc every 20 ms: which trainings live, and whether there were ever two of one task."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from tests.prefect.flows import MARK, TRAINER
from tests.supervised import is_alive

PERIOD_S = 0.02
_SETTLED_LOOKS = 10
"""A process that was none of ours for so many looks has done its exec and will not become one."""


class Observer(threading.Thread):
    """Counts the trainings of every mark while it runs; a training is a process of trainer.py."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._strangers: dict[int, int] = {}
        self._ours: dict[int, str] = {}
        self._over = threading.Event()
        self.most: dict[str, int] = {}
        self.seen: dict[str, list[int]] = {}
        self.longest_gap_s = 0.0

    def run(self) -> None:
        """Look until it is told to end."""
        before = time.monotonic()
        while not self._over.wait(PERIOD_S):
            self._look()
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - before)
            before = now

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()

    def _look(self) -> None:
        pids = set(every_pid())
        self._ours = {pid: mark for pid, mark in self._ours.items() if _is_training(pid)}
        self._strangers = {pid: n for pid, n in self._strangers.items() if pid in pids}
        for pid in pids - self._ours.keys():
            if self._strangers.get(pid, 0) >= _SETTLED_LOOKS:
                continue
            mark = mark_of(pid) if _is_training(pid) else None
            if mark is None:
                self._strangers[pid] = self._strangers.get(pid, 0) + 1
            elif not self._is_on_its_way(pid):
                self._ours[pid] = mark
                self.seen.setdefault(mark, []).append(pid)
        for mark in set(self._ours.values()):
            count = sum(one == mark for one in self._ours.values())
            self.most[mark] = max(self.most.get(mark, 0), count)

    def _is_on_its_way(self, pid: int) -> bool:
        """A child of a training shows its parent's command line until its own exec."""
        try:
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            return True
        return int(parent) in self._ours


def every_pid() -> list[int]:
    """Every process of this machine."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def mark_of(pid: int) -> str | None:
    """The mark in a process's environment."""
    for variable in _read(pid, "environ").split(b"\0"):
        if variable.startswith(MARK.encode() + b"="):
            return variable.partition(b"=")[2].decode()
    return None


def left_of(mark: str) -> dict[int, str]:
    """Every live process of a training, by its mark, with its command line."""
    return {
        pid: _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        for pid in every_pid()
        if mark_of(pid) == mark and is_alive(pid)
    }


def _is_training(pid: int) -> bool:
    return _read(pid, "cmdline").split(b"\0")[1:2] == [str(TRAINER).encode()] and is_alive(pid)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
