"""The child of a run that is a job of Slurm: submits it once, follows it, exits with its status.

A program (:mod:`gpualert_common.processes.program`) that an ordinary supervisor runs: log, status,
verdict, alerts and adoption are those of any run.  SIGTERM and SIGINT cancel the job.  The death of
this program ends nothing: another one with the same submission follows the same job.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from functools import partial
from types import FrameType
from typing import NoReturn

from gpualert_common.errors import GPUAlertError, SlurmError
from gpualert_common.printable_text import make_printable
from gpualert_common.processes.host import host_name
from gpualert_common.slurm.submissions.followed_state import store_followed_state
from gpualert_common.slurm.submissions.job_follower import JobEnd, JobFollower
from gpualert_common.slurm.submissions.submission import Submission, SubmissionStep, SubmittedJob
from gpualert_common.slurm.submissions.submitter import JobSubmitter
from gpualert_common.spec import EXIT_NOT_PREPARED
from gpualert_common.structs import replace

_TERMINATED = 143
_POLL_S = 0.1
_LOCK_S = 300.0
"""Longer than any sbatch of a dead follower, which holds the lock, too."""
_STOPS = (signal.SIGTERM, signal.SIGINT)


class _StoppedError(Exception):
    """The run was stopped before its job was known."""


class BatchJobProgram:
    """The program, with the stops that it has got so far."""

    def __init__(self, submission: Submission) -> None:
        self._submission = submission
        self._request = submission.request
        self._stops = 0
        self._is_stop_stored = False

    def run(self) -> int:
        """Return the exit status of the job."""
        for number in _STOPS:
            signal.signal(number, self._count_stop)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a terminal that closes ends no job
        try:
            self._await_lock()
            job = self._find_job()
        except _StoppedError:
            return _TERMINATED
        except SlurmError as error:
            for line in str(error).splitlines():
                _write(line)
            return EXIT_NOT_PREPARED
        if job.is_closed:
            return self._close(job, JobEnd(job.state, job.exit_status))
        return self._follow(job)

    def _find_job(self) -> SubmittedJob:
        """Return the job: watched, found, or submitted now.  Raises SlurmError."""
        job = self._submission.job
        if job.step is SubmissionStep.REFUSED:
            raise SlurmError("the job was not submitted")
        if job.is_closed:
            return job
        run_id = os.environ.get("GPUALERT_RUN_ID", "")
        job = replace(job, host=host_name(), run_id=run_id)
        watched = self._request.watched
        if watched is not None:
            job = replace(job, step=SubmissionStep.SUBMITTED, job_id=watched)
        if job.step is SubmissionStep.PREPARED:
            self._submission.store(job)
        else:  # the job may exist: a full disk must not hide its end
            self._submission.store_if_possible(job)
        if job.step is SubmissionStep.SUBMITTED:
            _note(f"following batch job {job.job_id}")
            return job
        if not job.is_stopped and not self._stops:
            try:
                job = JobSubmitter(self._submission, self._pause, _note).submit()
            except _StoppedError:
                return self._find_stopped()
            _note(f"submitted batch job {job.job_id}")
            return job
        return self._find_stopped()

    def _find_stopped(self) -> SubmittedJob:
        """Return the job of a submission that was stopped before its id was known, to cancel it.

        Looks for it until this process is killed.  Raises _StoppedError if there is none.
        """
        self._stops = max(self._stops, 1)
        job = replace(self._submission.job, is_stopped=True)
        self._submission.store_if_possible(job)
        if job.step is SubmissionStep.SUBMITTING:
            job = JobSubmitter(self._submission, time.sleep, _note).search()
        if job.step is SubmissionStep.PREPARED:
            self._submission.store_if_possible(replace(job, step=SubmissionStep.REFUSED))
            raise _StoppedError
        return job

    def _follow(self, job: SubmittedJob) -> int:
        follower = JobFollower(
            job,
            grace_s=self._request.grace_s,
            interval_s=self._request.interval_s,
            stops=lambda: self._count_stops(job),
            note=_note,
            report=partial(store_followed_state, self._submission.path),
        )
        end = follower.follow()
        job = replace(
            self._submission.job,
            step=SubmissionStep.ENDED,
            job_id=job.job_id,
            state=end.state,
            exit_status=end.exit_status,
        )
        self._submission.store_if_possible(job)
        return self._close(job, end)

    def _count_stops(self, job: SubmittedJob) -> int:
        """Return the number of stops, which is on the disk then.

        Exits if a watched job is not to be watched any more: it goes on.
        """
        if not self._stops:
            return int(job.is_stopped)
        if self._request.watched is not None:
            self._submission.store_if_possible(replace(job, step=SubmissionStep.LEFT))
            _note(f"job {job.job_id} is not watched any more, and goes on")
            os._exit(_TERMINATED)
        if not self._is_stop_stored:
            self._is_stop_stored = True
            self._submission.store_if_possible(replace(job, is_stopped=True))
        return self._stops

    def _close(self, job: SubmittedJob, end: JobEnd) -> int:
        if end.exit_status is None:
            _note(f"the end of job {job.job_id} is not known: Slurm has forgotten it")
            return EXIT_NOT_PREPARED
        return end.exit_status

    def _await_lock(self) -> None:
        """Wait until no other follower lives, nor its sbatch, whose job a stop has to cancel."""
        deadline = time.monotonic() + _LOCK_S
        while not self._submission.try_lock():
            if time.monotonic() > deadline:
                raise SlurmError("another process follows this submission", is_late=True)
            if self._stops and self._request.watched is not None:
                raise _StoppedError
            time.sleep(_POLL_S)

    def _pause(self, seconds: float) -> None:
        """Sleep.  Raises _StoppedError when the run is stopped."""
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            if self._stops:
                raise _StoppedError
            time.sleep(min(_POLL_S, left_s))

    def _count_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stops += 1


def main(path: str, *_arguments: str) -> NoReturn:
    """Follow the submission at *path*; exits, never returns."""
    try:
        status = BatchJobProgram(Submission.open(path)).run()
    except (GPUAlertError, OSError) as error:
        _note(str(error))
        status = EXIT_NOT_PREPARED
    sys.stdout.flush()
    os._exit(status)


def _note(text: str) -> None:
    """Write a sentence of ours to stderr, which is the log."""
    _write(f"gpualert: {text}")


def _write(text: str) -> None:
    with contextlib.suppress(OSError):  # a full disk
        os.write(2, f"{make_printable(text)}\n".encode("utf-8", "backslashreplace"))
