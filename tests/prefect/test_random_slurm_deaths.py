"""Deaths of engines at random moments: the job of a task is submitted once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.prefect.engine_runs import EngineRuns
from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_deaths import kill_at_random
from tests.slurm_cluster import SlurmCluster

DEATHS = 40
_END_S = 180.0


@pytest.mark.nightly
def test_one_job_in_deaths(slurm: SlurmCluster, tmp_path: Path, harness: None) -> None:
    """After the deaths of its engines each task has one job, and the result of that."""
    tmp_path.chmod(0o755)
    runs: dict[Path, EngineRuns] = {}

    def start(scene: BatchScene, number: int) -> subprocess.Popen[str]:
        if scene.home not in runs:
            runs[scene.home] = EngineRuns(scene, "sleep 1; echo end")
        return runs[scene.home].start(number)

    def check_end(attempt: subprocess.Popen[str]) -> None:
        assert attempt.wait(_END_S) == 0

    counts = kill_at_random(
        lambda index: BatchScene(slurm, tmp_path / str(index)),
        start,
        check_end,
        count=DEATHS,
        status=0,
        at_once=2,
        start_s=10.0,
    )
    print(counts)
    for some in runs.values():
        last = len(list(some.scene.home.glob("engine-*.log")))
        assert some.read_result(last) == "end"
