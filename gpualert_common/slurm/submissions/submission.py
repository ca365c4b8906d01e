"""Submissions: each is one job, submitted once, and followed by one process after the other.

A submission is a folder ``submissions/MARK`` of the state directory:

- ``request.json``: what is submitted; never changed;
- ``script``: the batch script, where it came from stdin;
- ``job.json``: the state, synced before ``sbatch`` starts and after it has answered;
- ``lock``: held by the follower, and by the ``sbatch`` that it started, for as long as they live;
- ``continue``: held by the process that starts the next follower.

MARK is in the comment of the job.  So whoever takes the lock later finds the job, even if everybody
who knew its id died, and submits only what was surely never submitted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum

from gpualert_common.codec import decode_valid, encode
from gpualert_common.errors import NoDurableLogError, RecordError
from gpualert_common.launch_record import SlurmPlace
from gpualert_common.processes.host import host_name
from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import write_all
from gpualert_common.record.private_directory import (
    make_folder,
    open_folder,
    open_private,
    resolve_state_dir,
)
from gpualert_common.spec import DEFAULT_GRACE_S, SCHEMA
from gpualert_common.structs import Struct

SUBMISSIONS = "submissions"
MARK_PREFIX = "gpualert:"
_REQUEST = "request.json"
_JOB = "job.json"
_LOCK = "lock"
_CONTINUE = "continue"
_SCRIPT = "script"
_MOST_JSON_BYTES = 4 << 20
_KEPT_S = 30 * 86400.0
"""A submission whose job has ended is kept for so long."""


class SubmissionStep(StrEnum):
    """The step that a submission has reached."""

    PREPARED = "prepared"
    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    REFUSED = "refused"
    ENDED = "ended"
    LEFT = "left"
    """A job of others that is not followed any more."""


class SubmissionRequest(Struct, frozen=True):
    """The request for a job: the arguments of sbatch, and the terms of its follower.

    With ``watched`` it is the id of a job that somebody else submitted, and nothing is submitted.
    ``grace_s`` is the time that the job has between SIGTERM and its cancellation, ``interval_s``
    the longest time between two questions to the controller.  ``submit_within_s`` is how long an
    unreachable controller is tried before the submission is given up.  ``fingerprint`` is that of
    the attempts of an engine, which alone start its followers; it is empty for any other job.
    """

    mark: str = ""
    arguments: tuple[str, ...] = ()
    has_script: bool = False
    watched: str | None = None
    grace_s: Seconds = DEFAULT_GRACE_S
    interval_s: Seconds = 15.0
    submit_within_s: Seconds = 900.0
    fingerprint: str = ""
    schema: int = SCHEMA


class SubmittedJob(Struct, frozen=True):
    """The state of a submission, and the job as far as it is known.

    ``since`` is when its sbatch was started first.  ``exit_status`` and ``state`` are those of the
    job at its end; ``host`` and ``run_id`` those of its last follower and of its run.
    ``is_stopped`` says that the job is to be cancelled, ``is_given_up`` that its user was told of
    an error while it was not known if the job exists: it is only looked for then.
    """

    step: SubmissionStep = SubmissionStep.SUBMITTING  # of a damaged file: its job may exist
    since: Time = 0.0
    job_id: str = ""
    cluster: str = ""
    state: str = ""
    exit_status: Number | None = None
    host: str = ""
    run_id: str = ""
    is_stopped: bool = False
    is_given_up: bool = False
    schema: int = SCHEMA

    @property
    def is_open(self) -> bool:
        """True while a job may exist whose end nobody has seen."""
        return self.step in (SubmissionStep.SUBMITTING, SubmissionStep.SUBMITTED)

    @property
    def is_closed(self) -> bool:
        """True if no follower has anything left to do."""
        ended = (SubmissionStep.REFUSED, SubmissionStep.ENDED, SubmissionStep.LEFT)
        return self.step in ended


class Submission:
    """One submission, open for reading, and for writing by the follower that holds its lock."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.lock_fd = -1
        self._continue_fd = -1

    @classmethod
    def create(
        cls, state_dirs: Iterator[str], name: str, request: SubmissionRequest, script: bytes | None
    ) -> Submission:
        """Return a new submission in the first state directory that can keep one.

        It is on the disk when this returns.  Raises NoDurableLogError.
        """
        tried: list[tuple[str, str]] = []
        for state_dir in state_dirs:
            try:
                place = make_folder(resolve_state_dir(state_dir), SUBMISSIONS)
                submission = cls._create_at(os.path.join(place, name), request, script)
            except OSError as error:
                tried.append((state_dir, error.strerror or str(error)))
                continue
            _remove_old(place)
            return submission
        raise NoDurableLogError(tried)

    @classmethod
    def _create_at(cls, path: str, request: SubmissionRequest, script: bytes | None) -> Submission:
        os.mkdir(path, 0o700)
        directory = Directory(path, open_private(path))
        if script is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(os.path.join(path, _SCRIPT), flags, 0o600), "wb") as file:
                write_all(file.fileno(), script)
                os.fsync(file.fileno())
        directory.write_json(_REQUEST, encode(request), sync=True)
        directory.sync_directory()
        return cls(directory)

    @classmethod
    def open(cls, path: str) -> Submission:
        """Return the submission at *path*.  Raises RecordError if it is not trusted."""
        return cls(Directory.open(path))

    @property
    def path(self) -> str:
        """The folder of the submission."""
        return self._directory.path

    @property
    def script_path(self) -> str:
        """The path of the script that came from stdin."""
        return os.path.join(self.path, _SCRIPT)

    @property
    def is_complete(self) -> bool:
        """False for a submission whose creation was interrupted: nobody has acted on it."""
        return os.path.lexists(os.path.join(self.path, _REQUEST))

    @property
    def request(self) -> SubmissionRequest:
        """The request.  Raises RecordError if there is none."""
        fields = self._directory.read_json(_REQUEST, _MOST_JSON_BYTES)
        if fields is None:
            raise RecordError(f"{self.path}: no {_REQUEST}: this is not a submission")
        return decode_valid(SubmissionRequest, fields, os.path.join(self.path, _REQUEST))

    @property
    def job(self) -> SubmittedJob:
        """The state of the submission.  Raises RecordError for a damaged file."""
        fields = self._directory.read_json(_JOB, _MOST_JSON_BYTES)
        if fields is None:
            return SubmittedJob(SubmissionStep.PREPARED)
        return decode_valid(SubmittedJob, fields, os.path.join(self.path, _JOB))

    def store(self, job: SubmittedJob) -> None:
        """Store the state; it is on the disk when this returns.  Raises OSError."""
        self._directory.write_json(_JOB, encode(job), sync=True)
        self._directory.sync_directory()

    def store_if_possible(self, job: SubmittedJob) -> None:
        """Store the state of a job that exists; or else the next follower finds it by its mark."""
        with contextlib.suppress(OSError):
            self.store(job)

    def try_lock(self) -> bool:
        """Become the follower; False while another one, or its sbatch, lives.  Raises OSError."""
        if self.lock_fd < 0:
            self.lock_fd = self._directory.try_lock(_LOCK)
        return self.lock_fd >= 0

    def try_continue(self) -> bool:
        """Become the one that starts the next follower; False while another process is."""
        if self._continue_fd < 0:
            self._continue_fd = self._directory.try_lock(_CONTINUE)
        return self._continue_fd >= 0

    @property
    def is_followed(self) -> bool:
        """True while a follower holds the lock."""
        return self._directory.is_locked(_LOCK)

    def release(self) -> None:
        """Release the lock, for a follower that is started next."""
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
            self.lock_fd = -1

    def close(self) -> None:
        """Close the descriptors, and release the lock if this process holds it."""
        for fd in (self.lock_fd, self._continue_fd):
            if fd >= 0:
                os.close(fd)
        self.lock_fd = self._continue_fd = -1
        self._directory.close()


def find_submission(command: Sequence[str]) -> Submission | None:
    """Return the submission that the follower with this command follows; None for others."""
    from gpualert_common.slurm.submissions.follower_command import submission_path

    path = submission_path(command)
    if path is None:
        return None
    try:
        return Submission.open(path)
    except RecordError:
        return None


def read_followed_job(command: Sequence[str]) -> SubmittedJob | None:
    """Return the job that the follower with this command follows, submitted or not; None for
    others, and where the submission is damaged."""
    submission = find_submission(command)
    if submission is None:
        return None
    try:
        return submission.job
    except RecordError:
        return None
    finally:
        submission.close()


def find_followed_job(command: Sequence[str]) -> SlurmPlace | None:
    """Return the place of the job that the follower with this command follows; None for others."""
    job = read_followed_job(command)
    if job is None or not job.job_id:
        return None
    return {"job": job.job_id, **({"cluster": job.cluster} if job.cluster else {})}


def list_unfollowed(state_dir: str) -> list[str]:
    """Return the paths of the submissions whose job may go on and that nobody follows.

    Oldest first.  A follower of another host that shares the directory counts as one that lives.
    """
    try:
        fd = open_folder(resolve_state_dir(state_dir), SUBMISSIONS)
    except OSError:
        return []
    try:
        names = sorted(name for name in os.listdir(fd) if not name.startswith("."))
    finally:
        os.close(fd)
    paths = (os.path.join(resolve_state_dir(state_dir), SUBMISSIONS, name) for name in names)
    return [path for path in paths if needs_follower(path)]


def needs_follower(path: str) -> bool:
    """Return True if the job of a submission of this host may go on, and nobody follows it.

    The next attempt of an engine follows its own.
    """
    try:
        submission = Submission.open(path)
    except RecordError:
        return False
    try:
        job = submission.job
        if not job.is_open or job.host != host_name() or submission.request.fingerprint:
            return False
        return not submission.is_followed
    except (RecordError, OSError):
        return False
    finally:
        submission.close()


def _remove_old(place: str) -> None:
    """Remove the submissions that are closed for long."""
    for name in os.listdir(place):
        path = os.path.join(place, name)
        try:
            if time.time() - os.stat(path).st_mtime < _KEPT_S:
                continue
            submission = Submission.open(path)
            is_closed = submission.job.is_closed and not submission.is_followed
            submission.close()
            if is_closed:
                shutil.rmtree(path)
        except (RecordError, OSError):
            continue
