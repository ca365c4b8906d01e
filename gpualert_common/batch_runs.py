"""Runs that are jobs of Slurm: launched with a guardian, and continued by a new follower.

The child of such a run is :mod:`gpualert_common.slurm.submissions.batch_job`.  Also a program
(:mod:`gpualert_common.processes.program`): it continues the submissions of the state directories
that are its arguments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from gpualert_common import recover as recovery
from gpualert_common.api import make_spec
from gpualert_common.errors import GPUAlertError, RecordError, SlurmError, UsageError
from gpualert_common.guardian import RunHandle
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import SUCCESSOR, Record
from gpualert_common.record_locations import RUNS, list_state_dirs, new_run_id
from gpualert_common.settings import Setting, load_settings
from gpualert_common.slurm.live_jobs import is_slurm_id, read_accounted_tasks, read_tasks
from gpualert_common.slurm.submissions.follower_command import CANCEL_S, make_command
from gpualert_common.slurm.submissions.sbatch_options import find_refusal, read_options
from gpualert_common.slurm.submissions.submission import (
    MARK_PREFIX,
    Submission,
    SubmissionRequest,
    list_unfollowed,
)
from gpualert_common.spec import SCHEMA, RunSpec
from gpualert_common.structs import Struct

_LEAST_INTERVAL_S = 1.0
_MOST_SCRIPT_BYTES = 64 << 20
_SETTLE_S = 5.0
"""For a guardian that ends, or a follower that starts."""
_POLL_S = 0.05


class BatchTerms(Struct, frozen=True):
    """The terms of a run that is a job of Slurm, apart from the settings of any run.

    ``interval_s`` is the longest time between two questions to the controller.
    """

    name: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    interval_s: float = 15.0


def launch_batch_run(
    arguments: Sequence[str],
    settings: Mapping[str, Setting],
    terms: BatchTerms,
    script: bytes | None = None,
) -> RunHandle:
    """Submit a job by a run of its own, and return that.

    *arguments* are those of sbatch, *script* the batch script that sbatch would read from stdin.
    Raises UsageError and what :meth:`RunHandle.launch` raises; then nothing was submitted.
    """
    options = read_options(arguments)
    refusal = find_refusal(arguments, script, terms.cwd)
    if refusal:
        raise UsageError(refusal)
    if script is not None and len(script) > _MOST_SCRIPT_BYTES:
        raise UsageError(f"the script has more than {_MOST_SCRIPT_BYTES >> 20} MiB")
    name = terms.name or _name_job(arguments, options.script_at, has_wrap=options.has_wrap)
    mark = new_run_id()
    request = SubmissionRequest(
        f"{MARK_PREFIX}{mark}",
        tuple(arguments),
        has_script=script is not None,
        grace_s=settings["grace"].value,
        interval_s=max(_LEAST_INTERVAL_S, terms.interval_s),
    )
    return _launch(request, mark, script, ("sbatch", *arguments), name, settings, terms)


def launch_watch(job_id: str, settings: Mapping[str, Setting], terms: BatchTerms) -> RunHandle:
    """Follow a job that somebody else submitted by a run of its own, and return that.

    Raises as :func:`launch_batch_run` does, and SlurmError if Slurm does not answer.
    """
    if not is_slurm_id(job_id):
        raise UsageError(f"{job_id!r} is not the id of a job of Slurm")
    if not read_tasks(job_id):
        _check_accounted(job_id)
    interval_s = max(_LEAST_INTERVAL_S, terms.interval_s)
    request = SubmissionRequest(watched=job_id, interval_s=interval_s)
    name = terms.name or f"slurm:{job_id}"
    return _launch(request, new_run_id(), None, ("slurm", job_id), name, settings, terms)


def _check_accounted(job_id: str) -> None:
    """Raise UsageError for a job that the accounting does not have, or SlurmError."""
    unknown = f"Slurm's controller does not know the job {job_id} (any more)"
    try:
        tasks = read_accounted_tasks(job_id)
    except SlurmError as error:
        raise SlurmError(f"{unknown}, and its accounting cannot be asked: {error}") from None
    if not tasks:
        raise UsageError(f"{unknown}, and neither does its accounting")


def _launch(
    request: SubmissionRequest,
    mark: str,
    script: bytes | None,
    words: Sequence[str],
    name: str,
    settings: Mapping[str, Setting],
    terms: BatchTerms,
) -> RunHandle:
    places = list_state_dirs(settings["state_dir"].value)
    spec = make_spec(["sbatch"], settings, cwd=terms.cwd, name=name, env=terms.env)
    submission = Submission.create(places, mark, request, script)
    try:
        spec.command = tuple(make_command(submission.path, words))
        spec.observe = False  # the training runs elsewhere
        spec.grace_s += CANCEL_S
        return RunHandle.launch(spec)
    finally:
        submission.close()


def _name_job(arguments: Sequence[str], script_at: int, *, has_wrap: bool) -> str:
    if has_wrap or not 0 <= script_at < len(arguments):
        return "sbatch"
    return os.path.basename(arguments[script_at])


def continue_submission(path: str) -> RunHandle | None:
    """Return a new run that follows the job of a submission; None if it needs none.

    The run of its last follower is completed first, and its alert retired, since the new run sends
    one about the same job.  The job of an engine's task is left to that.  Raises GPUAlertError.
    """
    submission = Submission.open(path)
    try:
        if not submission.try_continue():
            return None
        job = submission.job
        if submission.request.fingerprint or not job.is_open:
            return None
        if not _await(lambda: not submission.is_followed):
            return None
        place = os.path.dirname(os.path.dirname(path))
        before = _open_run(place, job.run_id)
        if before is None:
            spec = _make_spec(path, submission.request, place)
        elif not _await(lambda: not before.is_held):
            return None  # its guardian still lives
        else:
            spec = _spec_of(before, place)
            _retire(before)
        handle = RunHandle.launch(spec)
        _await(lambda: submission.is_followed or submission.job != job)
        return handle
    finally:
        submission.close()


def continue_submissions(places: Sequence[str]) -> list[RunHandle]:
    """Return a new run for each job of these state directories that nobody follows any more."""
    found = []
    for place in places:
        for path in list_unfollowed(place):
            try:
                handle = continue_submission(path)
            except (GPUAlertError, OSError):
                continue  # a damaged or full place: a later command tries again
            if handle is not None:
                found.append(handle)
    return found


def _open_run(place: str, run_id: str) -> Record | None:
    if not run_id or os.sep in run_id:
        return None
    try:
        record = Record.open(os.path.join(place, RUNS, run_id))
        _ = record.spec
    except RecordError:
        return None
    return record


def _await(holds: Callable[[], bool]) -> bool:
    """Return True once the condition holds, False if it does not do so in time."""
    deadline = time.monotonic() + _SETTLE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _make_spec(path: str, request: SubmissionRequest, place: str) -> RunSpec:
    """Return the request of a run for a submission whose runs were all removed."""
    spec = make_spec(["sbatch"], load_settings({"state_dir": place}), cwd=None, name=None)
    spec.command = tuple(make_command(path, ("sbatch", *request.arguments)))
    spec.observe = False
    spec.grace_s = request.grace_s + CANCEL_S
    return spec


def _spec_of(record: Record, place: str) -> RunSpec:
    """Return the request of a run anew; secrets of its channels are looked up when it sends."""
    launched = record.spec
    settings = load_settings({"state_dir": place})
    spec = make_spec(launched.command, settings, cwd=launched.cwd, name=launched.name)
    spec.streams = launched.streams
    spec.grace_s = launched.grace_s
    spec.timeout_s = launched.timeout_s
    spec.observe = False
    spec.rules = launched.rules
    spec.custody = None
    if launched.alerts != spec.alerts:
        spec.alerts = launched.alerts
    return spec


def _retire(record: Record) -> None:
    """Retire the alert of a run whose job has a new follower, and complete its record."""
    record.write_json(SUCCESSOR, {"schema": SCHEMA, "number": 0, "at": time.time()})
    recovery.recover(record)
    record.release_own_lock()
    dispatch(record.path, deadline_s=0.0)


def main(*places: str) -> NoReturn:
    """Continue the submissions of these state directories; exits, never returns."""
    for handle in continue_submissions(places):
        handle.close()
    os._exit(0)
