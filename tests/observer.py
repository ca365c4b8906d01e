"""Observer of /proc: every 20 ms it finds the live trainings of each task, and overlaps.

A training is a process that runs the given trainer; its task is in the variable ``MATRIX_TASK`` of
its environment.  Where it may, it also enters a control group of its task, in which its descendants
are found that left its session and have another environment.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from tests.control_groups import members_by_group, remove_group

MARK = "MATRIX_TASK"
PERIOD_S = 0.02
_STRANGER_CHECKS = 250
"""A process that was not ours in that many checks has done its exec and stays a stranger."""


class Observer(threading.Thread):
    """Counts the trainings of every task while it runs.

    By task, ``found`` are the ids of its trainings in order, ``most`` is their peak number.
    """

    def __init__(self, trainer: Path) -> None:
        super().__init__(daemon=True)
        self._trainer = str(trainer)
        self._strangers: dict[int, int] = {}
        self._ours: dict[int, str] = {}
        self._over = threading.Event()
        self.most: dict[str, int] = {}
        self.found: dict[str, list[int]] = {}
        self.checks = 0
        self.longest_gap_s = 0.0

    def run(self) -> None:
        """Check until :meth:`end` is called."""
        before = time.monotonic()
        while not self._over.wait(PERIOD_S):
            self._check()
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - before)
            before = now

    def end(self) -> None:
        """Stop checking, and remove the control groups of the tasks."""
        self._over.set()
        self.join()
        for task in self.found:
            remove_group(task)

    def trainings(self, task: str) -> list[int]:
        """The trainings of a task in the last check."""
        return [pid for pid, one in list(self._ours.items()) if one == task]

    def _check(self) -> None:
        self.checks += 1
        pids = set(every_pid())
        self._ours = {pid: task for pid, task in self._ours.items() if self._is_training(pid)}
        self._strangers = {pid: n for pid, n in self._strangers.items() if pid in pids}
        for pid in pids - self._ours.keys():
            if self._strangers.get(pid, 0) >= _STRANGER_CHECKS:
                continue
            task = task_of(pid) if self._is_training(pid) else None
            if task is None:
                self._strangers[pid] = self._strangers.get(pid, 0) + 1
            elif not self._is_before_exec(pid):
                self._ours[pid] = task
                self.found.setdefault(task, []).append(pid)
        for task in set(self._ours.values()):
            count = sum(one == task for one in self._ours.values())
            self.most[task] = max(self.most.get(task, 0), count)

    def _is_training(self, pid: int) -> bool:
        return command_of(pid)[1:2] == [self._trainer]

    def _is_before_exec(self, pid: int) -> bool:
        """A child of a training shows its parent's command line until its own exec."""
        try:
            return parent_of(pid) in self._ours
        except OSError:
            return True


def every_pid() -> list[int]:
    """Return the processes of this machine."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command_of(pid: int) -> list[str]:
    """Return the arguments of a process; empty when it is gone or a zombie."""
    data = _read(pid, "cmdline")
    return data.decode(errors="replace").rstrip("\0").split("\0") if data else []


def environ_of(pid: int) -> bytes:
    """Return the initial environment of a process; empty when it is gone."""
    return _read(pid, "environ")


def parent_of(pid: int) -> int:
    """Return the parent of a process.  Raises OSError when it is gone."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def task_of(pid: int) -> str | None:
    """Return the task in a process's environment."""
    for variable in environ_of(pid).split(b"\0"):
        if variable.startswith(MARK.encode() + b"="):
            return variable.partition(b"=")[2].decode()
    return None


def left_of(task: str) -> dict[int, str]:
    """Return every live process of a task, training or not, with its command line."""
    return left_by_task().get(task, {})


def left_by_task() -> dict[str, dict[int, str]]:
    """Return every live process of any task, by task, with its command line."""
    found: dict[str, dict[int, str]] = {}
    for pid in every_pid():
        task = task_of(pid)
        if task is not None and (command := command_of(pid)):
            found.setdefault(task, {})[pid] = " ".join(command)
    for task, pids in members_by_group():
        for pid in pids:
            if command := command_of(pid):
                found.setdefault(task, {})[pid] = " ".join(command)
    return found


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
