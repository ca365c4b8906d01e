"""Deaths of attempts at random moments: no attempt submits beside the job of another one."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_deaths import STATUS, Death, count_jobs, kill_attempts, plan, summarize
from tests.slurm.engine_scene import find, finish, start
from tests.slurm_cluster import SlurmCluster

AT_ONCE = 8
"""Tasks at a time: most of the time they wait."""
START_S = 2.0
"""An attempt has launched its run by then, also on a busy machine."""
COMMAND = f"sleep 1; exit {STATUS}"


@pytest.mark.nightly
def test_one_job_in_200_deaths(slurm: SlurmCluster, tmp_path: Path) -> None:
    """After 200 deaths each task has one job, whose status the last attempt has."""
    tmp_path.chmod(0o755)
    planned = plan(200, random.Random(), START_S)

    def kill(index: int, deaths: list[Death]) -> tuple[list[str], int]:
        scene = BatchScene(slurm, tmp_path / str(index))
        steps, last = kill_attempts(scene, lambda one, number: start(one, COMMAND, number), deaths)
        if steps[-1] != "reported":
            told = finish(start(scene, COMMAND, last + 1))
            assert find(told, "exit_code") == [STATUS], (deaths, steps, told)
        return steps, count_jobs(scene)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(kill, range(len(planned)), planned))
    print(summarize([steps for steps, _jobs in ends], [jobs for _steps, jobs in ends]))
