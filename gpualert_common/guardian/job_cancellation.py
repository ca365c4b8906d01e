"""The job of Slurm that a run of an engine's task left: followed on by an attempt, or cancelled.

Also a program (:mod:`gpualert_common.processes.program`): it cancels the job of a submission.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from gpualert_common.errors import GuardianError, RecordError
from gpualert_common.processes.program import start_program
from gpualert_common.record import Record
from gpualert_common.slurm.submissions.follower_command import CANCEL_S
from gpualert_common.slurm.submissions.submission import Submission, SubmissionStep, find_submission
from gpualert_common.structs import replace

Check = Callable[[], None]

_POLL_S = 0.1
_START_S = 10.0
"""For a process to start, and to take the lock of its submission."""
_LOCK_S = 300.0
"""Longer than any sbatch of a dead follower, which holds the lock, too."""


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
        return not was_stopped(record) and not submission.job.is_closed
    except RecordError:
        return False
    finally:
        submission.close()


def was_stopped(record: Record) -> bool:
    """Return True for a run that was stopped, or whose time was over.  Raises RecordError."""
    ending = record.ending
    is_stopped = ending is not None and (ending.signal is not None or ending.limit is not None)
    return is_stopped or record.event("stopping") is not None


def cancel_left_job(record: Record) -> None:
    """Have the job of a run cancelled that has ended without it, in the background.

    Does nothing for a run of another kind, and for a job that has ended or that another run
    follows.
    """
    submission = find_submission(record.spec.command)
    if submission is None:
        return
    try:
        job = submission.job
        if not job.is_open or _start_end(submission):
            return
        if job.run_id == record.run_id:  # not a follower, but the sbatch that it left
            _start_program(submission.path, record.run_id)
    except (RecordError, OSError):
        pass  # the next attempt ends it before it submits another one
    finally:
        submission.close()


def end_job(submission: Submission, check: Check) -> None:
    """Cancel the job of an earlier run, and return after its end.  Raises GuardianError.

    ``check`` is called while that takes time, and may raise.
    """
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


def _start_end(submission: Submission) -> bool:
    """Start the process that cancels a job; False while its lock is held.  Raises OSError."""
    if not submission.try_lock():
        return False
    job = submission.job
    if job.step is SubmissionStep.PREPARED:
        submission.store(replace(job, step=SubmissionStep.REFUSED))
    else:
        submission.store(replace(job, is_stopped=True))
    submission.release()
    if job.is_open:
        _start_program(submission.path)
    return True


def _start_program(*arguments: str) -> None:
    with suppress(subprocess.TimeoutExpired):
        start_program(__name__, *arguments).wait(_START_S)


def main(path: str, run_id: str = "") -> NoReturn:
    """Cancel the job of a submission; exits, never returns.

    With *run_id* the job is cancelled once the sbatch of that run's follower has ended, and only if
    no other run follows it then.  Otherwise the submission says that it is stopped.

    In a process without a parent, since an engine may kill the children of its task.
    """
    if os.fork():
        os._exit(0)
    from gpualert_common.slurm.submissions import batch_job  # heavy; a task that submits needs none

    if run_id and not _mark_stopped(path, run_id):
        os._exit(0)
    batch_job.main(path)


def _mark_stopped(path: str, run_id: str) -> bool:
    """Return True once the submission says that its job is to be cancelled."""
    submission = Submission.open(path)
    deadline = time.monotonic() + _LOCK_S
    try:
        while not submission.try_lock():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        job = submission.job
        if job.run_id != run_id or not job.is_open:
            return False
        submission.store_if_possible(replace(job, is_stopped=True))
        return True
    finally:
        submission.close()
