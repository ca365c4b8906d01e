"""The one submission of a job: it is looked up wherever an answer was lost, and never repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.invocation import ProgramAnswer, describe_failure, invoke, is_transient
from gpualert_common.slurm.live_jobs import find_job, is_slurm_id
from gpualert_common.slurm.submissions.sbatch_options import add_mark, find_clusters
from gpualert_common.slurm.submissions.submission import Submission, SubmissionStep, SubmittedJob
from gpualert_common.structs import replace

SUBMIT_S = 120.0
"""Limit of one sbatch, which tries for some 30 s itself."""
SETTLE_S = 6.0
"""A request whose sbatch died may still wait in the controller: it is looked up again then."""
_MARKS_OF_RUNS = ("GPUALERT_MARK_", "GPUALERT_RUN_ID", "GPUALERT_HELPER_OF")
"""Variables that would make the job's processes a part of the follower's run."""
_WAIT = "SBATCH_WAIT"
"""Variable with which sbatch waits for the end of the job, beyond its deadline."""

_REFUSALS = (
    "sbatch: error: Batch job submission failed",
    "sbatch: error: Batch script",
    "sbatch: error: This does not look like a batch script",
    "sbatch: error: Unable to open file",
    "sbatch: fatal: Could not establish a configuration source",
    'Try "sbatch --help" for more information',
)
"""Messages of sbatch that submitted nothing."""
_KILLED = range(129, 193)
"""A shell around sbatch exits with 128 and the number of the signal that killed it.  sbatch itself
exits with 255 for an option that it does not know."""

Pause = Callable[[float], None]


class JobSubmitter:
    """Submits one submission whose lock this process holds.

    ``pause`` sleeps, and raises what ends the wait; ``note`` gets sentences for people.
    """

    def __init__(self, submission: Submission, pause: Pause, note: Callable[[str], None]) -> None:
        self._submission = submission
        self._request = submission.request
        self._pause = pause
        self._note = note
        self._deadline = time.monotonic() + self._request.submit_within_s

    def submit(self) -> SubmittedJob:
        """Return the job, submitted now or by an earlier follower.

        Raises SlurmError if Slurm refused it, and ``is_late`` if Slurm did not answer in time: then
        the submission stays as it is.  A later follower only looks for the job: whoever was told
        that it was not submitted may have submitted it anew.  The attempts of an engine have one
        submission at a time, and go on with it.
        """
        job = self._submission.job
        if job.step is SubmissionStep.SUBMITTING:
            job = self.search()
            is_late = job.is_given_up or time.time() - job.since > self._request.submit_within_s
            is_late &= not self._request.fingerprint
            if job.step is SubmissionStep.PREPARED and is_late:
                self._submission.store(replace(job, step=SubmissionStep.REFUSED))
                raise SlurmError("the job was not submitted in time, and is not submitted any more")
        if job.step is not SubmissionStep.PREPARED:
            return job
        try:
            return self._retry(self._submit_once)
        except (SlurmError, OSError):
            self._give_up()
            raise

    def search(self) -> SubmittedJob:
        """Return the job of a submission that was interrupted, or a submission without a job.

        Raises SlurmError as :meth:`submit` does.
        """
        return self._retry(lambda: self._search(self._submission.job))

    def _give_up(self) -> None:
        """Store that whoever reads the error may submit the job anew."""
        job = self._submission.job
        if job.step is SubmissionStep.SUBMITTING:
            self._submission.store_if_possible(replace(job, is_given_up=True))

    def _submit_once(self) -> SubmittedJob:
        """Submit, unless an earlier try of the same submission turns out to have succeeded."""
        job = self._submission.job
        if job.step is SubmissionStep.SUBMITTING:
            job = self._search(job)
        if job.step is not SubmissionStep.PREPARED:
            return job
        since = job.since or time.time()
        job = replace(job, step=SubmissionStep.SUBMITTING, since=since)
        self._submission.store(job)
        answer = self._call_sbatch()
        job_id, _, cluster = answer.output.strip().partition("\n")[0].partition(";")
        if is_slurm_id(job_id):
            return self._store(job, job_id, cluster)
        problem = describe_failure("sbatch", answer)
        if answer.is_transient or (answer.status or 0) <= 0 or answer.status in _KILLED:
            raise SlurmError(problem, is_late=True)
        is_refused = any(one in answer.message for one in _REFUSALS)
        if not is_refused:  # a program around sbatch failed, maybe after it
            job = self._search(job)
        if job.step is SubmissionStep.SUBMITTED:
            return job
        self._submission.store(replace(job, step=SubmissionStep.REFUSED))
        raise SlurmError(answer.message.strip() or problem)

    def _search(self, job: SubmittedJob) -> SubmittedJob:
        """Return the job that was submitted, or a submission that may begin anew.

        A controller that answers, and does not know the job a second time some seconds later, never
        got the request: no sbatch lives any more, since this process holds the lock.
        """
        found = self._find_job(job)
        if found is None:
            self._pause(SETTLE_S)
            found = self._find_job(job)
        if found is not None:
            return self._store(job, *found)
        return replace(job, step=SubmissionStep.PREPARED)

    def _find_job(self, job: SubmittedJob) -> tuple[str, str] | None:
        """Return the id and the cluster of the job with the mark.  Raises SlurmError."""
        for cluster in find_clusters(self._request.arguments, self._script_path):
            job_id = find_job(self._request.mark, job.since, cluster)
            if job_id is not None:
                return job_id, cluster
        return None

    @property
    def _script_path(self) -> str | None:
        """The path of the script that came from stdin."""
        return self._submission.script_path if self._request.has_script else None

    def _store(self, job: SubmittedJob, job_id: str, cluster: str) -> SubmittedJob:
        job = replace(job, step=SubmissionStep.SUBMITTED, job_id=job_id, cluster=cluster)
        self._submission.store_if_possible(job)
        return job

    def _call_sbatch(self) -> ProgramAnswer:
        arguments = add_mark(self._request.arguments, self._request.mark, self._script_path)
        command = ["sbatch", *arguments]
        env = {
            name: value
            for name, value in os.environ.items()
            if name != _WAIT and not name.startswith(_MARKS_OF_RUNS)
        }
        fds = (self._submission.lock_fd,)
        if not self._request.has_script:
            return invoke(command, within_s=SUBMIT_S, env=env, pass_fds=fds)
        with open(self._submission.script_path, "rb") as script:
            return invoke(command, within_s=SUBMIT_S, env=env, stdin=script.fileno(), pass_fds=fds)

    def _retry(self, step: Callable[[], SubmittedJob]) -> SubmittedJob:
        """Repeat a step while Slurm does not answer, until the time of the submission is over.

        A problem is noted once, until another one comes.
        """
        noted = ""

        def note_failure(state: RetryCallState) -> None:
            nonlocal noted
            problem = str(state.outcome.exception() if state.outcome is not None else "")
            if problem != noted:
                noted = problem
                self._note(f"{problem}; trying again")

        retrying = Retrying(
            retry=retry_if_exception(is_transient),
            wait=wait_exponential_jitter(initial=1.0, max=30.0),
            stop=lambda _state: time.monotonic() > self._deadline,
            sleep=self._pause,
            before_sleep=note_failure,
            reraise=True,
        )
        return retrying(step)
