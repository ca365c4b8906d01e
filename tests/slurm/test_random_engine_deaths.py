"""Deaths of attempts at random moments: no attempt submits beside the job of another one."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_scene import find, finish, kill_engine, start
from tests.slurm_cluster import SlurmCluster

AT_ONCE = 8
"""Tasks at a time: most of the time they wait."""
LONGEST_S = 5.0
"""All deaths come within this time of the start; on a quiet machine the job ends meanwhile."""


@pytest.mark.nightly
def test_one_job_in_200_deaths(slurm: SlurmCluster, tmp_path: Path) -> None:
    """The attempt after 200 deaths has the status of the only job of its task."""
    tmp_path.chmod(0o755)
    chance = random.Random()
    deaths = [
        (tmp_path / str(index), chance.uniform(0.0, LONGEST_S), chance.random() < 0.5)
        for index in range(200)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        origins = list(pool.map(lambda one: _kill_once(slurm, *one), deaths))
    print({origin: origins.count(origin) for origin in set(origins)})


def _kill_once(slurm: SlurmCluster, home: Path, after_s: float, with_guardian: bool) -> str:
    """Kill an attempt, or all its processes; return how the next one got its run."""
    scene = BatchScene(slurm, home)
    first = start(scene, "sleep 1; exit 7")
    time.sleep(after_s)  # the moment of the death, in the seconds of a real run
    is_over = first.poll() is not None
    kill_engine(first)
    if with_guardian:
        scene.kill_all()
    told = finish(start(scene, "sleep 1; exit 7", 2))
    assert find(told, "exit_code") == [7], (after_s, with_guardian, told)
    jobs = [job for mark in scene.marks() for job in scene.jobs_with(mark)]
    origin = str(find(told, "origin")[-1])
    is_reported = is_over or len(jobs) > 1
    if not is_over:
        # An attempt that had taken the result is a failure, after which a new job is right.
        ends = [scene.job_of(mark).get("exit_status") for mark in scene.marks()]
        assert len(jobs) == 1 or (ends[0] == 7 and origin == "launched"), (after_s, jobs, ends)
    return "retried" if is_reported else origin
