"""Attempts in separate processes, trainings for them, and an observer that counts trainings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from gpualert_common.record import Record
from tests.supervised import DEADLINE_S, PYTHON, Lab, is_alive, shell, status_of, until

FACE = Path(__file__).with_name("face.py")
ROOT = Path(__file__).parents[2]

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done; "
TRAINS = shell(f"echo started; {UNTIL_GO} echo done; exit 3")
"""Exits with 3 once there is a file ``go``."""
SAVES = shell(f"trap 'echo saved; exit 0' TERM; echo started; {UNTIL_GO} echo done; exit 3")
"""Saves on TERM and exits with 0."""
SAVES_SLOWLY = shell(
    "trap 'echo saving; until [ -e saved ]; do sleep 0.05; done; exit 0' TERM; "
    f"echo started; {UNTIL_GO} exit 3"
)
"""Is stopping from TERM until there is a file ``saved``."""
RENEWALS_OF_A_LEASE = 6
"""Renewals of a lease within the time that it lasts."""
IGNORES_TERM = shell(f"trap '' TERM; echo started; {UNTIL_GO} exit 0")


class Face:
    """One attempt, in a process next to the test."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path) -> None:
        self.process = process
        self.pid = process.pid
        self._out = out

    def lines(self) -> list[dict[str, Any]]:
        """All lines printed so far."""
        return [json.loads(line) for line in self._out.read_bytes().split(b"\n")[:-1]]

    def all(self, key: str) -> list[Any]:
        """Every value printed so far under this key."""
        return [line[key] for line in self.lines() if key in line]

    def wait_for(self, key: str) -> Any:
        """Wait for the first value under this key, and return it."""

        def find_values() -> list[Any]:
            ended = not is_alive(self.pid)
            found = self.all(key)
            assert found or not ended, f"exited without printing {key}: {self.lines()}"
            return found

        return until(find_values, f"the attempt to print {key}")[0]

    def record(self) -> Record:
        """The record of its run, waiting for it."""
        return Record.open(self.wait_for("run"))

    def followed(self) -> list[str]:
        """The lines of the log that it has followed so far."""
        return [line for lines in self.all("lines") for line in lines]

    def wait_for_line(self, text: str) -> None:
        """Return when the view of the log has shown this text."""
        until(lambda: any(text in line for line in self.followed()), f"{text!r} in the log")

    def signal(self, number: int) -> None:
        """Send a signal to this process alone."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process, as the OOM killer does; return when it is gone."""
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def freeze(self) -> None:
        """Stop the process with SIGSTOP; return when it is stopped."""
        freeze(self.pid)

    def thaw(self) -> None:
        """Continue the process."""
        self.signal(signal.SIGCONT)

    def result(self) -> tuple[int | None, str | None]:
        """Exit code and disposition of its run, waiting for them."""
        return self.wait_for("exit_code"), self.wait_for("disposition")

    def wait(self) -> int:
        """Wait for the end of the process; return its exit status."""
        return self.process.wait(2 * DEADLINE_S)


def attempt(
    lab: Lab,
    command: tuple[str, ...] = TRAINS,
    number: int = 1,
    *,
    key: str = "task",
    adopt_within_s: float = 0.0,
    lease_s: float = 2.0,
    grace_s: float = 3.0,
    interrupt_after_s: float = 0.0,
    interrupt: str = "Interrupted",
    before: tuple[str, ...] = (),
    state: Path | None = None,
    remembered: object = None,
    **popen: Any,
) -> Face:
    """Start an attempt; ``before`` are words to put before its command line.

    ``remembered`` is the engine's note about the previous run, ``state`` another state directory.
    """
    asked = {
        "spec": {
            "command": command,
            "cwd": str(lab.home),
            "grace_s": grace_s,
            "state_dir": str(state or lab.state),
        },
        "key": key,
        "number": number,
        "adopt_within_s": adopt_within_s,
        "lease_s": lease_s,
        "interrupt_after_s": interrupt_after_s,
        "interrupt": interrupt,
        "remembered": remembered,
    }
    out = lab.home / f"face-{time.monotonic_ns()}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **popen.pop("env", {})}
    with open(out, "wb") as file:
        process = lab.start(
            (*before, PYTHON, str(FACE), json.dumps(asked)), stdout=file, env=environment, **popen
        )
    return Face(process, out)


def freeze(pid: int) -> None:
    """Stop a process with SIGSTOP; return when it is stopped."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: status_of(pid)[:1] == ["T"], f"process {pid} to be stopped")


def guardian_of(record: Record) -> int:
    """The process number of the run's guardian."""
    return record.spec.supervisor_pid


def recorder_of(record: Record) -> int:
    """The process number of the guardian's recorder, waiting for it."""
    guardian = guardian_of(record)

    def find_recorder() -> int | None:
        children = Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()
        leader = record.leader_pid
        return next((int(pid) for pid in children if leader and int(pid) != leader), None)

    return until(find_recorder, "the recorder") or 0


def wait_for_event(record: Record, name: str) -> dict[str, Any]:
    """Wait for the first event of that name, and return its fields."""
    return until(lambda: record.event(name), f"the event {name}").fields


def names(record: Record) -> list[str]:
    """The names of the events so far."""
    return [event.name for event in record.events()]


def wait_for_state(record: Record, state: str) -> None:
    """Return when the record is in this state."""
    until(lambda: record.state == state, f"the run to be {state}, not {record.state}")


def wait_for_renewals(record: Record, leases: float = 1.0) -> None:
    """Return when the owner has renewed its lease for that many lengths of the lease."""
    count = int(leases * RENEWALS_OF_A_LEASE) + 1
    leases_so_far: set[int] = set()

    def is_renewed() -> bool:
        leases_so_far.update(record.leases().values())
        return len(leases_so_far) > count

    until(is_renewed, f"the lease to be renewed {count} times")


def log_of(record: Record) -> str:
    """The output of the training so far."""
    return Path(record.log_path(record.logs[0])).read_text()


def wait_for_output(record: Record, text: str) -> None:
    """Return when the training has written this text."""
    until(lambda: text in log_of(record), f"{text!r} in the output of the training")


def trainings(mark: str) -> dict[int, str]:
    """Live processes of all runs of the test with this mark, each with the id of its run."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and is_alive(int(name)) and (run := _run_of(int(name), mark)):
            found[int(name)] = run
    return found


def _run_of(pid: int, mark: str) -> str | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    if not any(variable.startswith(mark.encode()) for variable in variables):
        return None
    for variable in variables:
        if variable.startswith(b"GPUALERT_RUN_ID="):
            return variable.partition(b"=")[2].decode()
    return None


class Observer(threading.Thread):
    """Checks every 10 ms which runs of the test have live processes; ``overlaps`` are pairs."""

    _STRANGER_CHECKS = 50
    """A process that was not ours in that many checks has done its exec and stays a stranger."""

    def __init__(self, mark: str) -> None:
        super().__init__(daemon=True)
        self._mark = mark
        self._over = threading.Event()
        self._strangers: dict[int, int] = {}
        self._ours: dict[int, str] = {}
        self.runs: set[str] = set()
        self.overlaps: set[tuple[str, str]] = set()

    def run(self) -> None:
        """Check until :meth:`end` is called."""
        while not self._over.wait(0.01):
            self._check()

    def end(self) -> None:
        """Stop checking."""
        self._over.set()
        self.join()

    def _check(self) -> None:
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._strangers = {pid: n for pid, n in self._strangers.items() if pid in pids}
        for pid in pids - self._ours.keys():
            checks = self._strangers.get(pid, 0)
            if checks < self._STRANGER_CHECKS:
                run = _run_of(pid, self._mark)
                if run is None:
                    self._strangers[pid] = checks + 1
                else:
                    self._ours[pid] = run
        # Only now: each process that counts was alive after all of them were found.
        self._ours = {pid: run for pid, run in self._ours.items() if is_alive(pid)}
        present = sorted(set(self._ours.values()))
        self.runs.update(present)
        if len(present) > 1:
            self.overlaps.add((present[0], present[1]))
