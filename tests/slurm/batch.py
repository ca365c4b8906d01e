"""Batch jobs of a test: what they run under gpualert, and the verdicts of their records."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.slurm_cluster import SlurmCluster, wait_until

GPUALERT = (sys.executable, "-m", "gpualert_common")
TRAIN = """
import sys, time
for step in range(1, 100000):
    print(f"step {step}/100000 loss {3 / step ** 0.1:.4f}", flush=True)
    time.sleep(0.2)
"""


@dataclass(frozen=True)
class Batch:
    """A folder that the nodes share, with the records of the test's runs."""

    cluster: SlurmCluster
    home: Path

    @property
    def settings(self) -> dict[str, str]:
        """Variables of the jobs."""
        return {
            "HOME": str(self.home),
            "GPUALERT_STATE_DIR": str(self.home / "state"),
            "GPUALERT_NOTIFY": "none",
            "GPUALERT_OBSERVE": "true",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def program(self, source: str) -> tuple[str, ...]:
        """Return the command of a program in the folder."""
        file = self.home / f"program{len(list(self.home.iterdir()))}.py"
        file.write_text(source)
        return sys.executable, str(file)

    def run(self, *command: str) -> str:
        """Return the line of a script that runs a command under gpualert."""
        return shlex.join((*GPUALERT, "run", "--", *command))

    def submit(self, script: str, *arguments: str, user: str | None = None) -> int:
        """Submit a script with the variables of the folder; the id of its job."""
        exports = "".join(f"export {name}={value}\n" for name, value in self.settings.items())
        return self.cluster.submit(exports + script, *arguments, user=user)

    def records(self) -> list[Path]:
        """Return the records of all runs, the oldest first."""
        return sorted((self.home / "state" / "runs").glob("*"))

    def wait_for_output(self, words: str, timeout_s: float = 30.0) -> Path:
        """Return the first record whose log has those words, as soon as there is one."""

        def find() -> Path | None:
            for record in self.records():
                for log in record.glob("*.log"):
                    if words in log.read_text(errors="replace"):
                        return record
            return None

        found = wait_until(find, f"no log has {words!r}", timeout_s)
        assert found is not None
        return found

    def verdict(self, record: Path | None = None, timeout_s: float = 20.0) -> dict[str, Any]:
        """Return a verdict, that of the only run by default, as soon as it is complete."""
        wait_until(lambda: bool(self.records()), "there is no record", timeout_s)
        file = (record or self.records()[0]) / "verdict.json"
        wait_until(file.exists, f"no {file}", timeout_s)
        found: dict[str, Any] = json.loads(file.read_text())
        return found

    def recover(self, record: Path, *, on: str = "head") -> str:
        """Finish a record from a machine, as a person does; the answer."""
        words = (*GPUALERT, "recover", record.name)
        variables = [f"{name}={value}" for name, value in self.settings.items()]
        return self.cluster.run("env", *variables, *words, on=on).stdout

    def age(self, record: Path, seconds: float) -> None:
        """Make the files of a record as old as if nothing had written them for that time."""
        for file in record.iterdir():
            if file.is_file():
                at = file.stat().st_mtime - seconds
                os.utime(file, (at, at))
