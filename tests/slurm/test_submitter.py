"""A job is submitted at most once, whatever sbatch answers, with stand-ins for Slurm's commands."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.submissions import submitter
from gpualert_common.slurm.submissions.submission import (
    Submission,
    SubmissionRequest,
    SubmissionStep,
    SubmittedJob,
)
from tests.slurm.conftest import Install

MARK = "gpualert:20261128-101112-123456-abcd"


@pytest.fixture
def submission(tmp_path: Path, install: Install) -> Iterator[Submission]:
    """A submission whose job neither controller nor accounting has."""
    install("squeue", script="true")
    install("sacct", script="true")
    request = SubmissionRequest(MARK, ("train.sh",))
    one = Submission.create(iter([str(tmp_path / "state")]), "mark", request, None)
    one.try_lock()
    yield one
    one.close()


def _make_submitter(submission: Submission) -> submitter.JobSubmitter:
    return submitter.JobSubmitter(submission, lambda _seconds: None, lambda _text: None)


@pytest.mark.parametrize("status", [1, 255])
def test_refusal_is_final(submission: Submission, install: Install, status: int) -> None:
    """sbatch is started once for an option that it does not know, which exits with 255."""
    calls = Path(submission.path, "calls")
    install("sbatch", script=f"echo x >> {calls}; echo 'unknown option' >&2; exit {status}")
    with pytest.raises(SlurmError, match="unknown option") as raised:
        _make_submitter(submission).submit()
    assert not raised.value.is_late
    assert submission.job.step is SubmissionStep.REFUSED
    assert calls.read_text() == "x\n"


@pytest.mark.parametrize("age_s", [60.0, 3600.0])
def test_given_up_submission_is_not_repeated(
    submission: Submission, install: Install, age_s: float
) -> None:
    """A follower submits again only within the time of the submission, and searches later."""
    install("sbatch", "7\n")
    since = time.time() - age_s
    submission.store(SubmittedJob(SubmissionStep.SUBMITTING, since=since))
    if age_s < submission.request.submit_within_s:
        assert _make_submitter(submission).submit().job_id == "7"
        return
    with pytest.raises(SlurmError, match="not submitted any more"):
        _make_submitter(submission).submit()
    assert submission.job.step is SubmissionStep.REFUSED


def test_submission_with_an_unknown_result_is_not_repeated(
    submission: Submission, install: Install
) -> None:
    """Once its error is reported, a submission that may have a job is only looked for, since its
    user may submit the job anew."""
    install("sbatch", script="echo 'Message receive failure' >&2; exit 1")
    install("squeue", script="echo 'Access denied' >&2; exit 1")
    with pytest.raises(SlurmError, match="Access denied"):
        _make_submitter(submission).submit()
    assert submission.job.step is SubmissionStep.SUBMITTING
    install("sbatch", "8\n")
    install("squeue", script="true")
    with pytest.raises(SlurmError, match="not submitted any more"):
        _make_submitter(submission).submit()


@pytest.mark.parametrize(
    "message",
    [
        "error: Unable to open file a.sh",
        "error: Batch script is empty!",
        (
            "error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
            "sbatch: fatal: Could not establish a configuration source"
        ),
    ],
)
def test_script_that_sbatch_refuses_is_not_looked_for(
    submission: Submission, install: Install, message: str
) -> None:
    """A mistake in the command, and a machine without a cluster, are errors at once: there can be
    no job."""
    install("sbatch", script=f"echo 'sbatch: {message}' >&2; exit 1")
    install("squeue", script=f"touch {submission.path}/asked")
    with pytest.raises(SlurmError, match=message.splitlines()[-1].strip("!")):
        _make_submitter(submission).submit()
    assert not Path(submission.path, "asked").exists()


def test_late_search_finds_the_job(submission: Submission, install: Install) -> None:
    """A job that was submitted is followed also when the time of the submission is over."""
    install("sbatch", "8\n")
    install("squeue", f"7|{MARK}\n")
    submission.store(SubmittedJob(SubmissionStep.SUBMITTING, since=time.time() - 3600))
    assert _make_submitter(submission).submit().job_id == "7"


def test_sbatch_does_not_wait(
    submission: Submission, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of the user does not make sbatch wait for the end of the job."""
    monkeypatch.setenv("SBATCH_WAIT", "1")
    monkeypatch.setenv("SBATCH_PARTITION", "gpu")
    install("sbatch", script='[ "$SBATCH_PARTITION" = gpu ] && [ -z "${SBATCH_WAIT+x}" ] && echo 7')
    assert _make_submitter(submission).submit().job_id == "7"


def test_one_problem_is_noted_once(submission: Submission, install: Install) -> None:
    """A controller that does not answer for minutes gives one line, not one for each try."""
    install("sbatch", "7\n")
    unreachable = "echo 'Unable to contact slurm controller' >&2; exit 1"
    count = f"echo x >>{submission.path}/asked"
    gate = f'[ "$(wc -l <{submission.path}/asked)" -gt 5 ] || {{ {unreachable}; }}'
    install("squeue", script=f"{count}; {gate}")
    submission.store(SubmittedJob(SubmissionStep.SUBMITTING, since=time.time()))
    notes: list[str] = []
    found = submitter.JobSubmitter(submission, lambda _seconds: None, notes.append).submit()
    assert found.job_id == "7"
    assert len(notes) == 1
    assert notes[0].endswith("; trying again")
