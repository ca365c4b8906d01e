"""Deaths of workers at random moments: the job of a task is submitted once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm.engine_deaths import kill_at_random
from tests.slurm_cluster import SlurmCluster

DEATHS = 40
_DAG = """
import datetime
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator
with DAG("slurm_deaths", schedule=None) as dag:
    GPUAlertOperator(task_id="train", bash_command="sleep 1; echo end", retries=9, notify="none",
        scheduler="slurm", grace=1, adopt_within=60, retry_delay=datetime.timedelta(0))
if __name__ == "__main__":
    date = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    run = dag.test(logical_date=date, run_after=date)
    print("RETURNED", run.get_task_instance("train").xcom_pull(task_ids="train"))
"""
_END_S = 180.0


@pytest.mark.nightly
def test_one_job_in_deaths(slurm: SlurmCluster, tmp_path: Path, database: None) -> None:
    """After the deaths of its workers each task has one job, and the result of that."""
    tmp_path.chmod(0o755)
    before = Path(os.environ["AIRFLOW_HOME"])

    def make_scene(index: int) -> BatchScene:
        scene = BatchScene(slurm, tmp_path / str(index))
        home = scene.home / "airflow"
        shutil.copytree(before, home)
        (home / "dags" / "deaths.py").write_text(_DAG)
        scene.environment |= {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        }
        return scene

    def start(scene: BatchScene, number: int) -> subprocess.Popen[str]:
        out = (scene.home / f"attempt-{number}.log").open("w")
        with out:
            return subprocess.Popen(
                (sys.executable, str(scene.home / "airflow" / "dags" / "deaths.py")),
                env=scene.environment,
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
