"""Tests of the README's automation on a real server."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect_gpualert import gpualert_run

from tests.faults.prefect.deployment import ROOT, Place, deploy, worker
from tests.faults.prefect.scene import START_S
from tests.prefect import server_objects
from tests.prefect.test_publishing import OOM
from tests.supervised import until

pytestmark = pytest.mark.e2e

README = ROOT / "prefect_collection" / "README.md"
TRIGGERED = "prefect.automation.triggered"
QUIET_S = 5.0
"""An automation fires within a second of its event."""


@flow
def remote(command: str, state_dir: str) -> None:
    """One training of a deployment."""
    gpualert_run(command, state_dir=state_dir, notify="none")


def example() -> str:
    """The README's automation."""
    blocks = README.read_text().split("```python\n")[1:]
    (found,) = [block.partition("```")[0] for block in blocks if "Automation(" in block]
    return found


def raising(error: str, message: str) -> str:
    """A command that raises."""
    return shlex.join([sys.executable, "-c", f"raise {error}({message!r})"])


def is_paused(name: str) -> bool:
    """Return whether the deployment is paused."""
    with get_client(sync_client=True) as client:
        return bool(client.read_deployment_by_name(name).paused)


def train(name: str, command: str, home: Path) -> str:
    """Run the deployment by the worker to its end; return the cause of the event."""
    parameters = {"command": command, "state_dir": str(home)}
    run: Any = run_deployment(name, parameters=parameters, timeout=START_S, as_subflow=False)
    assert isinstance(run, FlowRun)
    assert run.state_name == "Failed"
    wanted = f"prefect.flow-run.{run.id}"

    def find_cause() -> str | None:
        for event in server_objects.events():
            if wanted in [one["prefect.resource.id"] for one in event["related"]]:
                return str(event["resource"]["gpualert.cause"])
        return None

    return until(find_cause, "the verdict of that flow run")


def test_automation_fires_on_its_cause(place: Place, tmp_path: Path) -> None:
    """A training out of memory pauses its deployment; another failure pauses nothing."""
    deploy(Path(__file__), "remote")
    exec(compile(example(), str(README), "exec"), {})
    with worker(place.home, place.url):
        assert train("remote/remote", raising("ImportError", "no"), tmp_path) != "cuda_oom"
        time.sleep(QUIET_S)
        assert not server_objects.events(TRIGGERED)
        assert not is_paused("remote/remote")
        assert train("remote/remote", raising("RuntimeError", OOM), tmp_path) == "cuda_oom"
        until(lambda: is_paused("remote/remote"), "the deployment to be paused")
        assert len(server_objects.events(TRIGGERED)) == 1
