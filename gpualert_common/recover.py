"""Recovery of runs whose supervisor died.

Everything follows from the record.  A status that nobody was there to take stays unknown and never
becomes success; the log is whole, so that the verdict names what it shows.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from gpualert_common.codec import decode_valid, encode
from gpualert_common.end_record import EndRecord
from gpualert_common.errors import RecordError
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import RecoveryOutcome, RunPlace, Verdict
from gpualert_common.processes.host import boot_id, host_name, pid_namespace
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree, TreeOfLeaders
from gpualert_common.record import (
    EXIT,
    INDEX,
    LOG_CUT,
    SPEC,
    VERDICT,
    Event,
    Record,
    RunState,
)
from gpualert_common.record.leaders import find_leaders
from gpualert_common.slurm.submissions.follower_command import submission_path
from gpualert_common.slurm.submissions.submission import read_followed_job
from gpualert_common.spec import EndFacts, Ending
from gpualert_common.supervise.stop import Stop
from gpualert_common.telemetry.storage import TELEMETRY

if TYPE_CHECKING:
    from gpualert_common.end_record import Sender
    from gpualert_common.slurm.ended_runs import SlurmEnd

LIVE_BYTES = 64 << 20
"""Some three seconds' reading."""


def has_processes(record: Record) -> bool:
    """Return True when processes of a run that nobody supervises are still there."""
    members = find_processes(record).members()
    for process in members:
        process.close()
    return bool(members)


def is_in_progress(record: Record) -> bool:
    """Return True while the run has not ended, supervised or not; False for a damaged record."""
    try:
        state = record.state
        return state is not RunState.ENDED and (state is not RunState.LOST or has_processes(record))
    except RecordError:
        return False


def is_abandoned(record: Record, *, asks_slurm: bool = True) -> bool:
    """Return True if nobody supervises the run and none of its processes lives.

    False while that cannot be known from here.  Slurm may take many seconds for its answer about a
    run of another machine: without ``asks_slurm`` that is not known.  Raises RecordError.
    """
    if record.is_held:
        return False
    if record.read_json(EXIT) is not None:
        return True
    if is_remote(record):
        return asks_slurm and find_end_in_slurm(record) is not None
    return not has_processes(record)


def find_processes(record: Record) -> ProcessTree:
    """Return the processes of a run, from the leaders that its record names."""
    leaders = [one.identity for one in find_leaders(record)]
    return TreeOfLeaders(leaders, run_marker(record.run_id))


def locate(launch_record: LaunchRecord) -> RunPlace:
    """Return where the processes of a run are, as seen from here.

    Another container is another space of process numbers in the same boot.
    """
    same_boot = launch_record.boot_id == boot_id()
    if launch_record.host != host_name():
        return RunPlace.OTHER_HOST
    if launch_record.owner.get("across_hosts") and not same_boot:
        return RunPlace.OTHER_BOOT
    if same_boot and launch_record.pid_namespace != pid_namespace():
        return RunPlace.OTHER_CONTAINER
    return RunPlace.HERE


def is_remote(record: Record) -> bool:
    """Return True when the processes of a run cannot be seen from here."""
    return locate(record.spec) is not RunPlace.HERE


def may_have_ended_in_slurm(record: Record) -> bool:
    """Return True for a run of another machine of which only Slurm may know that it has ended."""
    return record.read_json(EXIT) is None and record.spec.slurm is not None and is_remote(record)


def find_end_in_slurm(record: Record) -> SlurmEnd | None:
    """Return the end of a run in a job of Slurm, if that proves that no process of it is left."""
    place = record.spec.slurm
    if place is None:
        return None
    from gpualert_common.slurm.ended_runs import find_slurm_end  # most runs need none

    statuses = map(record.log_status, (*record.logs, INDEX, TELEMETRY))
    changed_at = max((one.st_mtime for one in statuses if one), default=0.0)
    return find_slurm_end(place, record.spec.created_at, changed_at)


def recover(
    record: Record, *, force: bool = False, most_bytes: int | None = None
) -> RecoveryOutcome:
    """Complete the record that a dead supervisor left, where that is possible.

    ``force`` also completes that of a run whose processes cannot be seen from here, and are surely
    gone.  ``most_bytes`` as for :func:`classify_logs`.
    """
    if record.read_json(EXIT) is not None and record.read_json(VERDICT) is not None:
        return RecoveryOutcome.COMPLETE
    if not record.take():
        return RecoveryOutcome.SUPERVISED
    return complete(record, force=force, most_bytes=most_bytes)


def complete(
    record: Record, *, force: bool = False, most_bytes: int | None = None
) -> RecoveryOutcome:
    """Complete a record that this process holds, where that is possible.

    ``force`` as for :func:`recover`, ``most_bytes`` as for :func:`classify_logs`.
    """
    if record.read_json(SPEC) is None:
        return RecoveryOutcome.NOT_LAUNCHED
    ending = record.ending  # read only now: until it let go, a supervisor may have written it
    if ending is None:
        end = find_end_in_slurm(record) if is_remote(record) else None
        if end is None and not force and is_remote(record):
            return RecoveryOutcome.ELSEWHERE
        if has_processes(record):
            return RecoveryOutcome.RUNNING
        ending = reconstruct_ending(record, end)
        proof = {} if end is None else {"slurm_job": end.name, "slurm_state": end.status}
        _note(record, "recovered", by_pid=os.getpid(), **proof)
        record.store(EXIT, {**ending.to_json(), "survivors": []}, sync=True)
        _freeze_artifacts(record)
    record.store(VERDICT, encode(classify_logs(record, ending, most_bytes)))
    record.release_spare()
    _remember(record)
    return RecoveryOutcome.RECOVERED


def _freeze_artifacts(record: Record) -> None:
    """Start to freeze the files that an alert may carry, as they are now."""
    if record.spec.alerts is None:
        return
    from gpualert_common.notify.sender_launch import start_freeze  # most runs need none

    try:
        start_freeze(record.path)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise  # an engine's time-out, which may land here
        _note(record, "not_started", what="freeze", problem=str(error))


def _remember(record: Record) -> None:
    from gpualert_common.history import index_run  # most runs need none

    problem = index_run(record)
    if problem:
        _note(record, "history", problem=problem)


def _note(record: Record, event: str, **fields: Any) -> None:
    try:
        record.append_event(event, **fields)
    except OSError as error:
        if error.errno is None:
            raise  # an engine's time-out, which may land here
        # A full disk: the event is a help, and not the ending.


def classify_logs(record: Record, ending: Ending | None, most_bytes: int | None = None) -> Verdict:
    """Return the verdict of a record's logs; without an ending, of a run in progress.

    Of a log larger than ``most_bytes`` only begin and end are read.  For a run in progress that is
    ``LIVE_BYTES``: a person waits.
    """
    from gpualert_common.classifier import RunClassifier  # heavy; most runs need none

    classifier = RunClassifier(record.spec, record)
    path = None
    for name in record.logs:
        path = record.log_path(name)
        try:
            fd = record.open_log(name)
        except OSError as error:
            if error.errno is None:
                raise  # an engine's time-out, which may land here
            continue  # it was removed, or is not a log: the verdict is made without it
        with open(fd, "rb", buffering=0) as file:
            classifier.feed_file(file, name, LIVE_BYTES if ending is None else most_bytes)
    end = record.end_record
    facts = EndFacts(
        log_path=path,
        log_disk_full=record.event("log_disk_full") is not None,
        is_log_cut=record.event(LOG_CUT) is not None,
        survivors=0 if end is None else len(end.survivors),
    )
    return classifier.conclude(ending, facts)


def stop_unsupervised(record: Record, grace_s: float, sender: Sender | None = None) -> list[int]:
    """Stop the processes of a run that nobody supervises; return the ids of those left."""
    sender = {"pid": os.getpid()} if sender is None else sender
    sizes = {name: status.st_size for name in record.logs if (status := record.log_status(name))}
    terms = {"signal": int(signal.SIGTERM), "sender": sender, "grace_s": grace_s}
    _note(record, "stopping", **terms, log_bytes=sizes)
    stop = Stop(find_processes(record), signal.SIGTERM, grace_s, time.monotonic())
    return [pid for pid, _start in stop.complete()]


def finish_abandoned(record: Record, grace_s: float) -> None:
    """Stop the processes of a run whose guardian died, and complete its record."""
    if has_processes(record):
        because = "its guardian died"
        sender: Sender = {"pid": os.getpid(), "meant_as": "cancelled", "because": because}
        if submission_path(record.spec.command) is None:
            stop_unsupervised(record, grace_s, sender)
        else:
            _end_follower(record)
    recover(record)


def _end_follower(record: Record) -> None:
    """Kill the follower of a job of Slurm: SIGTERM would cancel the job, which goes on."""
    Stop(find_processes(record), signal.SIGKILL, 0.0, time.monotonic()).complete()


def reconstruct_ending(record: Record, end: SlurmEnd | None = None) -> Ending:
    """Return the ending of a lost run, as far as its supervisor wrote it down before it died.

    ``end`` is its end by Slurm's records.
    """
    launched = record.event("launched") or Event("launched")
    fields = {
        "started_at": launched.at or record.spec.created_at,
        "pid": launched.fields.get("pid"),
    }
    if end is not None:
        fields |= {"code": end.code, "ended_at": end.ended_at}
    exited = record.event("leader_exited")
    if exited is not None:
        fields |= {"code": exited.fields.get("code"), "ended_at": exited.at}
    stopping = record.event("stopping")
    if stopping is not None:
        fields |= {name: stopping.fields.get(name) for name in ("signal", "sender")}
    if record.event("time_limit") is not None:
        fields["limit"] = "time"
    if fields.get("code") is None:
        fields["code"] = _read_job_status(record)
    return Ending.from_json(encode(decode_valid(EndRecord, fields, record.path)))


def _read_job_status(record: Record) -> int | None:
    """Return the exit status of the job of Slurm that was the run; None for any other run."""
    job = read_followed_job(record.spec.command)
    return None if job is None or job.run_id != record.run_id else job.exit_status
