"""The rows of the fault matrix: what is done to a task, and what came of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpualert_common import store
from tests.airflow.standalone import Standalone, wait_for
from tests.observer import Observer, command_of, left_of, parent_of

OPERATORS = ("GPUAlertOperator", "BashOperator")
FINAL = ("success", "failed")
STARTS_WITHIN_S = 90.0
ENDS_WITHIN_S = 240.0
LOOKS_FOR_S = 20.0
"""How long after a task's end we look for processes of it; twice the grace and more."""


@dataclass
class Case:
    """One task in one fault, and what came of it."""

    row: str
    operator: str
    lab: Standalone = field(repr=False)
    observer: Observer = field(repr=False)
    run: str = ""
    started: bool = False
    problem: str = ""
    state: str = ""
    tries: int = 0
    returned: Any = None
    trainings: int = 0
    most_at_once: int = 0
    left: list[str] = field(default_factory=list)
    gone_after_s: float | None = None
    runs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def dag(self) -> str:
        """Name of the DAG, and of the mark that its trainings carry."""
        return f"{self.row}.{self.operator}"

    # -- what is done ----------------------------------------------------------------------

    def start(self) -> None:
        """Trigger the DAG and return when its training is at work for a second and a half."""
        self.run = self.lab.trigger(self.dag)
        wait_for(lambda: self.observer.trainings(self.dag), f"{self.dag} to train", STARTS_WITHIN_S)
        time.sleep(1.5)
        self.started = True

    def runner(self) -> int:
        """The process that runs the task, a child of its executor's worker."""
        pid = wait_for(lambda: self.task().get("pid"), "the runner", STARTS_WITHIN_S, poll_s=1.0)
        assert "airflow" in command_of(pid)[0], f"{pid} is {command_of(pid)}"
        return int(pid)

    def task(self) -> dict[str, Any]:
        """The task instance as the API tells it."""
        return self.lab.task(self.dag, self.run)

    def reaches(self, tries: int, *states: str) -> None:
        """Return when that try is in one of these states."""

        def there() -> bool:
            task = self.task()
            return bool(task["try_number"] >= tries and task["state"] in states)

        wait_for(there, f"{self.dag} to be {states} in try {tries}", ENDS_WITHIN_S, poll_s=1.0)

    # -- what came of it -------------------------------------------------------------------

    def look(self) -> None:
        """Fill in what came of it: now, and for some time after its end."""
        task = self.task()
        self.state, self.tries = task["state"], task["try_number"]
        self.returned = self.lab.returned(self.dag, self.run)
        began = time.monotonic()
        while (self.left or self.gone_after_s is None) and time.monotonic() < began + LOOKS_FOR_S:
            self.left = list(left_of(self.dag).values())
            self.gone_after_s = None if self.left else round(time.monotonic() - began, 1)
            time.sleep(0.2)
        self.trainings = len(self.observer.seen.get(self.dag, ()))
        self.most_at_once = self.observer.most.get(self.dag, 0)
        self.runs = [
            told_by(record)
            for record in store.records(str(self.lab.state))
            if record.spec["name"] == f"{self.dag}.train"
        ]

    def to_json(self) -> dict[str, Any]:
        """What a page can show."""
        names = ("row", "operator", "state", "tries", "returned", "trainings", "problem")
        fields = {name: getattr(self, name) for name in names}
        fields["most_at_once"] = self.most_at_once
        fields["left_alive"] = len(self.left)
        fields["gone_after_s"] = self.gone_after_s
        fields["runs"] = self.runs
        return fields


def told_by(record: Any) -> dict[str, Any]:
    """What a record says of its run."""
    ending = record.ending
    verdict = record.read_json("verdict.json") or {}
    outcome = record.read_json("outcome.json") or {}
    return {
        "state": record.state,
        "exit_code": None if ending is None else ending.exit_code,
        "disposition": verdict.get("disposition"),
        "cause": verdict.get("cause"),
        "claimed": record.claimed_by is not None,
        "outcome": outcome.get("state"),
    }


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def runner_killed(case: Case) -> None:
    """The process that runs the task is killed, as the kernel does when memory is out."""
    case.start()
    _kill(case.runner())
    case.reaches(2, *FINAL)


def runner_killed_last_try(case: Case) -> None:
    """The same, when no attempt is left."""
    case.start()
    _kill(case.runner())
    case.reaches(1, *FINAL)


def worker_killed(case: Case) -> None:
    """The runner and its executor's worker are killed: to the scheduler the host is gone."""
    case.start()
    runner = case.runner()
    worker = parent_of(runner)
    _kill(worker)
    _kill(runner)
    case.reaches(2, *FINAL)


def drained(case: Case) -> None:
    """The executor's worker gets SIGTERM, as a drain or an eviction does it."""
    case.start()
    os.kill(parent_of(case.runner()), signal.SIGTERM)
    case.reaches(2, *FINAL)


def drained_once(case: Case) -> None:
    """The same, when no attempt is left."""
    case.start()
    os.kill(parent_of(case.runner()), signal.SIGTERM)
    case.reaches(1, *FINAL)


def marked_failed(case: Case) -> None:
    """Somebody marks the task failed; its runner notices at its next heartbeat."""
    case.start()
    runner = case.runner()
    case.lab.mark_failed(case.dag, case.run)
    wait_for(lambda: not command_of(runner), "the runner to be gone", ENDS_WITHIN_S)


def ends_by_itself(case: Case) -> None:
    """Nothing but what the task brings on itself."""
    case.start()
    case.reaches(1, *FINAL)


def cleared_while_running(case: Case) -> None:
    """Somebody clears the task while it trains."""
    case.start()
    case.lab.clear(case.dag, case.run)
    case.reaches(2, *FINAL)


def cleared_after_success(case: Case) -> None:
    """Somebody clears the task after it succeeded."""
    case.run = case.lab.trigger(case.dag)
    over = "the DAG run to be over"
    wait_for(lambda: case.lab.is_over(case.dag, case.run), over, ENDS_WITHIN_S, poll_s=1.0)
    case.lab.clear(case.dag, case.run)
    case.reaches(2, *FINAL)


ROWS: dict[str, Callable[[Case], None]] = {
    "runner_killed": runner_killed,
    "runner_killed_last_try": runner_killed_last_try,
    "runner_killed_no_adoption": runner_killed,
    "worker_killed": worker_killed,
    "worker_killed_result_waits": worker_killed,
    "drained": drained,
    "drained_saves_and_exits_0": drained_once,
    "marked_failed": marked_failed,
    "marked_failed_deaf": marked_failed,
    "timeout": ends_by_itself,
    "timeout_saves_and_exits_0": ends_by_itself,
    "timeout_deaf": ends_by_itself,
    "cleared_while_running": cleared_while_running,
    "cleared_after_success": cleared_after_success,
}
LAST = "api_server_away"
"""Away for every task, and so a row that is played when the others are over."""


def play(case: Case) -> None:
    """Play the case to its end and look at what came of it; what goes wrong stands in it."""
    try:
        ROWS.get(case.row, ends_by_itself)(case)
        case.look()
    except (AssertionError, OSError) as error:
        case.problem = f"{type(error).__name__}: {error}"


def table(cases: list[dict[str, Any]]) -> str:
    """The matrix as aligned text, ours beside BashOperator's."""
    heads = ("row", "operator", "state", "tries", "returned", "trainings", "at once", "left")
    rows: list[tuple[str, ...]] = [heads]
    for case in cases:
        left = f"{case['left_alive']} alive" if case["left_alive"] else "none"
        if case["gone_after_s"]:
            left += f" after {case['gone_after_s']} s"
        values = (case["state"], case["tries"], case["returned"] or "-", case["trainings"])
        cells = (case["row"], case["operator"], *values, case["most_at_once"], left)
        rows.append(tuple(map(str, cells)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
