"""Real jobs of a real Slurm: every state that it ends a job in, and the verdict on the run."""

from __future__ import annotations

import json

import pytest

from tests.slurm.batch import TRAIN, Batch
from tests.slurm_cluster import OPERATOR, SlurmCluster, wait_until

pytestmark = pytest.mark.e2e

EAT = """
held = []
for number in range(100):
    held.append(bytearray(b"x") * (20 << 20))
    print(f"loaded shard {number}", flush=True)
"""


def _finish(batch: Batch) -> None:
    """Finish the only record from the head, as if its files had not changed for two minutes.

    Slurm may leave the supervisor the time for its verdict, or not.
    """
    (record,) = batch.records()
    if not (record / "exit.json").exists():
        assert "elsewhere" in batch.recover(record)
        batch.age(record, 120)
    batch.recover(record)


def test_a_run_that_completes_is_none_of_slurms(slurm: SlurmCluster, batch: Batch) -> None:
    """The verdict on a good run in a step is that of its log and its exit status."""
    job = batch.submit("srun " + batch.run(*batch.program("print('done')")))
    slurm.wait_for(job, "COMPLETED")
    assert batch.verdict()["cause"] == "none"


def test_one_task_fails_and_srun_stops_the_other(slurm: SlurmCluster, batch: Batch) -> None:
    """On two nodes: the bug is found on its node, and the other verdict doubts who stopped it."""
    program = batch.program(
        "import os, time\n"
        "if os.environ['SLURM_PROCID'] == '1':\n    raise KeyError('loss')\n"
        "time.sleep(60)\n"
    )
    job = batch.submit(f"srun --kill-on-bad-exit {batch.run(*program)}", "--nodes=2")
    slurm.wait_for(job, "FAILED")
    found = {one["host"]: one for one in map(batch.verdict, batch.records())}
    assert (found["node2"]["cause"], found["node2"]["family"]) == ("traceback", "A1")
    # Without an answer of Slurm in time, the stop by its daemon reads preempted.
    assert found["node1"]["cause"] in ("cancelled", "preempted")
    assert found["node1"]["confidence"] <= 0.6


def test_one_run_for_all_nodes(slurm: SlurmCluster, batch: Batch) -> None:
    """In front of srun there is one record, and its log has the failure of a rank on any node."""
    program = batch.program(
        "import os, socket\n"
        "print('rank', os.environ['SLURM_PROCID'], socket.gethostname(), flush=True)\n"
        "if os.environ['SLURM_PROCID'] == '1':\n    raise KeyError('loss')\n"
    )
    job = batch.submit(batch.run("srun", "--nodes=2", *program), "--nodes=2")
    slurm.wait_for(job, "FAILED")
    verdict = batch.verdict()
    (record,) = batch.records()
    log = "".join(one.read_text() for one in record.glob("*.log"))
    assert "rank 0 node1" in log
    assert "rank 1 node2" in log
    assert verdict["cause"] == "traceback"
    assert verdict["details"]["exception"] == "KeyError"


def test_a_step_runs_out_of_memory(slurm: SlurmCluster, batch: Batch) -> None:
    """The state of the step decides, while the job itself is FAILED."""
    job = batch.submit(batch.run("srun", "--mem=200", *batch.program(EAT)), "--mem=400")
    slurm.wait_for(job, "FAILED", "OUT_OF_MEMORY")
    verdict = batch.verdict()
    assert verdict["cause"] == "oom_killer"
    assert verdict["confidence"] >= 0.9


def test_a_preempted_job_is_requeued(slurm: SlurmCluster, batch: Batch) -> None:
    """The record that died with its batch script is finished from the head, by the accounting.

    A supervisor that has the time concludes before Slurm has a record of the next start.
    """
    job = batch.submit(batch.run(*batch.program(TRAIN)), "--nodes=2", "--exclusive")
    batch.wait_for_output("step 3/")
    urgent = slurm.submit("true", "--partition=urgent", "--nodes=2", "--exclusive")
    slurm.wait_for(urgent, "COMPLETED")
    slurm.wait_for(job, "PENDING")
    _finish(batch)
    slurm.run("scancel", str(job))
    verdict = batch.verdict()
    assert (verdict["cause"], verdict["disposition"]) == ("preempted", "preempted")
    assert verdict["details"].get("next_state", "PENDING").startswith("PENDING")


def test_a_preempted_job_is_cancelled(slurm: SlurmCluster, batch: Batch) -> None:
    """The run is a step's task, and has the time for its verdict itself."""
    script = "srun --ntasks=1 " + batch.run(*batch.program(TRAIN))
    job = batch.submit(script, "--nodes=2", "--exclusive", "--partition=killable")
    batch.wait_for_output("step 3/")
    urgent = slurm.submit("true", "--partition=urgent", "--nodes=2", "--exclusive")
    slurm.wait_for(urgent, "COMPLETED")
    slurm.wait_for(job, "PREEMPTED")
    _finish(batch)
    verdict = batch.verdict()
    assert verdict["cause"] == "preempted"
    assert "next_state" not in verdict["details"]


def test_cancellations_name_the_person(slurm: SlurmCluster, batch: Batch) -> None:
    """A job that its owner or an operator of the cluster cancels: the verdict names them."""
    persons = ("root", OPERATOR)
    command = batch.run(*batch.program(TRAIN))
    jobs = {who: batch.submit(f"exec {command}") for who in persons}
    for job in jobs.values():
        slurm.wait_for(job, "RUNNING")
    wait_until(lambda: _count_training(batch) == len(jobs), "not all of them train", 60.0)
    for who, job in jobs.items():
        assert slurm.run("scancel", str(job), user=who).returncode == 0
    found = {}
    for record in batch.records():
        verdict = batch.verdict(record)
        assert (verdict["cause"], verdict["disposition"]) == ("cancelled", "cancelled")
        found[verdict["details"]["cancelled_by"]] = verdict["details"]["job"]
    assert found == {who: str(job) for who, job in jobs.items()}


def _count_training(batch: Batch) -> int:
    logs = (log.read_text() for record in batch.records() for log in record.glob("*.log"))
    return sum("step 3/" in log for log in logs)


def test_a_killed_step_is_recovered_with_its_status(slurm: SlurmCluster, batch: Batch) -> None:
    """A step that was killed at once leaves no exit status; its state names the user."""
    job = batch.submit("srun " + batch.run(*batch.program(TRAIN)))
    record = batch.wait_for_output("step 3/")
    slurm.run("scancel", "--signal=KILL", f"{job}.0")
    slurm.wait_for(job, "FAILED", "CANCELLED", "COMPLETED")
    _finish(batch)
    assert json.loads((record / "exit.json").read_text())["code"] is None
    assert batch.verdict()["cause"] in ("cancelled", "killed_unknown", "unknown")


def test_time_limit(slurm: SlurmCluster, batch: Batch) -> None:
    """A run that Slurm's time limit ends was warned, and is no preemption; the verdict has its
    progress."""
    go = batch.home / "go"
    wait = f"until [ -e {go} ]; do sleep 0.1; done\n"
    job = batch.submit(wait + batch.run(*batch.program(TRAIN)))
    slurm.wait_for(job, "RUNNING")
    slurm.run("scontrol", "update", f"JobId={job}", "EndTime=now+22")
    go.touch()
    slurm.wait_for(job, "TIMEOUT", timeout_s=95)  # Slurm looks each half minute
    _finish(batch)
    verdict = batch.verdict()
    assert (verdict["cause"], verdict["disposition"]) == ("time_limit", "timeout")
    assert verdict["family"] == "F3"
    assert verdict["details"]["job_limit"] == "00:01:00"
    assert "progress" in verdict["details"]
    [warning] = [one for one in verdict["warnings"] if one["kind"] == "early_time_limit_near"]
    assert warning["text"].endswith("time_limit followed")


def test_a_run_whose_job_goes_on_is_not_recovered(slurm: SlurmCluster, batch: Batch) -> None:
    """While Slurm has the job, a record on another node stays as it is, however old its files."""
    job = batch.submit(
        batch.run(*batch.program("import time\nprint('quiet', flush=True)\ntime.sleep(99)"))
    )
    record = batch.wait_for_output("quiet")
    batch.age(record, 1000)
    answer = batch.recover(record)
    slurm.run("scancel", str(job))
    assert "recovered" not in answer
    assert not (record / "verdict.json").exists()
