"""Removal of records: only of runs that have ended, and finished later if it is interrupted.

A record is renamed into ``runs/.trash/`` and then deleted there, so that it is complete or gone for
every reader.  Its lock is held meanwhile; the next removal deletes what an interrupted one left.
"""

from __future__ import annotations

import os
import time

from gpualert_common.errors import DamagedFileError, RecordError, UsageError
from gpualert_common.kineto.daemon_launch import remove_left_sockets
from gpualert_common.notify.entry import UNSENT
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.reconciliation import preview
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import OUTCOME, SPEC, Record
from gpualert_common.record.files import remove_all, try_lock
from gpualert_common.record.marks import UNDELIVERED, UNFINISHED
from gpualert_common.record.private_directory import open_folder
from gpualert_common.record_locations import RUNS

TRASH = ".trash"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 20
_BLOCK_BYTES = 512
"""Unit of ``st_blocks`` on Linux, whatever the filesystem."""


def find_obstacle(record: Record, *, force: bool = False) -> str:
    """Return the reason to keep a record; empty if it can be removed.

    With ``force`` an alert that is not delivered is none, nor a result that no task has taken.
    """
    try:
        if record.is_held:
            return _describe_use(record)
        return _find_reason(record, force=force)
    except DamagedFileError:
        return _find_processes(record.run_id)
    except (RecordError, OSError) as error:
        return str(error)


def measure_size(record: Record) -> int:
    """Return the bytes that a record takes on the disk."""
    total = 0
    for folder, _folders, files in os.walk(record.path):
        for name in (*files, ""):
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * _BLOCK_BYTES
            except OSError:
                continue  # it was removed meanwhile
    return total


def remove_record(record: Record, *, force: bool = False) -> None:
    """Remove a record.

    Raises UsageError with the obstacle if it must be kept, and OSError if it is in the trash and
    cannot be deleted now.
    """
    obstacle = find_obstacle(record, force=force)
    if not obstacle and not record.take():
        obstacle = _describe_use(record)
    if not obstacle and record.is_removed:
        obstacle = "it was removed meanwhile"
    if obstacle:
        raise UsageError(obstacle)
    try:
        remove_left_sockets(record)
    except RecordError:
        pass  # a damaged file
    place = os.path.dirname(os.path.dirname(record.path))
    name = f"{record.run_id}.{time.time_ns()}"
    runs = open_folder(place, RUNS)
    try:
        trash = _move_to_trash(record.run_id, name, place, runs)
        for marks in (UNDELIVERED, UNFINISHED):
            try:
                marks.remove(record.path)
            except OSError:
                pass  # as a rule there is none
        try:
            _delete(name, trash)
        finally:
            os.close(trash)
        _remove_trash(runs)
    finally:
        os.close(runs)


def empty_trash(place: str) -> None:
    """Delete the records that an interrupted removal left in a state directory.

    Raises OSError if one cannot be deleted.
    """
    try:
        runs, trash = open_folder(place, RUNS), open_folder(place, RUNS, TRASH)
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(trash):
            try:
                fd = os.open(name, _DIRECTORY, dir_fd=trash)
            except FileNotFoundError:
                continue  # another process has just deleted it
            try:
                if try_lock(fd):  # otherwise another process deletes it now
                    _delete(name, trash)
            finally:
                os.close(fd)
        _remove_trash(runs)
    finally:
        os.close(runs)
        os.close(trash)


def _find_reason(record: Record, *, force: bool) -> str:
    if not record.has(SPEC):
        return _find_processes(record.run_id)  # it was never launched
    end = record.end_record
    if end is None:
        return f"its end is not recorded; finish it first: gpualert recover {record.run_id}"
    if end.survivors and (alive := _find_processes(record.run_id)):
        return alive
    if force:
        return ""
    owner = record.spec.owner
    if owner.get("key") and record.claimed_by is None and record.read_json(OUTCOME) is None:
        return "no task has taken its result yet; to remove it nevertheless: --force"
    entries = [*preview(record)[1], *Outbox(record).warnings()]
    unsent = next((entry for entry in entries if entry.state in UNSENT), None)
    if unsent is not None:
        return f"its alert to {unsent.channel} is not delivered; to remove it nevertheless: --force"
    return ""


def _describe_use(record: Record) -> str:
    """Return the words for a record that a process holds."""
    state = record.state
    return f"it is {state}" if record.end_record is None else "its end is still being processed"


def _find_processes(run_id: str) -> str:
    """Return the reason to keep the record of a run with live processes; empty without any."""
    members = ProcessTree(None, run_marker(run_id)).members()
    for process in members:
        process.close()
    return f"{len(members)} of its processes are alive" if members else ""


def _move_to_trash(run_id: str, name: str, place: str, runs: int) -> int:
    """Rename a record into the trash, and return a descriptor of the trash.  Raises OSError."""
    left = _TRIES
    while True:
        try:
            trash = open_folder(place, RUNS, TRASH, create=True)
            try:
                os.rename(run_id, name, src_dir_fd=runs, dst_dir_fd=trash)
                os.fsync(runs)
            except OSError:
                os.close(trash)
                raise
            return trash
        except FileNotFoundError:  # another removal has just removed the trash, which was empty
            left -= 1
            if not left:
                raise


def _delete(name: str, trash: int) -> None:
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=trash)
    except FileNotFoundError:
        return
    try:
        remove_all(fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=trash)


def _remove_trash(runs: int) -> None:
    try:
        os.rmdir(TRASH, dir_fd=runs)
    except OSError:
        pass  # another process is removing a record
