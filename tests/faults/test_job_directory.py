"""A job directory on a disk that is full, read-only or frozen: only the digests suffer."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.jobs.digests.digest import DigestState
from gpualert_common.jobs.renewal.renewal_state import LOST, REACHED
from tests.faults.conftest import freeze, thaw
from tests.faults.test_full_disk import fill
from tests.jobs.test_digests_of_runs import JobOfOneNode
from tests.supervised import Lab, until

pytestmark = pytest.mark.e2e

STATUS_WITHIN_S = 20.0
"""Far less than a store that hangs would take."""


def end_in_time(job: JobOfOneNode) -> None:
    """Let the command end, and see that status and log are its own."""
    began = time.monotonic()
    assert job.let_end() == 3
    assert time.monotonic() - began < STATUS_WITHIN_S
    assert job.run.log().endswith(b"Tried to allocate 91.60 GiB.\n")


def count_events(job: JobOfOneNode, name: str) -> int:
    """Return how often an event was noted."""
    return sum(event.name == name for event in job.record.events())


def test_full_job_directory(lab: Lab, small_disk: Path) -> None:
    """A full disk is noted once, and the last digest is published once there is space again."""
    job = JobOfOneNode(lab, place=str(small_disk / "jobs"))
    job.await_digest(lambda one: one.progress is not None, "a digest")
    fill(small_disk)
    job.run.wait_for_event(LOST)
    end_in_time(job)
    (small_disk / "filler").unlink()
    final = job.await_final()
    assert final.verdict is not None
    until(lambda: count_events(job, REACHED) == 1, "the note that it is reached again")
    assert count_events(job, LOST) == 1


def test_read_only_job_directory(lab: Lab, small_disk: Path) -> None:
    """A disk that becomes read-only is noted, and the last digest is published later."""
    job = JobOfOneNode(lab, place=str(small_disk / "jobs"))
    job.await_digest(lambda one: one.progress is not None, "a digest")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    job.run.wait_for_event(LOST)
    end_in_time(job)
    last = job.read()
    assert last is not None
    assert last.state is DigestState.RUNNING
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert job.await_final().verdict is not None


def test_frozen_job_directory(lab: Lab, real_disk: Path) -> None:
    """A disk on which every write waits delays neither the status nor the verdict, and the last
    digest is there after the thaw."""
    job = JobOfOneNode(lab, place=str(real_disk / "jobs"))
    began = job.await_digest(lambda one: one.progress is not None, "a digest")
    freeze(real_disk)
    end_in_time(job)
    assert (Path(job.record.path) / "verdict.json").exists()
    last = job.read()
    assert last is not None
    assert last.sequence >= began.sequence
    thaw(real_disk)
    assert job.await_final().verdict is not None
    until(lab.is_empty, "the end of the sender")
