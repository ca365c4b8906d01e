"""The job of an engine's task is submitted once, whoever dies, and the next attempt follows it."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_scene import find, finish, kill_engine, start
from tests.slurm_cluster import SlurmCluster, wait_until

TRAINING = "echo begun; sleep 4; echo end; exit 6"


def begin(scene: BatchScene) -> subprocess.Popen[str]:
    """Start the first attempt, and return once its job writes output."""
    attempt = start(scene, TRAINING)
    await_begin(attempt)
    return attempt


def await_begin(attempt: subprocess.Popen[str]) -> None:
    """Return once the job of an attempt writes output."""
    assert attempt.stdout is not None
    assert any("begun" in line for line in iter(attempt.stdout.readline, ""))


def is_submitting(scene: BatchScene) -> bool:
    """Return True once sbatch may run."""
    return [scene.job_of(mark).get("step") for mark in scene.marks()] == ["submitting"]


def assert_one_job(scene: BatchScene) -> None:
    """Fail if there is another job, or another submission."""
    [mark] = scene.marks()
    assert len(scene.jobs_with(mark)) == 1


@pytest.mark.nightly
def test_job_is_the_run_of_a_task(scene: BatchScene) -> None:
    """The output of the job is the log, and its exit status that of the run."""
    told = finish(start(scene, 'echo "$PWD"; echo error >&2; exit 5'))
    assert find(told, "exit_code") == [5]
    [mark] = scene.marks()
    work = scene.home / "state" / "gpualert" / "submissions" / mark / "work"
    record = scene.home / "state" / "gpualert" / "runs" / find(told, "run")[0]
    assert (record / "stdout.log").read_text() == f"{work}\nerror\n"
    job = scene.jobs_with(mark)[0]
    shown = scene.cluster.run("scontrol", "show", "job", job).stdout
    assert "JobName=dag.train" in shown


STEPS = {"before sbatch": ("sleep 2", ":"), "during sbatch": (":", "sleep 2")}


@pytest.mark.parametrize(
    ("step", "victims"),
    [
        pytest.param("during sbatch", "all", marks=pytest.mark.e2e),
        pytest.param("during sbatch", "engine", marks=pytest.mark.nightly),
        pytest.param("before sbatch", "all", marks=pytest.mark.nightly),
        pytest.param("before sbatch", "engine", marks=pytest.mark.nightly),
    ],
)
def test_death_during_the_submission(scene: BatchScene, step: str, victims: str) -> None:
    """The next attempt finds the job that was submitted, or submits it."""
    scene.wrap_sbatch(*STEPS[step])
    first = start(scene, TRAINING)
    wait_until(partial(is_submitting, scene), "no submission", 20.0)
    if step == "during sbatch":
        [mark] = scene.marks()
        wait_until(lambda: scene.jobs_with(mark), "no job", 10.0)
    kill_engine(first)
    if victims == "all":
        scene.kill_all()
    told = finish(start(scene, TRAINING, 2))
    assert find(told, "exit_code") == [6]
    assert find(told, "origin") == ["launched" if victims == "all" else "adopted"]
    assert_one_job(scene)


@pytest.mark.nightly
def test_death_before_the_submission(scene: BatchScene) -> None:
    """An attempt whose processes died before the first step is replaced by one that submits."""
    first = start(scene, TRAINING)
    runs = scene.home / "state" / "gpualert" / "runs"
    wait_until(lambda: list(runs.glob("*/spec.json")), "no record", 20.0)
    kill_engine(first)
    scene.kill_all()
    assert find(finish(start(scene, TRAINING, 2)), "exit_code") == [6]
    jobs = [job for mark in scene.marks() for job in scene.jobs_with(mark)]
    assert len(jobs) == 1


@pytest.mark.e2e
def test_death_while_the_job_runs(slurm: SlurmCluster, tmp_path: Path) -> None:
    """The job goes on whoever dies; one attempt has its status and its whole output."""
    tmp_path.chmod(0o755)
    names = ("all", "follower", "guardian", "guardian and engine")  # the cluster has four CPUs
    homes = {name: tmp_path / name.replace(" ", "-") for name in names}
    scenes = {name: BatchScene(slurm, home) for name, home in homes.items()}
    gates = {name: home / "may end" for name, home in homes.items()}
    trainings = {
        name: f"echo begun; until [ -e '{gate}' ]; do sleep 0.2; done; echo end; exit 6"
        for name, gate in gates.items()
    }
    firsts = {name: start(scene, trainings[name]) for name, scene in scenes.items()}
    for first in firsts.values():
        await_begin(first)
    for name, scene in scenes.items():
        followers = scene.followers()
        guardians = [pid for pid in scene.processes() if pid not in followers]
        if name in ("all", "guardian and engine"):
            kill_engine(firsts[name])
        if name == "all":
            scene.kill_all()
        elif name == "follower":
            scene.kill(followers)
        elif "guardian" in name:
            scene.kill(guardians)
    for name, scene in scenes.items():
        is_dead = name in ("all", "guardian and engine")
        last_attempt = start(scene, trainings[name], 2) if is_dead else firsts[name]
        gates[name].touch()
        assert find(finish(last_attempt), "exit_code") == [6], name
        assert_one_job(scene)
        last = scene.runs()[-1]
        assert last["exit_code"] == 6, name
        log = scene.run("follow", str(last["run_id"])).stdout
        assert "begun\nend\n" in log, name


@pytest.mark.nightly
def test_result_that_nobody_took_is_claimed(scene: BatchScene) -> None:
    """A job that ended after the death of its engine is not submitted again."""
    first = begin(scene)
    kill_engine(first)
    [mark] = scene.marks()
    scene.wait_for_end(mark)
    runs = scene.home / "state" / "gpualert" / "runs"
    wait_until(lambda: list(runs.glob("*/verdict.json")), "the run did not end", 20.0)
    told = finish(start(scene, TRAINING, 2))
    assert (find(told, "origin"), find(told, "exit_code")) == (["claimed"], [6])
    assert_one_job(scene)


@pytest.mark.nightly
def test_retry_of_a_failure_is_a_new_job(scene: BatchScene) -> None:
    """The attempt after a failure submits anew."""
    assert find(finish(start(scene, "exit 3")), "exit_code") == [3]
    assert find(finish(start(scene, "exit 3", 2)), "exit_code") == [3]
    first, second = scene.marks()
    assert len({*scene.jobs_with(first), *scene.jobs_with(second)}) == 2


@pytest.mark.nightly
def test_stop_cancels_the_job(scene: BatchScene) -> None:
    """A stop of the task cancels the job, and the next attempt submits a new one."""
    attempt = begin(scene)
    attempt.send_signal(signal.SIGTERM)
    assert find(finish(attempt), "exit_code") == [143]
    [mark] = scene.marks()
    assert scene.job_of(mark)["exit_status"] == 143
    assert find(finish(start(scene, "exit 2", 2)), "exit_code") == [2]


@pytest.mark.nightly
def test_stop_of_a_follower_that_is_killed(scene: BatchScene) -> None:
    """A stop cancels the job although its follower is killed before it can, and no engine lives."""
    attempt = start(scene, "echo begun; sleep 100")
    await_begin(attempt)
    kill_engine(attempt)
    [follower] = scene.followers()
    os.kill(follower, signal.SIGSTOP)
    stopping = scene.start("stop", "last")
    runs = scene.home / "state" / "gpualert" / "runs"
    [events] = runs.glob("*/events.jsonl")
    wait_until(lambda: '"stopping"' in events.read_text(), "no stop", 20.0)
    scene.kill([follower])
    stopping.communicate(timeout=60)
    [mark] = scene.marks()
    assert scene.wait_for_end(mark)["exit_status"] == 143


@pytest.mark.nightly
@pytest.mark.parametrize("is_guarded", [True, False])
def test_another_command_cancels_the_job(scene: BatchScene, is_guarded: bool) -> None:
    """An attempt with another command submits only after the end of the earlier job."""
    kill_engine(begin(scene))
    [mark] = scene.marks()
    if not is_guarded:
        scene.kill_all()
    assert find(finish(start(scene, "exit 2", 2)), "exit_code") == [2]
    assert scene.job_of(mark)["exit_status"] == 143
    assert len(scene.marks()) == 2


@pytest.mark.nightly
def test_no_other_command_follows_the_job(scene: BatchScene) -> None:
    """``gpualert recover`` leaves the job to the next attempt."""
    kill_engine(begin(scene))
    scene.kill_all()
    scene.run("recover")
    assert scene.followers() == []
    assert find(finish(start(scene, TRAINING, 2)), "exit_code") == [6]
    assert_one_job(scene)
