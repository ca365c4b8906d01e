"""Deaths of engines at random moments: the job of a task is submitted once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL

from tests.prefect import slurm_attempt
from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_deaths import kill_at_random
from tests.slurm_cluster import SlurmCluster

DEATHS = 40
_ROOT = Path(slurm_attempt.__file__).parents[2]
_END_S = 180.0


@pytest.mark.nightly
def test_one_job_in_deaths(slurm: SlurmCluster, tmp_path: Path, harness: None) -> None:
    """After the deaths of its engines each task has one job, and the result of that."""
    tmp_path.chmod(0o755)
    url = PREFECT_API_URL.value()
    assert url

    def make_scene(index: int) -> BatchScene:
        scene = BatchScene(slurm, tmp_path / str(index))
        with get_client(sync_client=True) as client:
            flow_run = client.create_flow_run(slurm_attempt.trains)
        scene.environment |= {
            "PREFECT_API_URL": url,
            "PREFECT_HOME": str(scene.home / "prefect"),
            "PYTHONPATH": str(_ROOT),
            "FLOW_RUN": str(flow_run.id),
        }
        return scene

    def start(scene: BatchScene, number: int) -> subprocess.Popen[str]:
        out = (scene.home / f"attempt-{number}.log").open("w")
        with out:
            return subprocess.Popen(
                (sys.executable, slurm_attempt.__file__, scene.environment["FLOW_RUN"]),
                env=scene.environment,
                cwd=scene.home / "work",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def check_end(attempt: subprocess.Popen[str]) -> None:
        assert attempt.wait(_END_S) == 0

    counts = kill_at_random(
        make_scene, start, check_end, count=DEATHS, status=0, at_once=2, start_s=10.0
    )
    print(counts)
    for index in range(len(list(tmp_path.iterdir()))):
        last = sorted((tmp_path / str(index)).glob("attempt-*.log"))[-1].read_text()
        assert "RETURNED end\n" in last, last[-3000:]
