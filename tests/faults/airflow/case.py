"""One task under one fault and one operator: its start, its observation and its result."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpualert_common import record_locations
from gpualert_common.record import Record
from tests.faults.airflow.deployment import Deployment
from tests.observer import Observer, command_of, left_of
from tests.supervised import until

STARTS_WITHIN_S = 90.0
ENDS_WITHIN_S = 360.0
SEARCH_S = 20.0
"""Time after a task's end in which its processes are searched; over twice the grace period."""


@dataclass
class Case:
    """One task under one fault, with its result; ``index`` is that of a mapped task."""

    row: str
    operator: str
    lab: Deployment = field(repr=False)
    observer: Observer = field(repr=False)
    index: int = -1
    queue: str = ""
    run: str = ""
    started: bool = False
    problem: str = ""
    state: str = ""
    tries: int = 0
    returned: Any = None
    trainings: int = 0
    most_at_once: int = 0
    printed: int = 0
    lost: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    gone_after_s: float | None = None
    runs: list[dict[str, Any]] = field(default_factory=list)
    siblings: list[Case] = field(default_factory=list, repr=False)

    @property
    def dag(self) -> str:
        """Name of the DAG."""
        return f"{self.row}.{self.operator}"

    @property
    def mark(self) -> str:
        """Mark of its trainings."""
        return self.dag if self.index < 0 else f"{self.dag}[{self.index}]"

    @property
    def task_id(self) -> str:
        """Name of the task; a mapped one is in a group."""
        return "train" if self.index < 0 else "group.train"

    # -- actions ---------------------------------------------------------------------------

    def start(self) -> None:
        """Trigger the DAG and return when its training has run for a second and a half."""
        with self.lab.starting:
            self.run = self.lab.trigger(self.dag)
            self.begins()

    def begins(self) -> None:
        """Return when its training has run for a second and a half."""
        what = f"{self.mark} to train"
        until(lambda: self.observer.trainings(self.mark), what, STARTS_WITHIN_S)
        assert self.task()["try_number"] == 1, f"{self.mark} did not begin in its first try"
        time.sleep(1.5)
        self.started = True

    def with_siblings(self, count: int) -> list[Case]:
        """Return the cases of all indexes of a mapped task, this one included."""
        given = (self.row, self.operator, self.lab, self.observer)
        self.siblings = [Case(*given, one) for one in range(count) if one != self.index]
        return [self, *self.siblings]

    def runner(self) -> int:
        """Return the process that runs the task, a child of its executor's worker."""
        pid = until(lambda: self.task().get("pid"), "the runner", STARTS_WITHIN_S, poll_s=1.0)
        assert "airflow" in command_of(pid)[0], f"{pid} is {command_of(pid)}"
        return int(pid)

    def task(self) -> dict[str, Any]:
        """Return the task instance as the API describes it."""
        return self.lab.task(self.dag, self.run, self.task_id, self.index)

    def reaches(self, tries: int, *states: str) -> None:
        """Return when that try is in one of these states."""

        def there() -> bool:
            task = self.task()
            return bool(task["try_number"] >= tries and task["state"] in states)

        until(there, f"{self.mark} to be {states} in try {tries}", ENDS_WITHIN_S, poll_s=1.0)

    # -- result ----------------------------------------------------------------------------

    def record_result(self) -> None:
        """Record the result, now and for some time after the end of the task."""
        task = self.task()
        self.state, self.tries = task["state"], task["try_number"]
        self.returned = self.lab.returned(self.dag, self.run, self.task_id, self.index)
        began = time.monotonic()
        while (self.left or self.gone_after_s is None) and time.monotonic() < began + SEARCH_S:
            waited_s = round(time.monotonic() - began, 1)
            self.left = list(left_of(self.mark).values())
            self.gone_after_s = None if self.left else waited_s
            time.sleep(0.2)
        self.trainings = len(self.observer.found.get(self.mark, ()))
        self.most_at_once = self.observer.most.get(self.mark, 0)
        kept: set[str] = set()
        runs: dict[str, dict[str, Any]] = {}
        for record in self.records():
            runs[record.run_id] = read_facts(record)
            kept.update(_lines(Path(record.log_path(record.logs[-1]))))
        self.runs = [runs[run_id] for run_id in sorted(runs)]  # in the order of their start
        if self.operator == "BashOperator":
            kept.update(self._logged())
        outputs = [path for path in self.lab.outputs.iterdir() if path.stem == self.mark]
        lines = [line for path in outputs for line in _lines(path)]
        self.printed = len(lines)
        self.lost = [line for line in lines if line not in kept]
        for sibling in self.siblings:
            sibling.record_result()

    def records(self) -> Iterator[Record]:
        """Yield the records of the runs of this task."""
        key = ("airflow", self.dag, self.run, self.task_id, str(self.index))
        for place in self.lab.states():
            for record in record_locations.open_records([str(place)]):
                if record.spec.owner.get("key") == key:
                    yield record

    def _logged(self) -> Iterator[str]:
        """Return the lines of Airflow's log of the task, of all attempts."""
        place = self.lab.home / "logs" / f"dag_id={self.dag}" / f"run_id={self.run}"
        place /= f"task_id={self.task_id}"
        if self.index >= 0:
            place /= f"map_index={self.index}"
        for path in place.glob("attempt=*.log"):
            for line in _lines(path):
                try:
                    yield str(json.loads(line).get("event"))
                except ValueError:
                    continue

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data for the page."""
        names = ("row", "operator", "index", "state", "tries", "returned", "trainings", "problem")
        fields = {name: getattr(self, name) for name in names}
        fields["most_at_once"] = self.most_at_once
        fields["left_alive"] = len(self.left)
        fields["gone_after_s"] = self.gone_after_s
        fields["lines_printed"], fields["lines_lost"] = self.printed, len(self.lost)
        fields["runs"] = self.runs
        return fields


def read_facts(record: Record) -> dict[str, Any]:
    """Return the facts about a run in its record."""
    ending = record.ending
    verdict = record.read_json("verdict.json") or {}
    outcome = record.read_json("outcome.json") or {}
    return {
        "state": record.state,
        "exit_code": None if ending is None else ending.exit_code,
        "disposition": verdict.get("disposition"),
        "cause": verdict.get("cause"),
        "adopted": record.event("adopted") is not None,
        "claimed": record.claimed_by is not None,
        "outcome": outcome.get("state"),
    }


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()
