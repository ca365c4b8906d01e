"""Jobs of Slurm that are the runs of an engine's task: one job, whichever attempt follows it.

The run of such a task is an ordinary one whose child follows a submission.  The name of the
submission ends with that of the task's key, whose lock an attempt holds when it looks for it: an
attempt passes on what an earlier one submitted, and never submits beside it.
"""

from __future__ import annotations

import copy
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from gpualert_common.errors import GuardianError, RecordError, UsageError
from gpualert_common.guardian.job_cancellation import Check, end_job
from gpualert_common.record import Record
from gpualert_common.record.private_directory import resolve_state_dir
from gpualert_common.record_locations import list_state_dirs, new_run_id
from gpualert_common.settings import name_origin
from gpualert_common.slurm.submissions.follower_command import (
    CANCEL_S,
    make_command,
)
from gpualert_common.slurm.submissions.sbatch_options import read_options
from gpualert_common.slurm.submissions.submission import (
    MARK_PREFIX,
    SUBMISSIONS,
    Submission,
    SubmissionRequest,
)
from gpualert_common.structs import Struct

if TYPE_CHECKING:
    from gpualert_common.settings import Setting
    from gpualert_common.spec import RunSpec

MOST_FOLLOWERS = 10
"""One attempt starts so many followers, each after the one before was killed."""
_WORK = "work"
"""Folder in a submission: the working directory of a job whose author names none."""
_MOST_NAME = 200
_KEY_CHARACTERS = 16
"""Of the name of a key in the name of a submission."""
_OF_PROCESSES = ("hang_timeout", "on_hang", "on_slowdown", "tracing")
"""Options about processes, which are on another machine."""


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

    def prepare(self, key: str, paths: Sequence[str], check: Check) -> RunSpec:
        """Return the run to launch after the earlier runs of the task, whose records *paths* name.

        It follows the job that one of them left, else it submits a new one.  *key* is the name of
        the task's key, whose lock is held.  A job that must not go on is cancelled first; ``check``
        is called while that takes time, and may raise.  Raises GuardianError, RecordError and
        NoDurableLogError; nothing was submitted then.
        """
        for path in paths:
            _check_visible(path)
        is_stopped = any(_was_stopped(path) for path in paths)
        own = list(list_state_dirs(self.spec.state_dir))
        theirs = [os.path.dirname(os.path.dirname(path)) for path in paths]
        for submission in _list_open(key, [*own, *theirs]):
            try:
                if not is_stopped and self._may_follow(submission):
                    return self._make_spec(submission)
                end_job(submission, check)
            finally:
                submission.close()
        return self._make_spec(self._create(key))

    def _may_follow(self, submission: Submission) -> bool:
        """Return True if this attempt follows an earlier submission, which may have a job."""
        is_same = submission.request.fingerprint == self.fingerprint
        return is_same and not submission.job.is_stopped

    def _create(self, key: str) -> Submission:
        mark = f"{new_run_id()}{_suffix(key)}"
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


def _check_visible(path: str) -> None:
    """Raises GuardianError if the place of an earlier run, and so its job, cannot be seen."""
    if not os.path.isdir(os.path.dirname(path)):
        raise GuardianError(
            f"{path}: the earlier run of this task is not seen from here, and its job of Slurm may "
            "go on; nothing was submitted. The workers of a task with scheduler=slurm need one "
            "state directory"
        )


def _list_open(key: str, places: Sequence[str]) -> Iterator[Submission]:
    """Yield the submissions of a task that may have a job; oldest first in each place.

    Raises RecordError for a damaged one.
    """
    folders = dict.fromkeys(os.path.join(resolve_state_dir(one), SUBMISSIONS) for one in places)
    for folder in folders if key else ():
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names:
            if not name.endswith(_suffix(key)):
                continue
            submission = Submission.open(os.path.join(folder, name))
            if submission.is_complete and not submission.job.is_closed:
                yield submission
            else:
                submission.close()


def _suffix(key: str) -> str:
    return f"-{key[:_KEY_CHARACTERS]}" if key else ""


def _was_stopped(path: str) -> bool:
    try:
        with closing(Record.open(path)) as record:
            return record.event("stopping") is not None
    except RecordError:
        return False
