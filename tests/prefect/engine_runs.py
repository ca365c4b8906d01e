"""Runs of one flow run, each by an engine in a process of its own, whose task is a job of Slurm."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL

from tests.prefect import slurm_attempt
from tests.slurm.batch_scene import BatchScene

_ROOT = Path(slurm_attempt.__file__).parents[2]


@dataclass
class EngineRuns:
    """A flow run of the tests' server, and the engines that run it."""

    scene: BatchScene
    command: str
    flow_run: str = field(init=False)

    def __post_init__(self) -> None:
        """Create the flow run."""
        with get_client(sync_client=True) as client:
            flow_run = client.create_flow_run(
                slurm_attempt.trains, parameters={"command": self.command}
            )
        self.flow_run = str(flow_run.id)

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start an engine."""
        with self._log(number).open("w") as out:
            return subprocess.Popen(
                (sys.executable, slurm_attempt.__file__, self.flow_run),
                env={
                    **self.scene.environment,
                    "PREFECT_API_URL": PREFECT_API_URL.value() or "",
                    "PREFECT_HOME": str(self.scene.home / "prefect"),
                    "PYTHONPATH": str(_ROOT),
                },
                cwd=self.scene.home / "work",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def read_result(self, number: int) -> str:
        """Return the result that the engine of this number printed; fails without one."""
        text = self._log(number).read_text()
        found = [line.removeprefix("RETURNED ") for line in text.splitlines()]
        assert "RETURNED" in text, text[-3000:]
        return found[-1]

    def _log(self, number: int) -> Path:
        return self.scene.home / f"engine-{number}.log"
