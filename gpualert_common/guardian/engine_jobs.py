"""Jobs of Slurm that are the runs of an engine's task: one job, whichever attempt follows it.

The run of such a task is an ordinary one whose child follows a submission.  An attempt that finds
the job of an earlier one passes its submission on, so that no attempt submits beside it.  Also a
program (:mod:`gpualert_common.processes.program`): it cancels the job of a submission.
"""

from __future__ import annotations

import copy
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NoReturn

from gpualert_common.errors import GuardianError, RecordError, UsageError
from gpualert_common.processes.program import start_program
from gpualert_common.record import Record
from gpualert_common.record_locations import list_state_dirs, new_run_id
from gpualert_common.settings import name_origin
from gpualert_common.slurm.submissions.follower_command import (
    CANCEL_S,
    make_command,
    submission_path,
)
from gpualert_common.slurm.submissions.sbatch_options import read_options
from gpualert_common.slurm.submissions.submission import (
    MARK_PREFIX,
    SUBMISSIONS,
    Submission,
    SubmissionRequest,
    SubmissionStep,
    find_submission,
)
from gpualert_common.structs import Struct, replace

if TYPE_CHECKING:
    from gpualert_common.settings import Setting
    from gpualert_common.spec import RunSpec

MOST_FOLLOWERS = 10
"""One attempt starts so many followers, each after the one before was killed."""
_WORK = "work"
"""Folder in a submission: the working directory of a job whose author names none."""
_MOST_NAME = 200
_POLL_S = 0.1
_START_S = 10.0
"""For a process to start, and to take the lock of its submission."""
_OF_PROCESSES = ("hang_timeout", "on_hang")
"""Options about processes, which are on another machine."""

Check = Callable[[], None]


class EngineJob(Struct, frozen=True):
    """The job of one attempt at a task: the run that follows it, and what it submits.

    ``spec`` has the terms of that run.  ``fingerprint`` is that of the attempt: an earlier job with
    another one is not the same.
    """

    spec: RunSpec
    arguments: tuple[str, ...]
    script: bytes
    grace_s: float
    fingerprint: str

    def prepare(self, paths: Sequence[str], check: Check) -> RunSpec:
        """Return the run to launch after the earlier runs of the task, whose records *paths* name.

        It follows the job that one of them left, else it submits a new one.  A job that must not
        go on is cancelled first.  ``check`` is called while that takes time, and may raise.
        Raises GuardianError, RecordError and NoDurableLogError; nothing was submitted then.
        """
        for path in paths:
            submission = _find_submission_of(path)
            if submission is None:
                continue
            try:
                if self._may_follow(path, submission):
                    return self._make_spec(submission)
                _end_job(submission, check)
            finally:
                submission.close()
        return self._make_spec(self._create())

    def _may_follow(self, path: str, submission: Submission) -> bool:
        """Return True if this attempt follows an earlier submission, which may have a job."""
        job = submission.job
        is_same = submission.request.fingerprint == self.fingerprint
        return is_same and not job.is_closed and not job.is_stopped and not _was_stopped(path)

    def _create(self) -> Submission:
        mark = new_run_id()
        request = SubmissionRequest(
            f"{MARK_PREFIX}{mark}",
            self.arguments,
            has_script=True,
            grace_s=self.grace_s,
            fingerprint=self.fingerprint,
        )
        places = list_state_dirs(self.spec.state_dir)
        submission = Submission.create(places, mark, request, self.script)
        submission.close()
        return submission

    def _make_spec(self, submission: Submission) -> RunSpec:
        spec = copy.copy(self.spec)
        spec.command = tuple(make_command(submission.path, ("sbatch", *self.arguments)))
        if spec.cwd is None:
            spec.cwd = os.path.join(submission.path, _WORK)
            with suppress(FileExistsError):
                os.mkdir(spec.cwd, 0o700)
        return spec


def is_engine_job(settings: Mapping[str, Setting]) -> bool:
    """Return True if the command of a task becomes a job of Slurm."""
    return bool(settings["scheduler"].value == "slurm")


def list_identity(command: Sequence[str], settings: Mapping[str, Setting]) -> list[str]:
    """Return a command with what else makes its job another one, for a fingerprint."""
    if not is_engine_job(settings):
        return list(command)
    return [*command, "slurm", *settings["sbatch_args"].value]


def make_engine_job(
    spec: RunSpec,
    settings: Mapping[str, Setting],
    fingerprint: str | None,
    script: str | None = None,
) -> EngineJob | None:
    """Return the job that runs the command of *spec*; None if that is to run on this machine.

    *script* is the text of a script of bash to run in place of the command.  Raises UsageError.
    """
    if not is_engine_job(settings):
        return None
    for name in _OF_PROCESSES:
        if settings[name].origin == "argument":
            where = name_origin(name, settings[name].origin)
            raise UsageError(f"{where}: not with scheduler=slurm: the processes are elsewhere")
    given = settings["sbatch_args"].value
    _check_arguments(given)
    job_env = os.environ if spec.env is None else spec.env
    followed = copy.copy(spec)
    followed.env = {**os.environ, **job_env}
    if shutil.which("sbatch", path=followed.env.get("PATH")) is None:
        raise UsageError("scheduler=slurm: there is no sbatch in PATH: is Slurm installed here?")
    followed.observe = False
    followed.streams = "apart"  # the follower's own notes are no output of the job
    followed.hang_timeout_s = None
    followed.grace_s += CANCEL_S
    return EngineJob(
        followed,
        (*_make_arguments(spec, job_env), *given),
        _make_script(spec.command, script),
        spec.grace_s,
        fingerprint or "",
    )


def is_job_left(record: Record) -> bool:
    """Return True if the run has ended because its follower was killed, and its job may go on.

    False for a run that was stopped, and for one of another kind.
    """
    submission = find_submission(record.spec.command)
    if submission is None:
        return False
    try:
        ending = record.ending
        if ending is None or (ending.code is not None and ending.code >= 0):
            return False
        is_stopped = ending.signal is not None or ending.limit is not None
        if is_stopped or record.event("stopping") is not None:
            return False
        return not submission.job.is_closed
    except RecordError:
        return False
    finally:
        submission.close()


def cancel_left_job(record: Record) -> None:
    """Have the job of a run cancelled that has ended without it, in the background.

    Does nothing for a run of another kind, and for a job that has ended or is followed.
    """
    submission = find_submission(record.spec.command)
    if submission is None:
        return
    try:
        if submission.job.is_open:
            _start_end(submission)
    except (RecordError, OSError):
        pass  # the next attempt ends it before it submits another one
    finally:
        submission.close()


def _check_arguments(arguments: Sequence[str]) -> None:
    options = read_options(arguments)
    if options.has_wrap or not options.reads_stdin:
        raise UsageError("sbatch_args: only options of sbatch: the task's command is the script")
    if options.waits or options.submits_nothing:
        raise UsageError("sbatch_args: --wait, --test-only and the like leave no job to follow")


def _make_arguments(spec: RunSpec, job_env: Mapping[str, str]) -> list[str]:
    """Return the options of sbatch in front of the author's own, which have priority."""
    names = sorted(name for name in job_env if name.isascii() and name.isidentifier())
    has_all = job_env.keys() >= os.environ.keys()
    found = [f"--export={'ALL' if has_all else ','.join(names) or 'NIL'}"]
    if spec.name:
        found.append(f"--job-name={spec.name[:_MOST_NAME]}")
    if spec.streams == "apart":
        found.append("--error=slurm-%j.err")
    return found


def _make_script(command: Sequence[str], text: str | None) -> bytes:
    """Return a batch script; no line of the author's is a directive of sbatch."""
    if text is None:
        return os.fsencode(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    return os.fsencode(f"#!/bin/bash\n:\n{text}\n")


def _find_submission_of(path: str) -> Submission | None:
    """Return the submission of an earlier run that may have a job; None if there is none.

    Raises GuardianError if that cannot be known, and RecordError for a damaged one.
    """
    try:
        with closing(Record.open(path)) as record:
            command = record.spec.command
    except RecordError:
        found = _find_by_run(path)
    else:
        followed = submission_path(command)
        found = None if followed is None else Submission.open(followed)
    if found is not None and found.job.is_closed:
        found.close()
        return None
    return found


def _find_by_run(path: str) -> Submission | None:
    """Return the submission whose last follower was a run that has no record any more."""
    runs, run_id = os.path.split(path)
    if not os.path.isdir(runs):
        raise GuardianError(
            f"{path}: the earlier run of this task is not seen from here, and its job of Slurm may "
            "go on; nothing was submitted. The workers of a task with scheduler=slurm need one "
            "state directory"
        )
    folder = os.path.join(os.path.dirname(runs), SUBMISSIONS)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        try:
            submission = Submission.open(os.path.join(folder, name))
        except RecordError:
            continue
        with suppress(RecordError):
            if submission.job.run_id == run_id:
                return submission
        submission.close()
    return None


def _was_stopped(path: str) -> bool:
    try:
        with closing(Record.open(path)) as record:
            return record.event("stopping") is not None
    except RecordError:
        return False


def _start_end(submission: Submission) -> bool:
    """Start the process that cancels a job; False while a follower of it lives.  Raises OSError."""
    if not submission.try_lock():
        return False
    job = submission.job
    if job.step is SubmissionStep.PREPARED:
        submission.store(replace(job, step=SubmissionStep.REFUSED))
    else:
        submission.store(replace(job, is_stopped=True))
    submission.release()
    if job.is_open:
        with suppress(subprocess.TimeoutExpired):
            start_program(__name__, submission.path).wait(_START_S)
    return True


def _end_job(submission: Submission, check: Check) -> None:
    """Cancel the job of an earlier run, and return after its end.  Raises GuardianError."""
    deadline = time.monotonic() + submission.request.grace_s + CANCEL_S
    due = 0.0
    try:
        while not submission.job.is_closed and time.monotonic() < deadline:
            if time.monotonic() >= due and _start_end(submission):
                due = time.monotonic() + _START_S
            check()
            time.sleep(_POLL_S)
    except OSError as error:
        if error.errno is None:
            raise  # an engine's time-out
        raise GuardianError(f"{submission.path}: {error}; nothing was submitted") from error
    if not submission.job.is_closed:
        raise GuardianError(
            f"job {submission.job.job_id or 'of an earlier run'} of this task is being cancelled "
            "and has not ended; nothing was submitted"
        )


def main(path: str) -> NoReturn:
    """Cancel the job of a submission that says so; exits, never returns.

    In a process without a parent, since an engine may kill the children of its task.
    """
    if os.fork():
        os._exit(0)
    from gpualert_common.slurm.submissions import batch_job  # heavy; a task that submits needs none

    batch_job.main(path)
