"""A stop of a job of Slurm is not lost, with stand-ins for Slurm's commands."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from gpualert_common.slurm.submissions.batch_job import BatchJobProgram
from gpualert_common.slurm.submissions.job_follower import JobEnd, JobFollower
from gpualert_common.slurm.submissions.submission import (
    Submission,
    SubmissionRequest,
    SubmissionStep,
    SubmittedJob,
)
from tests.slurm.conftest import Install

MARK = "gpualert:20261128-101112-123456-abcd"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def cancelled(tmp_path: Path, install: Install) -> Path:
    """A file that is there once job 7, which runs until then, was cancelled.

    A signal for it is refused.
    """
    file = tmp_path / "cancelled"
    install("scancel", script=f'case "$*" in *signal*) echo refused >&2; exit 1;; esac; >{file}')
    state = f"$([ -e {file} ] && echo CANCELLED || echo RUNNING)"
    fields = "BatchHost=node1\\nStdErr=/dev/null\\nStdOut=/dev/null\\n"
    install("scontrol", script=f'printf "JobId=7 JobName=a\\nJobState={state}\\n{fields}"')
    install("squeue", f"7|{MARK}\n")
    return file


@pytest.fixture
def _handlers() -> Iterator[None]:
    """Restore the handlers that the program sets."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_refused_signal_is_followed_by_the_cancellation(cancelled: Path) -> None:
    """A job that cannot get SIGTERM, as one that was requeued meanwhile, is cancelled all the
    same."""
    notes: list[str] = []
    follower = JobFollower(
        SubmittedJob(SubmissionStep.SUBMITTED, job_id="7"),
        grace_s=0.1,
        interval_s=1.0,
        stops=lambda: int(any("RUNNING" in note for note in notes)),
        note=notes.append,
    )
    assert follower.follow() == JobEnd("CANCELLED", 143)
    assert any("refused" in note for note in notes)
    assert cancelled.exists()


@pytest.mark.usefixtures("_handlers")
def test_stop_while_a_dead_follower_submits(cancelled: Path, tmp_path: Path) -> None:
    """A stop that comes while the sbatch of a dead follower lives cancels the job of that."""
    request = SubmissionRequest(MARK, ("train.sh",))
    before = Submission.create(iter([str(tmp_path / "state")]), "mark", request, None)
    before.store(SubmittedJob(SubmissionStep.SUBMITTING, since=1.0))
    assert before.try_lock()
    program = BatchJobProgram(Submission.open(before.path))
    program._count_stop(signal.SIGTERM, None)
    Timer(0.3, before.close).start()
    assert program.run() == 143
    assert cancelled.exists()


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize(
    ("step", "job_id"), [(SubmissionStep.SUBMITTED, "7"), (SubmissionStep.SUBMITTING, "")]
)
def test_disk_that_takes_no_state(
    tmp_path: Path, install: Install, step: SubmissionStep, job_id: str
) -> None:
    """A new follower whose disk is full follows a job that was submitted, to its own status."""
    fields = "ExitCode=5:0\\nBatchHost=node1\\nStdErr=/dev/null\\nStdOut=/dev/null\\n"
    install("scontrol", script=f'printf "JobId=7 JobName=a\\nJobState=FAILED\\n{fields}"')
    install("squeue", f"7|{MARK}\n")
    request = SubmissionRequest(MARK, ("train.sh",))
    submission = Submission.create(iter([str(tmp_path / "state")]), "mark", request, None)
    submission.store(SubmittedJob(step, since=1.0, job_id=job_id))
    Path(submission.path, f".job.json.{os.getpid()}").mkdir()  # no file of that name can be written
    with pytest.raises(OSError, match="directory"):
        submission.store(submission.job)
    assert BatchJobProgram(submission).run() == 5
    submission.close()
