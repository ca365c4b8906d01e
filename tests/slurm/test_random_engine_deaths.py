"""Deaths of attempts at random moments: no attempt submits beside the job of another one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_deaths import kill_at_random
from tests.slurm.engine_scene import find, finish, start
from tests.slurm_cluster import SlurmCluster

STATUS = 7


@pytest.mark.nightly
def test_one_job_in_200_deaths(slurm: SlurmCluster, tmp_path: Path) -> None:
    """After 200 deaths each task has one job, whose status the last attempt has."""
    tmp_path.chmod(0o755)

    def check_end(attempt: subprocess.Popen[str]) -> None:
        told = finish(attempt)
        assert find(told, "exit_code") == [STATUS], told

    counts = kill_at_random(
        lambda index: BatchScene(slurm, tmp_path / str(index)),
        lambda scene, number: start(scene, f"sleep 1; exit {STATUS}", number),
        check_end,
        count=200,
        status=STATUS,
        at_once=8,
        start_s=2.0,
    )
    print(counts)
