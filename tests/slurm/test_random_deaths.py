"""Deaths at random moments: no job is submitted twice, and its status is found."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster, wait_until

AT_ONCE = 8
"""Submissions at a time: most of the time they wait."""
BEFORE_S = 1.0
"""Some deaths come within this time of the command, before its submission."""
AFTER_S = 2.5
"""All others come within this time of the first sbatch; the job ends meanwhile."""
_EARLY = 0.1


@pytest.mark.e2e
def test_no_second_submission_in_8_deaths(slurm: SlurmCluster, tmp_path: Path) -> None:
    """In 8 deaths at random moments at most one job exists for each submission."""
    _kill_at_random(slurm, tmp_path, 8, seed=23)


@pytest.mark.nightly
def test_no_second_submission_in_200_deaths(slurm: SlurmCluster, tmp_path: Path) -> None:
    """The same in 200 deaths."""
    _kill_at_random(slurm, tmp_path, 200, seed=None)


@pytest.mark.nightly
def test_controller_that_dies(slurm: SlurmCluster, tmp_path: Path) -> None:
    """A controller that is killed and started again costs nothing but time."""
    scene = BatchScene(slurm, tmp_path / "scene")
    front = scene.start("sbatch", "--poll=1s", "--wrap=echo begun; sleep 3; exit 4")
    assert front.stdout is not None
    assert front.stdout.readline() == "begun\n"
    slurm.kill_daemon("slurmctld")
    assert front.stderr is not None
    assert any("Slurm does not answer" in line for line in iter(front.stderr.readline, ""))
    slurm.start_daemon("slurmctld")
    front.communicate(timeout=90)
    assert front.returncode == 4


def _kill_at_random(slurm: SlurmCluster, home: Path, count: int, seed: int | None) -> None:
    home.chmod(0o755)
    chance = random.Random(seed)
    early = [chance.random() < _EARLY for _ in range(count)]
    moments = [
        chance.uniform(-BEFORE_S, 0.0) if one else chance.uniform(0, AFTER_S) for one in early
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        places = [home / str(index) for index in range(count)]
        ends = list(
            pool.map(lambda one: _kill_once(slurm, *one), zip(places, moments, strict=True))
        )
    submitted = [end for end in ends if end]
    print(
        f"{count} deaths: {len(submitted)} jobs, {sum(submitted)} of them found by a new follower"
    )
    assert submitted, "every death came before the submission"


def _kill_once(slurm: SlurmCluster, home: Path, after_s: float) -> bool | None:
    """Kill all at one moment; return True if a new follower was needed, None if there is no job.

    Moments before zero are counted from the start, others from the first sbatch.
    """
    scene = BatchScene(slurm, home)
    with scene.start("sbatch", "--poll=1s", "--wrap=sleep 1; exit 7") as front:
        if after_s >= 0:
            wait_until(lambda: any(scene.job_of(mark) for mark in scene.marks()), "no sbatch", 60.0)
        time.sleep(abs(after_s))  # the moment of the death, in the seconds of a real run
        scene.kill_all()
        front.communicate()
    marks = scene.marks()
    step = scene.job_of(marks[0]).get("step", "prepared") if marks else "prepared"
    if step == "prepared":
        assert not marks or not scene.jobs_with(marks[0]), after_s
        return None
    if step != "ended":
        scene.recover()
    end = scene.wait_for_end(marks[0])
    assert end["exit_status"] == 7, (after_s, end)
    assert len(scene.jobs_with(marks[0])) == 1, after_s
    scene.run("recover")
    last = wait_until(lambda: _find_ended(scene), "no run ended", 30.0)
    assert last["exit_code"] == 7, (after_s, last)
    return step != "ended"


def _find_ended(scene: BatchScene) -> dict[str, object]:
    run = scene.runs()[-1]
    return run if run["exit_code"] is not None else {}
