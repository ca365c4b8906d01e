"""Tests of the job directory in ``gpualert doctor`` and ``gpualert prune --jobs``."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from gpualert_common.job_store import open_store
from gpualert_common.jobs.job_directory import AlertClaim, JobDirectory, ReferenceClock
from gpualert_common.structs import replace
from tests.jobs.composed_job import compose
from tests.supervised import Lab


@pytest.fixture
def jobs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The job directory of the lab."""
    monkeypatch.setenv("GPUALERT_JOB_DIR", str(lab.home / "jobs"))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    return lab.home / "jobs"


def test_doctor(lab: Lab, jobs: Path) -> None:
    """``doctor`` tries the job directory, leaves nothing in it, and names the job."""
    found = lab.json("doctor", "--json")["jobs"]
    assert found["why"] == ""
    assert found["job"]["key"] == "slurm-17"
    assert found["seconds"]["create again"] >= 0
    assert abs(found["clock_offset_s"]) <= found["clock_error_s"]
    assert os.listdir(jobs) == []
    lines = lab.gpualert("doctor").stdout.decode().splitlines()
    assert f"job directory: {jobs}: works" in lines
    assert lines[-1] == "job of a run that starts here: 17 (by slurm, folder slurm-17, node 0 of 1)"


def test_doctor_without_one(lab: Lab) -> None:
    """Without a job directory ``doctor`` says nothing about it."""
    assert b"job" not in lab.gpualert("doctor").stdout.splitlines()[-1]


def test_doctor_with_a_wrong_one(lab: Lab, jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job directory that does not work, and a wrong setting, are named with the reason."""
    jobs.touch()
    lines = lab.gpualert("doctor").stdout.decode().splitlines()
    at = lines.index(f"job directory: {jobs}: no")
    assert lines[at + 1].strip().startswith(f"why: {jobs}: cannot write ")
    monkeypatch.setenv("GPUALERT_JOB_DIR", "ftp://host")
    lines = lab.gpualert("doctor").stdout.decode().splitlines()
    at = lines.index("job directory: not known")
    assert "ftp:// is not supported" in lines[at + 1]


def test_prune_jobs(lab: Lab, jobs: Path) -> None:
    """``prune --jobs`` removes old jobs after an agreement, and nothing else."""
    store = open_store(str(jobs))
    old = JobDirectory(store, "old")
    old.write_digest(replace(compose(0), job="old"))
    old.write_reference(ReferenceClock(run_id="run-0", at=1.0))
    old.create_claim("1-1", AlertClaim(run_id="run-0", claimed_by="gpu0", at=1.0))
    for path in ("new/digests/1.json", "mine/results/1.json"):
        store.write(path, b"12345")
    past = time.time() - 40 * 86400
    for file in jobs.rglob("*.json"):
        if "new" not in file.parts:
            os.utime(file, (past, past))
    command = ("prune", "--jobs", "--older-than", "30d")
    shown = lab.gpualert(*command)
    assert f"to remove from {jobs}: 1 job, ".encode() in shown.stdout
    assert b"nothing is removed" in shown.stderr
    assert sorted(os.listdir(jobs)) == ["mine", "new", "old"]
    assert lab.gpualert(*command, "--yes", "--name", "other*").returncode == 0
    refused = lab.gpualert(*command, "--yes", "--keep-failed")
    assert refused.returncode == 2
    assert b"cannot be used with --jobs" in refused.stderr
    done = lab.gpualert(*command, "--yes", "--json")
    assert json.loads(done.stdout)["removed"] == ["old"]
    assert sorted(os.listdir(jobs)) == ["mine", "new"]


def test_prune_without_a_directory(lab: Lab) -> None:
    """Without a job directory ``prune --jobs`` is an error that names the option."""
    done = lab.gpualert("prune", "--jobs", "--older-than", "30d")
    assert done.returncode == 2
    assert b"name it by --job-dir" in done.stderr
    place = str(lab.home / "nowhere")
    done = lab.gpualert("prune", "--jobs", "--older-than", "30d", "--job-dir", place)
    assert done.returncode == 2
    assert f"{place}: cannot list it: ".encode() in done.stderr
    done = lab.gpualert("prune", "--older-than", "30d", "--job-dir", place)
    assert b"--job-dir goes with --jobs" in done.stderr
