"""Real jobs of a real Slurm that take minutes: time limits, and a lost machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.batch import TRAIN, Batch
from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster, slurm_cluster, wait_until

pytestmark = pytest.mark.nightly

HANG = TRAIN.replace("time.sleep(0.2)", "time.sleep(0.2 if step < 30 else 9999)")


@pytest.fixture
def own() -> Iterator[Batch]:
    """A folder on a cluster that is only for one test."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as home:
        Path(home).chmod(0o755)
        with slurm_cluster(Path(home) / "cluster") as cluster:
            folder = cluster.home / "jobs" / "test"
            folder.mkdir(mode=0o755)
            yield Batch(cluster, folder)


def test_a_hang_until_the_time_limit(own: Batch) -> None:
    """The hang is the cause, and the time limit its consequence."""
    job = own.submit("exec " + own.run(*own.program(HANG)), "--time=3")
    own.wait_for_output("step 30/")
    own.cluster.wait_for(job, "TIMEOUT", timeout_s=260)
    (record,) = own.records()
    if not (record / "verdict.json").exists():
        own.recover(record)
    verdict = own.verdict(timeout_s=90)
    assert (verdict["cause"], verdict["disposition"]) == ("idle_hang", "timeout")


def test_a_followed_job_is_near_its_limit(scene: BatchScene) -> None:
    """A job that is only followed is warned of before its limit, by the pace in its output."""
    training = scene.home / "work" / "train.py"
    training.write_text(TRAIN)
    done = scene.run(
        *("sbatch", "--poll=1s", "--warn", "--notify=mailbox", "--time=1"),
        scene.script(f"exec python3 {training}"),
        timeout_s=200.0,
    )
    assert done.returncode == 124
    [run] = scene.runs()
    verdict = json.loads((Path(str(run["path"])) / "verdict.json").read_text())
    assert verdict["cause"] == "time_limit"
    [warning] = [one for one in verdict["warnings"] if one["kind"] == "early_time_limit_near"]
    assert warning["text"].endswith("time_limit followed")
    mailbox = scene.home / "state" / "gpualert" / "mailbox" / "new"
    texts = [" ".join(message.read_text().split()) for message in mailbox.iterdir()]
    [text] = [text for text in texts if "early_time_limit_near" in text.partition("Date:")[2][:200]]
    assert "s per step it needs" in text
    assert "no checkpoint of it was seen" in text


def test_a_lost_machine(own: Batch) -> None:
    """The verdict of a good node names the lost one; the record of the lost one is finished only
    when nothing of it can go on."""
    cluster: SlurmCluster = own.cluster
    script = "srun --nodes=2 " + own.run(*own.program(TRAIN))
    job = own.submit(script, "--nodes=2", "--no-requeue")
    own.wait_for_output("step 3/")
    wait_until(lambda: len(own.records()) == 2, "there is only one run", 20)
    cluster.machines["node2"].end()
    cluster.wait_for(job, "NODE_FAIL", timeout_s=90)
    lost = next(
        one for one in own.records() if '"host": "node2"' in (one / "spec.json").read_text()
    )
    good = next(one for one in own.records() if one != lost)
    own.age(lost, 120)
    assert "elsewhere" in own.recover(lost)
    own.age(lost, 700)
    assert "recovered" in own.recover(lost)
    found = own.verdict(lost)
    assert (found["cause"], found["details"]["node"]) == ("node_failure", "node2")
    assert own.verdict(good)["cause"] == "node_failure"
