"""Tasks and blocks that are jobs of Slurm: the same result and error as with a child."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect_gpualert import TrainingFailed, TrainingOperation

from tests.prefect.engine_runs import EngineRuns
from tests.prefect.running import records, run
from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster
from tests.supervised import Lab, until

pytestmark = pytest.mark.usefixtures("harness")
SLURM: dict[str, Any] = {"scheduler": "slurm", "grace": 1, "publish": False}


@pytest.fixture(autouse=True)
def _cluster(slurm: SlurmCluster, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the cluster from this process; the nodes see the folder of the test."""
    lab.home.chmod(0o755)
    monkeypatch.chdir(lab.home)
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    yield
    slurm.run("scancel", "--user=root")


def jobs(home: Path) -> list[dict[str, object]]:
    """Return the states of all submissions, oldest first."""
    files = sorted((home / "state").glob("submissions/*/job.json"))
    return [json.loads(file.read_text()) for file in files]


@pytest.mark.nightly
def test_last_line_of_stdout_is_returned(home: Path) -> None:
    """The result is the last line of the job's stdout, in the directory of the flow."""
    command = "echo one; echo $PWD $SEED; echo not this >&2"
    assert run("called", command, env={"SEED": "7"}, **SLURM) == f"{home} 7"
    assert [job["step"] for job in jobs(home)] == ["ended"]


@pytest.mark.nightly
def test_failure(home: Path) -> None:
    """A job that fails raises TrainingFailed with its exit status."""
    with pytest.raises(TrainingFailed) as caught:
        run("called", "exit 3", **SLURM)
    assert caught.value.exit_code == 3


@pytest.mark.nightly
def test_timeout_cancels_the_job(home: Path) -> None:
    """The time limit cancels the job."""
    with pytest.raises(TrainingFailed):
        run("called", "echo begun; sleep 100", timeout=5, **SLURM)
    assert [job["exit_status"] for job in jobs(home)] == [143]


@pytest.mark.nightly
@pytest.mark.parametrize("victim", ["guardian", "follower"])
def test_killed_follower(home: Path, lab: Lab, victim: str) -> None:
    """The same attempt follows the job on when guardian or follower are killed."""

    def kill() -> None:
        until(lambda: lab.has_output(b"begun\n", "stdout.log"), "the job to begin", 60.0)
        [record] = records(home)
        pid = record.spec.supervisor_pid if victim == "guardian" else record.leader_pid
        assert pid
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert run("called", "echo begun; sleep 6; echo end", **SLURM) == "end"
    killer.join()
    assert [job["step"] for job in jobs(home)] == ["ended"]
    assert len(records(home)) == 2


@pytest.mark.e2e
def test_block(home: Path) -> None:
    """A block runs its commands as one job, and stops it when it is closed."""

    @flow
    def trains() -> list[str]:
        with TrainingOperation(commands=["echo begun", "sleep 100"], **SLURM) as operation:
            operation.trigger()
            until(lambda: jobs(home) and jobs(home)[0].get("job_id"), "a job", 60.0)
        done: list[str] = TrainingOperation(commands=["echo a", "echo b"], **SLURM).run()
        return done

    assert trains() == ["a", "b"]
    assert [job["exit_status"] for job in jobs(home)] == [143, 0]


@pytest.mark.e2e
def test_death_of_the_engine(slurm: SlurmCluster, tmp_path: Path) -> None:
    """The job goes on when all processes of the engine die; the next run of its flow has it."""
    tmp_path.chmod(0o755)
    runs = EngineRuns(BatchScene(slurm, tmp_path / "scene"), "echo begun; sleep 6; echo end")
    first = runs.start(1)
    output = runs.scene.home / "state" / "gpualert" / "runs"
    until(lambda: any(log.stat().st_size for log in output.glob("*/stdout.log")), "output", 60.0)
    first.kill()
    runs.scene.kill_all()
    first.wait()
    assert runs.start(2).wait(90.0) == 0
    assert runs.read_result(2) == "end"
    [mark] = runs.scene.marks()
    assert len(runs.scene.jobs_with(mark)) == 1
