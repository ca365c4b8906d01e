"""The submission that an attempt at a task follows, by what the attempts before it left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.api import make_spec
from gpualert_common.errors import ConfigError, GuardianError, RecordError, UsageError
from gpualert_common.guardian.engine_jobs import EngineJob, list_identity, make_engine_job
from gpualert_common.guardian.job_cancellation import cancel_left_job, is_job_left
from gpualert_common.processes.host import host_name
from gpualert_common.record import Record, describe
from gpualert_common.settings import load_settings
from gpualert_common.slurm.submissions.follower_command import CANCEL_S, submission_path
from gpualert_common.slurm.submissions.submission import (
    Submission,
    SubmissionStep,
    SubmittedJob,
    list_unfollowed,
)
from gpualert_common.spec import Ending, RunSpec
from tests.supervised import Lab, until

Install = Callable[..., None]
KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _sbatch(lab: Lab, install: Install) -> None:
    """An sbatch in PATH; no test here calls it."""
    install("sbatch", script="exit 1")


def job_of(fingerprint: str = "same", **given: object) -> EngineJob:
    """Return the job of an attempt."""
    settings = load_settings({"scheduler": "slurm", **given}, given_as="argument")
    spec = make_spec(["bash", "-c", "echo 'a b'; exit 3"], settings, cwd=None, name="dag.train")
    job = make_engine_job(spec, settings, fingerprint)
    assert job is not None
    return job


def record_of(lab: Lab, spec: RunSpec, name: str = "20260101-1") -> Record:
    """Return the record of an earlier run."""
    (lab.state / "runs").mkdir(parents=True, exist_ok=True)
    record = Record.create(str(lab.state / "runs" / name), sync=False)
    record.write_json("spec.json", describe(spec, record))
    return record


def submission_of(spec: RunSpec) -> Submission:
    """Return the submission that a run follows."""
    path = submission_path(spec.command)
    assert path is not None
    return Submission.open(path)


def ignore() -> None:
    """Have nothing to check."""


# -- a new job -----------------------------------------------------------------------------


def test_command_is_the_script(lab: Lab) -> None:
    """The script runs the command with its quotes, and the author's options come last."""
    job = job_of(sbatch_args="--gres=gpu:8 --comment='my own'", grace=5)
    assert job.script == b"#!/bin/sh\nexec bash -c 'echo '\"'\"'a b'\"'\"'; exit 3'\n"
    assert job.arguments[-2:] == ("--gres=gpu:8", "--comment=my own")
    assert job.arguments[:2] == ("--export=ALL", "--job-name=dag.train")
    spec = job.prepare(KEY, (), ignore)
    submission = submission_of(spec)
    request = submission.request
    assert (request.arguments, request.grace_s, request.fingerprint) == (job.arguments, 5.0, "same")
    assert Path(submission.script_path).read_bytes() == job.script
    assert (spec.grace_s, spec.observe, spec.logs) == (
        5.0 + CANCEL_S,
        False,
        ("stdout.log", "stderr.log"),
    )
    assert spec.cwd == os.path.join(submission.path, "work")
    assert os.path.isdir(spec.cwd)


def test_only_the_task_s_variables_are_exported(lab: Lab) -> None:
    """The job has no variable of the worker if the author names its whole environment."""
    settings = load_settings({"scheduler": "slurm"}, given_as="argument")
    env = {"SEED": "1", "LD": "x", "BASH_FUNC_f%%": "() { :; }"}
    spec = make_spec(["true"], settings, cwd="/", name=None, env=env)
    job = make_engine_job(spec, settings, "")
    assert job is not None
    assert job.arguments == ("--export=LD,SEED",)
    assert job.spec.env is not None
    assert job.spec.env["PATH"] == os.environ["PATH"]
    assert spec.env == env


def test_text_of_the_author_has_no_directives(lab: Lab) -> None:
    """A script of bash begins with a command, behind which Slurm reads no directive."""
    settings = load_settings({"scheduler": "slurm"}, given_as="argument")
    spec = make_spec(["true"], settings, cwd=None, name=None)
    job = make_engine_job(spec, settings, "", "#SBATCH --wrap=no\necho")
    assert job is not None
    assert job.script == b"#!/bin/bash\n:\n#SBATCH --wrap=no\necho\n"


def test_local_is_no_job(lab: Lab) -> None:
    """By default there is no job, and the identity of a command stays."""
    settings = load_settings()
    spec = make_spec(["true"], settings, cwd=None, name=None)
    assert make_engine_job(spec, settings, "") is None
    assert list_identity(["true"], settings) == ["true"]
    slurm = load_settings({"scheduler": "slurm", "sbatch_args": ["-n2"]})
    assert list_identity(["true"], slurm) != list_identity(["true"], settings)


@pytest.mark.parametrize(
    "given",
    [
        {"sbatch_args": ["train.sh"]},
        {"sbatch_args": ["--wrap=true"]},
        {"sbatch_args": ["--wait"]},
        {"sbatch_args": ["--test-only"]},
        {"hang_timeout": 60},
        {"on_hang": "stop"},
    ],
)
def test_refused_options(lab: Lab, given: dict[str, Any]) -> None:
    """Options that leave no job to follow, and those about processes, are errors."""
    with pytest.raises(UsageError):
        job_of(**given)


@pytest.mark.parametrize("value", [["a", 1], 7, "'open", ["\0"]])
def test_invalid_arguments(lab: Lab, value: object) -> None:
    """A value that is no list of arguments is an error before anything is submitted."""
    with pytest.raises(ConfigError):
        job_of(sbatch_args=value)


def test_no_sbatch(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sbatch nothing is launched."""
    monkeypatch.setenv("PATH", str(lab.home / "none"))
    with pytest.raises(UsageError, match="no sbatch"):
        job_of()


# -- after an earlier attempt --------------------------------------------------------------

KEPT = {
    step: step in (SubmissionStep.PREPARED, SubmissionStep.SUBMITTING, SubmissionStep.SUBMITTED)
    for step in SubmissionStep
}


@pytest.mark.parametrize("step", KEPT)
def test_submission_is_passed_on(lab: Lab, step: SubmissionStep) -> None:
    """A submission that may have a job is followed on; after its end a new one is made."""
    first = job_of().prepare(KEY, (), ignore)
    record = record_of(lab, first)
    submission_of(first).store(SubmittedJob(step, job_id="5"))
    second = job_of().prepare(KEY, [record.path], ignore)
    assert (submission_path(second.command) == submission_path(first.command)) is KEPT[step]


def test_death_before_the_first_state(lab: Lab) -> None:
    """A submission without a state, whose follower died before its first step, is passed on."""
    first = job_of().prepare(KEY, (), ignore)
    second = job_of().prepare(KEY, [record_of(lab, first).path], ignore)
    assert second.command == first.command


def test_another_command_is_not_followed(lab: Lab) -> None:
    """A submission that never began is closed, so that no late follower submits it."""
    first = job_of("other").prepare(KEY, (), ignore)
    second = job_of().prepare(KEY, [record_of(lab, first).path], ignore)
    assert second.command != first.command
    assert submission_of(first).job.step is SubmissionStep.REFUSED


@pytest.mark.parametrize("is_last_run", [True, False])
def test_removed_record(lab: Lab, is_last_run: bool) -> None:
    """The job of a task is found without its records, and also by an attempt after one that died.

    The guardian of the latter removes its record, which the key names from then on.
    """
    first = job_of().prepare(KEY, (), ignore)
    record = record_of(lab, first)
    submission_of(first).store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5", run_id="1"))
    shutil.rmtree(record.path)
    path = record.path if is_last_run else str(lab.state / "runs" / "20260101-2")
    assert job_of().prepare(KEY, [path], ignore).command == first.command


def test_other_task(lab: Lab) -> None:
    """The job of another task is left alone."""
    first = job_of().prepare(KEY, (), ignore)
    submission_of(first).store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5"))
    other = job_of().prepare(KEY[::-1], (), ignore)
    assert other.command != first.command
    assert not submission_of(first).job.is_stopped


def test_interrupted_creation(lab: Lab) -> None:
    """A submission whose creation was interrupted has no job, and hinders nothing."""
    first = job_of().prepare(KEY, (), ignore)
    Path(submission_of(first).path, "request.json").unlink()
    second = job_of().prepare(KEY, (), ignore)
    assert second.command != first.command


def test_run_without_a_job(lab: Lab) -> None:
    """After a run on the worker itself, and one that was never launched, a new job is made."""
    local = record_of(lab, RunSpec(["true"], cwd="/"))
    empty = Record.create(str(lab.state / "runs" / "20260101-3"), sync=False)
    assert submission_path(job_of().prepare(KEY, [local.path, empty.path], ignore).command)


def test_state_directory_elsewhere(lab: Lab, tmp_path: Path) -> None:
    """Nothing is submitted beside a run that is not seen from here."""
    with pytest.raises(GuardianError, match="nothing was submitted"):
        job_of().prepare(KEY, [str(tmp_path / "elsewhere" / "runs" / "1")], ignore)
    assert not (lab.state / "submissions").exists()


def test_damaged_submission(lab: Lab) -> None:
    """A job whose state cannot be read may go on: nothing is submitted."""
    first = job_of().prepare(KEY, (), ignore)
    record = record_of(lab, first)
    Path(submission_of(first).path, "job.json").write_text("{")
    with pytest.raises(RecordError):
        job_of().prepare(KEY, [record.path], ignore)
    assert len(list((lab.state / "submissions").iterdir())) == 1


def test_other_commands_leave_it_alone(lab: Lab) -> None:
    """No command starts a follower for the job of an engine's task."""
    submission = submission_of(job_of().prepare(KEY, (), ignore))
    submission.store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5", host=host_name()))
    assert list_unfollowed(str(lab.state)) == []


# -- after the death of a follower ---------------------------------------------------------


def ended(code: int | None, signal: int | None = None) -> dict[str, object]:
    """Return an exit record."""
    ending = Ending(1.0, 2.0)
    ending.code, ending.signal = code, signal
    return ending.to_json()


@pytest.mark.parametrize(
    ("exit_record", "step", "is_left"),
    [
        (None, SubmissionStep.SUBMITTED, False),
        (ended(-9), SubmissionStep.SUBMITTED, True),
        (ended(-9), SubmissionStep.SUBMITTING, True),
        (ended(-9), SubmissionStep.ENDED, False),
        (ended(None), SubmissionStep.SUBMITTED, True),
        (ended(125), SubmissionStep.SUBMITTING, False),
        (ended(-9, 15), SubmissionStep.SUBMITTED, False),
    ],
)
def test_job_that_is_left(
    lab: Lab, exit_record: dict[str, object] | None, step: SubmissionStep, is_left: bool
) -> None:
    """A job goes on without its follower only if that was killed, and nothing was stopped."""
    spec = job_of().prepare(KEY, (), ignore)
    record = record_of(lab, spec)
    submission_of(spec).store(SubmittedJob(step, job_id="5"))
    if exit_record is not None:
        record.write_json("exit.json", exit_record)
    assert is_job_left(record) is is_left


def test_followed_job_is_not_cancelled(lab: Lab) -> None:
    """The job of a live follower is not cancelled behind its back."""
    spec = job_of().prepare(KEY, (), ignore)
    submission = submission_of(spec)
    submission.store(SubmittedJob(SubmissionStep.SUBMITTED, job_id="5"))
    assert submission.try_lock()
    cancel_left_job(record_of(lab, spec))
    assert not submission.job.is_stopped
    submission.close()


def test_sbatch_of_a_dead_follower(lab: Lab) -> None:
    """A job whose sbatch still lives is cancelled once that has ended."""
    spec = job_of().prepare(KEY, (), ignore)
    record = record_of(lab, spec)
    submission = submission_of(spec)
    submission.store(SubmittedJob(SubmissionStep.SUBMITTING, run_id=record.run_id))
    assert submission.try_lock()
    cancel_left_job(record)
    assert not submission.job.is_stopped
    submission.release()
    until(lambda: submission.job.is_stopped, "the cancellation", 20.0)
    submission.close()
