"""Tests of the examples, run by their first lines, with a real server and worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpualert_common.record import Record
from tests.faults.prefect import deployment
from tests.faults.prefect.deployment import Place

pytestmark = pytest.mark.e2e

EXAMPLES = deployment.ROOT / "examples"
MOST_S = 180
"""A worker that polls, an engine that starts, on a busy machine."""


class Shell:
    """Commands in the environment of a user of that server, with a separate state directory."""

    def __init__(self, place: Place, state: Path) -> None:
        self.state = state
        more = {"GPUALERT_STATE_DIR": str(state), "WORK_POOL": deployment.POOL}
        self._environment = deployment.environment(place.home, PREFECT_API_URL=place.url, **more)

    def run(self, *command: str) -> str:
        """Run a command that must succeed; return its output."""
        done = subprocess.run(
            command,
            env=self._environment,
            cwd=self.state.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MOST_S,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def records(self) -> list[Record]:
        """Return the records of its trainings, oldest first."""
        return [Record.open(str(path)) for path in sorted((self.state / "runs").iterdir())]


@pytest.fixture
def shell(place: Place, tmp_path: Path) -> Shell:
    """Return a new user for each test."""
    return Shell(place, tmp_path / "state")


def test_flow(shell: Shell) -> None:
    """Two trainings and another task run; each failure sends an alert."""
    shell.run(sys.executable, str(EXAMPLES / "prefect_flow.py"))


def test_map(shell: Shell) -> None:
    """Four trainings run, two at a time; the one that diverges sends an alert."""
    shell.run(deployment.PREFECT, "concurrency-limit", "create", "gpu", "2")
    shell.run(sys.executable, str(EXAMPLES / "prefect_map.py"))
    records = shell.records()
    assert len(records) == 4
    endings = [record.ending for record in records]
    times = [(one.started_at, one.ended_at or 0.0) for one in endings if one is not None]
    at_a_time = [sum(began <= at < ended for began, ended in times) for at, _ in times]
    assert len(at_a_time) == 4
    assert max(at_a_time) <= 2
    assert len(list((shell.state / "mailbox" / "new").iterdir())) == 1


def test_deployment(shell: Shell, place: Place) -> None:
    """A worker runs the training of a deployment."""
    shell.run(sys.executable, str(EXAMPLES / "prefect_deployment.py"))
    variables = f"env={json.dumps({'GPUALERT_STATE_DIR': str(shell.state)})}"
    options = ("--param", "epochs=3", "--job-variable", variables, "--watch")
    with deployment.worker(place.home, place.url):
        output = shell.run(deployment.PREFECT, "deployment", "run", "nightly/numpy", *options)
    assert "Completed" in output
    (record,) = shell.records()
    assert "training finished" in Path(record.log_path(record.logs[0])).read_text()
