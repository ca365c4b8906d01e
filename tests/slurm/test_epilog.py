"""The example of an epilog, run by a real Slurm."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slurm_cluster import SlurmCluster, slurm_cluster, wait_until

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "slurm" / "epilog.sh"


@pytest.fixture(params=["EpilogSlurmctld", "Epilog"])
def cluster(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """A cluster with the example as its epilog, of either kind."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        program = home / "bin" / "gpualert"
        program.parent.mkdir()
        _write(program, f'exec {sys.executable} -m gpualert_common "$@"')
        variables = {
            "SLURM_CONF": str(home / "cluster" / "slurm.conf"),
            "PYTHONPATH": str(ROOT),
            "GPUALERT_BIN": str(program.parent),
            "GPUALERT_STATE_DIR": str(home / "state"),
            "GPUALERT_NOTIFY": "mailbox",
            "XDG_CONFIG_HOME": str(home / "config"),
        }
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        epilog = home / "epilog.sh"
        _write(epilog, "\n".join((*lines, f"exec sh {EXAMPLE}")))
        with slurm_cluster(home / "cluster", settings={request.param: str(epilog)}) as started:
            yield started


def test_each_job_that_ends_is_reported(cluster: SlurmCluster) -> None:
    """A job on two nodes gets one record with its verdict, and one alert; one that gpualert
    submitted, and is reported by it, none."""
    own = cluster.submit("exit 4", "--comment=gpualert:20261128-101112-123456-abcd")
    cluster.wait_for(own, "FAILED")
    failed = cluster.submit("srun hostname; python3 -c 'import nope'", "--nodes=2")
    cluster.wait_for(failed, "FAILED")
    good = cluster.submit("true")
    cluster.wait_for(good, "COMPLETED")
    state = cluster.home.parent / "state"
    wait_until(lambda: len(_read_verdicts(state)) == 2, "not two verdicts", 60.0)
    causes = {name.rpartition("-")[2]: one["cause"] for name, one in _read_verdicts(state).items()}
    assert causes == {str(failed): "missing_module", str(good): "none"}
    mailbox = state / "mailbox" / "new"
    wait_until(lambda: mailbox.exists() and list(mailbox.iterdir()), "no alert", 30.0)
    [message] = mailbox.iterdir()
    assert "nope" in message.read_text()


def _read_verdicts(state: Path) -> dict[str, dict[str, Any]]:
    """Return the verdicts by the names of the runs."""
    return {
        str(json.loads((path.parent / "spec.json").read_text())["name"]): json.loads(
            path.read_text()
        )
        for path in state.glob("runs/*/verdict.json")
    }


def _write(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
