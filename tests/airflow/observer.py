"""Looks at /proc every 20 ms: which trainings of which task live, and were there ever two."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path

from tests.airflow.standalone import command_of, environ_of, every_pid

PERIOD_S = 0.02
_SETTLED = 250
"""A process that was none of ours for so many looks has done its exec and will not become one."""

_VARIABLE = b"MATRIX_TASK="


class Observer(threading.Thread):
    """Counts the trainings of every task while it runs; a training is a process of trainer.py."""

    def __init__(self, trainer: Path) -> None:
        super().__init__(daemon=True)
        self._trainer = str(trainer)
        self._strangers: dict[int, int] = {}
        self._ours: dict[int, str] = {}
        self._over = threading.Event()
        self.most: dict[str, int] = {}
        self.seen: dict[str, set[int]] = {}
        self.looks = 0
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
        self.looks += 1
        pids = set(every_pid())
        ours = {pid: task for pid, task in self._ours.items() if self._is_training(pid)}
        self._strangers = {pid: n for pid, n in self._strangers.items() if pid in pids}
        for pid in pids - ours.keys():
            if self._strangers.get(pid, 0) >= _SETTLED:
                continue
            if self._is_training(pid) and (task := task_of(environ_of(pid))):
                ours[pid] = task
                self.seen.setdefault(task, set()).add(pid)
            else:
                self._strangers[pid] = self._strangers.get(pid, 0) + 1
        self._ours = ours
        for task in set(ours.values()):
            count = sum(one == task for one in ours.values())
            self.most[task] = max(self.most.get(task, 0), count)

    def _is_training(self, pid: int) -> bool:
        return self._trainer in command_of(pid)[1:2]

    def trainings(self, task: str) -> list[int]:
        """The trainings of a task that the last look saw."""
        return [pid for pid, one in list(self._ours.items()) if one == task]


def task_of(environ: bytes) -> str | None:
    """The task whose mark an environment carries."""
    for variable in environ.split(b"\0"):
        if variable.startswith(_VARIABLE):
            return variable.removeprefix(_VARIABLE).decode()
    return None


def left_of(tasks: Iterable[str]) -> dict[str, list[str]]:
    """The command lines of every live process of these tasks, trainings or not."""
    left: dict[str, list[str]] = {task: [] for task in tasks}
    for pid in every_pid():
        task = task_of(environ_of(pid))
        if task in left and (command := command_of(pid)):
            left[task].append(" ".join(command))
    return left
