"""Watch over all jobs of a user of Slurm: each that ends gets a record, a verdict and an alert."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping

from gpualert_common.codec import decode_valid, encode
from gpualert_common.errors import GPUAlertError, SlurmError
from gpualert_common.external_run import ExternalRun
from gpualert_common.launch_record import AlertSettings
from gpualert_common.notify.channel_config import resolve_alerts
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import Record
from gpualert_common.record.directory import Directory
from gpualert_common.record.private_directory import make_folder, open_private, resolve_state_dir
from gpualert_common.record_locations import choose_state_dir
from gpualert_common.settings import Setting
from gpualert_common.slurm.invocation import is_transient
from gpualert_common.slurm.live_jobs import (
    BatchTask,
    is_over,
    list_states,
    read_accounted_tasks,
    read_tasks,
)
from gpualert_common.slurm.submissions.output_copy import ANOTHER_OWNER
from gpualert_common.slurm.submissions.submission import MARK_PREFIX
from gpualert_common.slurm.users import may_copy
from gpualert_common.spec import SCHEMA, Ending
from gpualert_common.structs import Struct

_FOLDER = "watches"
_MOST_REPORTED = 20_000
_MOST_LOG_BYTES = 8 << 20
"""The end of each output; the verdict of a job that nobody followed is made of that."""
_MOST_STATE_BYTES = 4 << 20
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class WatchedJobs(Struct, frozen=True):
    """The jobs that a watch knows: ``live`` ones, and those whose end was ``reported``.

    ``ended`` had ended in the last turn, which counts once the next one confirms it: a job that is
    requeued has an end for a moment.
    """

    live: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    schema: int = SCHEMA


class SlurmUserWatch:
    """Watch over the jobs of one user, with one request for all of them in each turn.

    Its state is on the disk, so that a watch that is started again reports each end once, also of
    jobs that ended meanwhile.  Jobs that had ended before its first turn are not reported, nor
    those of ``gpualert sbatch``, which have alerts of their own.
    """

    def __init__(self, user: str, settings: Mapping[str, Setting]) -> None:
        """Open the state.  Raises OSError, and ConfigError for an unknown channel."""
        self._user = user
        self._alerts, self._secrets = resolve_alerts(settings)
        self._deadline_s = settings["notify_deadline"].value
        self._state_dir = choose_state_dir(settings["state_dir"].value)
        folder = make_folder(resolve_state_dir(self._state_dir), _FOLDER)
        self._directory = Directory(folder, open_private(folder))
        self._name = f"{hashlib.sha256(user.encode('utf-8', 'replace')).hexdigest()[:32]}.json"

    def take_turn(self) -> Iterator[Record]:
        """Yield the record of each job whose end is known since the last turn.

        Raises SlurmError if Slurm does not answer: nothing is lost then.
        """
        known = self._read()
        states = list_states(self._user)
        ended = [job for job, (state, _comment) in states.items() if is_over(state)]
        if known is None:
            self._write(WatchedJobs(reported=tuple(ended)))
            known = WatchedJobs(reported=tuple(ended))
        ours = {job for job, (_state, comment) in states.items() if MARK_PREFIX in comment}
        forgotten = [job for job in (*known.live, *known.ended) if job not in states]
        confirmed = [job for job in ended if job in known.ended]
        reported = dict.fromkeys(known.reported)
        for job in dict.fromkeys((*forgotten, *confirmed)):
            if job in reported or job in ours:
                continue
            task = _read_task(job)
            if task is not None:
                yield self._report(task)
            reported[job] = None
            self._write(WatchedJobs(known.live, known.ended, _last(reported)))
        live = tuple(job for job in states if job not in ended and job not in ours)
        new = tuple(job for job in ended if job not in reported and job not in ours)
        for job in live:
            reported.pop(job, None)  # requeued, or its id is used again
        self._write(WatchedJobs(live, new, _last(reported)))

    def _report(self, task: BatchTask) -> Record:
        """Record the end of a job and send its alert."""
        record = record_task(task, self._alerts, self._state_dir)
        dispatch(record.path, secrets=self._secrets, deadline_s=self._deadline_s)
        return record

    def _read(self) -> WatchedJobs | None:
        """Return the state; None before the first turn, and for a damaged file."""
        try:
            fields = self._directory.read_json(self._name, _MOST_STATE_BYTES)
            path = os.path.join(self._directory.path, self._name)
            return None if fields is None else decode_valid(WatchedJobs, fields, path)
        except GPUAlertError:
            return None

    def _write(self, jobs: WatchedJobs) -> None:
        self._directory.write_json(self._name, encode(jobs), sync=True)


def record_task(task: BatchTask, alerts: AlertSettings | None, state_dir: str | None) -> Record:
    """Return the record of a job that has ended, made of the end of its output.

    The same job gets the same record.  Raises NoDurableLogError.
    """
    started_at = task.started_at or task.ended_at or time.time()
    ending = Ending(started_at, task.ended_at or time.time())
    is_killed = task.exit_signal and not task.is_unstarted
    ending.code = -task.exit_signal if is_killed else task.exit_status
    log, problem = _read_output(task)
    if task.state not in ("COMPLETED", "FAILED"):  # Slurm ended it, and its own words say so
        status = f"ExitCode={task.exit_code}:{task.exit_signal}"
        log += f"JobId={task.job_id} JobState={task.state} {status}\n".encode()
    return ExternalRun(
        key=("slurm", task.shown_id, str(int(started_at))),
        number=task.restarts + 1,
        name=task.name or f"slurm:{task.shown_id}",
        state="success" if task.state == "COMPLETED" else task.state.lower(),
        ending=ending,
        command=("slurm", task.shown_id),
        log=log,
        unread_log=problem,
    ).record(alerts, state_dir)


def _read_task(job: str) -> BatchTask | None:
    """Return a job that has ended; None if it goes on, or nothing about it is left.

    Raises SlurmError if Slurm may answer later.
    """
    found = [task for task in read_tasks(job) if task.shown_id == job]
    if not found:
        try:
            found = [task for task in read_accounted_tasks(job) if task.shown_id == job]
        except SlurmError as error:
            if is_transient(error):
                raise
            return None  # there is no accounting
    return next((task for task in found if task.is_over), None)


def _read_output(task: BatchTask) -> tuple[bytes, tuple[str, str] | None]:
    """Return the end of the outputs, and the name and problem of one that cannot be read."""
    paths = list(dict.fromkeys(path for path in (task.stdout, task.stderr) if path))
    if not paths:
        return b"", ("output", "Slurm has forgotten its path")
    parts = []
    problem = None
    for path in paths:
        try:
            parts.append(_read_end(os.path.join(task.work_directory, path), task.uid))
        except OSError as error:
            if task.started_at is not None:
                problem = (path, error.strerror or str(error))
    return b"".join(parts), problem


def _read_end(path: str, uid: int | None) -> bytes:
    """Return the last bytes of a file, from the begin of a line on.  Raises OSError."""
    with open(os.open(path, _FLAGS), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return b""
        if not may_copy(status.st_uid, uid):
            raise PermissionError(errno.EACCES, ANOTHER_OWNER)
        at = max(0, status.st_size - _MOST_LOG_BYTES)
        data = os.pread(file.fileno(), _MOST_LOG_BYTES, at)
    return data.partition(b"\n")[2] if at else data


def _last(reported: Mapping[str, None]) -> tuple[str, ...]:
    return tuple(reported)[-_MOST_REPORTED:]
