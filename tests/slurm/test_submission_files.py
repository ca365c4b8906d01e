"""The files of a submission decide what a follower may do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpualert_common.errors import NoDurableLogError, RecordError
from gpualert_common.processes.host import host_name
from gpualert_common.slurm.submissions.follower_command import make_command, submission_path
from gpualert_common.slurm.submissions.submission import (
    Submission,
    SubmissionRequest,
    SubmissionStep,
    SubmittedJob,
    find_followed_job,
    find_submission,
    list_unfollowed,
)

REQUEST = SubmissionRequest("gpualert:mark", ("-p", "gpu", "train.sh"), has_script=True)


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """A new submission in a state directory."""
    return Submission.create(iter([str(tmp_path / "state")]), "mark", REQUEST, b"#!/bin/sh\n\xff")


def test_request_and_script_are_kept(submission: Submission) -> None:
    """Another process reads what was requested; only the user may read the script."""
    other = Submission.open(submission.path)
    assert other.request == REQUEST
    assert other.job.step is SubmissionStep.PREPARED
    assert Path(other.script_path).read_bytes() == b"#!/bin/sh\n\xff"
    assert os.stat(other.script_path).st_mode & 0o777 == 0o600
    other.close()
    submission.close()


def test_no_place(tmp_path: Path) -> None:
    """Without a place for the request nothing is submitted."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NoDurableLogError, match="file"):
        Submission.create(iter([str(file / "state")]), "mark", REQUEST, None)


DAMAGE = ['{"schema": 1, "step": "nonsense"}', '{"schema": 1, "step": 7, "job_id": []}', "{}"]


@pytest.mark.parametrize("text", DAMAGE)
def test_damaged_step_is_no_new_submission(submission: Submission, text: str) -> None:
    """A job whose state cannot be read may exist, so it is looked for."""
    Path(submission.path, "job.json").write_text(text)
    try:
        assert submission.job.step is SubmissionStep.SUBMITTING
    except RecordError:
        pass  # the follower exits with this error
    submission.close()


@pytest.mark.parametrize("text", ["", "{", "[]", "\0", '{"schema": 99}'])
def test_unreadable_state_is_an_error(submission: Submission, text: str) -> None:
    """A file that is no object, or of a newer release, is an error."""
    Path(submission.path, "job.json").write_text(text)
    with pytest.raises(RecordError):
        _ = submission.job
    assert list_unfollowed(_place(submission)) == []
    submission.close()


def test_one_follower_at_a_time(submission: Submission) -> None:
    """A second follower gets the lock once the first one, and its sbatch, are gone."""
    other = Submission.open(submission.path)
    assert submission.try_lock()
    assert not other.try_lock()
    inherited = os.dup(submission.lock_fd)  # as sbatch has it
    submission.close()
    assert not other.try_lock()
    os.close(inherited)
    assert other.try_lock()
    other.close()


STEPS = {step: step in ("submitting", "submitted") for step in SubmissionStep}


@pytest.mark.parametrize("step", STEPS)
def test_submissions_without_a_follower(submission: Submission, step: SubmissionStep) -> None:
    """Only a job that may go on needs a new follower, and only on the host of the last one."""
    submission.store(SubmittedJob(step, host=host_name()))
    place = _place(submission)
    assert bool(list_unfollowed(place)) is STEPS[step]
    submission.store(SubmittedJob(step, host="elsewhere"))
    assert list_unfollowed(place) == []
    submission.store(SubmittedJob(step, host=host_name()))
    submission.try_lock()
    assert list_unfollowed(place) == []
    submission.close()


def test_command_names_its_submission(submission: Submission) -> None:
    """The submission, and then its job, are found by the command of the run."""
    command = make_command(submission.path, ("sbatch", "train.sh"))
    assert submission_path(command) == submission.path
    assert submission_path(["sbatch", "train.sh"]) is None
    assert find_submission(["python", "train.py"]) is None
    assert find_followed_job(command) is None
    submission.store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5", cluster="lab"))
    assert find_followed_job(command) == {"job": "5", "cluster": "lab"}
    submission.close()


def test_state_is_replaced_as_a_whole(submission: Submission) -> None:
    """The state is one object of JSON with its schema."""
    submission.store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5"))
    fields = json.loads(Path(submission.path, "job.json").read_text())
    assert (fields["schema"], fields["step"], fields["job_id"]) == (1, "submitted", "5")
    submission.close()


def _place(submission: Submission) -> str:
    return os.path.dirname(os.path.dirname(submission.path))
