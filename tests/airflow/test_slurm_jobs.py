"""Tasks that are jobs of Slurm: the same result, skip and error as with a child, and one job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gpualert_provider.exceptions import TrainingTaskFailed
from gpualert_provider.triggers import gpualert as triggers

from tests.airflow.conftest import Trials
from tests.airflow.test_deferrable import is_deferred
from tests.slurm_cluster import SlurmCluster
from tests.supervised import Lab, until

When = Callable[[Callable[[], object], Callable[[], None]], None]
SLURM = "scheduler='slurm', grace=1"


@pytest.fixture(autouse=True)
def _cluster(slurm: SlurmCluster, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the cluster from this process; the nodes see the folder of the test."""
    lab.home.chmod(0o755)
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(triggers, "SAMPLE_INTERVAL_S", 0.2)
    yield
    slurm.run("scancel", "--user=root")


def jobs(lab: Lab) -> list[dict[str, object]]:
    """Return the states of all submissions, oldest first."""
    files = sorted(lab.state.glob("submissions/*/job.json"))
    return [json.loads(file.read_text()) for file in files]


def has_begun(lab: Lab) -> bool:
    """Return True once the job writes output."""
    return lab.has_output(b"begun\n", "stdout.log")


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["", ", deferrable=True"])
def test_last_line_is_returned(trials: Trials, lab: Lab, how: str) -> None:
    """The result is the last line of the job's output, through ``output_processor``."""
    command = "bash_command='echo begun; sleep 3; echo 41', output_processor=int"
    done = trials.train(f"{command}, {SLURM}{how}")
    assert (done.state, done.returned) == ("success", 41)
    assert [job["step"] for job in jobs(lab)] == ["ended"]


@pytest.mark.nightly
def test_other_ends(trials: Trials, lab: Lab) -> None:
    """Skip, failure and an empty result are those of a child."""
    assert trials.train(f"bash_command='exit 99', {SLURM}").state == "skipped"
    assert trials.train(f"bash_command='true', {SLURM}").returned == ""
    done = trials.train(f"bash_command='python3 -c \"import torch_of_nobody\"', {SLURM}")
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert (done.error.cause, done.error.exit_code) == ("missing_module", 1)


@pytest.mark.nightly
def test_variables_and_directory(trials: Trials, lab: Lab) -> None:
    """The job has the variables and the directory of the task, and sbatch's options."""
    given = f"env={{'SEED': '7'}}, cwd={str(lab.home)!r}, sbatch_args=['--ntasks=2']"
    done = trials.train(
        f"bash_command='echo $SEED $PWD $SLURM_NTASKS $XDG_STATE_HOME', {given}, {SLURM}"
    )
    assert done.returned == f"7 {lab.home} 2"


@pytest.mark.nightly
def test_timeout_cancels_the_job(trials: Trials, lab: Lab) -> None:
    """``execution_timeout`` cancels the job, and the task fails by it."""
    limit = "execution_timeout=datetime.timedelta(seconds=6)"
    done = trials.train(f"bash_command='echo begun; sleep 100', {limit}, {SLURM}")
    assert done.state == "failed"
    assert type(done.error).__name__ == "AirflowTaskTimeout"
    assert [job["exit_status"] for job in jobs(lab)] == [143]


@pytest.mark.e2e
def test_kill_cancels_the_job(trials: Trials, lab: Lab, when: When) -> None:
    """A task that Airflow ends cancels its job."""
    when(lambda: has_begun(lab), lambda: os.kill(os.getpid(), signal.SIGTERM))
    done = trials.train(f"bash_command='echo begun; sleep 100', {SLURM}")
    assert done.state == "failed"
    until(lambda: jobs(lab)[0]["step"] == "ended", "the job to end", 60.0)
    assert jobs(lab)[0]["exit_status"] == 143


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["", ", deferrable=True"])
@pytest.mark.parametrize("victim", ["guardian", "follower"])
def test_killed_follower(trials: Trials, lab: Lab, when: When, how: str, victim: str) -> None:
    """The same attempt follows the job on when guardian or follower are killed."""

    def kill() -> None:
        pid = lab.record().spec.supervisor_pid if victim == "guardian" else lab.record().leader_pid
        assert pid
        os.kill(pid, signal.SIGKILL)

    when(lambda: has_begun(lab) and (not how or is_deferred(lab)), kill)
    done = trials.train(f"bash_command='echo begun; sleep 6; echo end', {SLURM}{how}")
    assert (done.state, done.returned) == ("success", "end")
    assert [job["step"] for job in jobs(lab)] == ["ended"]
    assert len(lab.records()) == 2


_DAG = """
import datetime
import sys
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator
with DAG("slurm_death", schedule=None) as dag:
    GPUAlertOperator(task_id="train", bash_command="echo begun; sleep 6; echo end", retries=3,
        scheduler="slurm", grace=1, adopt_within=60, retry_delay=datetime.timedelta(0))
if __name__ == "__main__":
    date = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    run = dag.test(logical_date=date, run_after=date)
    print("RETURNED", run.get_task_instance("train").xcom_pull(task_ids="train"))
"""


@pytest.mark.e2e
def test_death_of_the_worker(lab: Lab, database: None) -> None:
    """The job goes on when all processes of the worker die; the task then has its result."""
    script = Path(os.environ["AIRFLOW_HOME"]) / "dags" / "slurm_death.py"
    script.write_text(_DAG)
    try:
        with subprocess.Popen([sys.executable, script], stdout=subprocess.DEVNULL) as worker:
            until(lambda: has_begun(lab), "the job to begin", 180.0)
            for pid in (worker.pid, lab.record().spec.supervisor_pid, lab.record().leader_pid):
                assert pid
                os.kill(pid, signal.SIGKILL)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    finally:
        script.unlink()
    assert "RETURNED end\n" in done.stdout
    assert [job["step"] for job in jobs(lab)] == ["ended"]
