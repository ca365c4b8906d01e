"""Recovery in the background: the program that finishes runs whose supervisor died.

A program (:mod:`gpualert_common.processes.program`).  Its stdin is one JSON object: the state
directories to look at.  One process at a time works in each; a mark stays until the record is
complete and its alert is sent, queued or not needed, so that another process can go on if this one
dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time

from gpualert_common.abandoned_runs import mark_finished
from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.job_part import read_part
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.schedule import DUE, OUTCOME_S, AlertAction
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.processes.bootstrap import extend_import_path
from gpualert_common.processes.program import start_program
from gpualert_common.record import EXIT, VERDICT, Record
from gpualert_common.record.marks import UNFINISHED
from gpualert_common.recover import is_abandoned, recover
from gpualert_common.slurm.submissions.follower_command import CONTINUATION
from gpualert_common.slurm.submissions.submission import list_unfollowed
from gpualert_common.supervise.detachment import limit_process
from gpualert_common.supervise.live_classifier import FAILURE_TAIL_BYTES

_MOST_TRIES = 3
"""A record that ended so many processes of ours gets no verdict; `gpualert recover` may make it."""
_SEND_S = 15.0
"""Then the sender goes on alone."""
_CONTINUE_S = 60.0
_ASK_S = 120.0
"""Slurm is asked about runs of other machines for so long; a later process asks about the rest."""
_TRY = "recovery_started"


def main() -> None:
    """Serve one request; exits, never returns."""
    request = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # this process has no parent: an engine may kill the children of its task
    limit_process()
    extend_import_path(request["sys_path"])
    _continue_jobs(request["places"])
    for place in request["places"]:
        with contextlib.suppress(OSError):  # the place was removed, or supports no lock
            _finish_place(place)
    os._exit(0)


def _continue_jobs(places: list[str]) -> None:
    """Have each job of Slurm that nobody follows any more followed again by a new run.

    First, since that completes the records of the runs before.
    """
    if any(list_unfollowed(place) for place in places):
        continuation = start_program(CONTINUATION, *places)
        with contextlib.suppress(subprocess.TimeoutExpired):
            continuation.wait(_CONTINUE_S)


def _finish_place(place: str) -> None:
    """Finish the runs of a state directory, unless another process does."""
    lock_fd = UNFINISHED.try_lock(place)
    if lock_fd < 0:
        return
    seen: set[str] = set()
    asks_until = time.monotonic() + _ASK_S
    while new := [path for path in UNFINISHED.list_records(place) if path not in seen]:
        seen.update(new)
        for path in new:
            with contextlib.suppress(GPUAlertError, OSError):  # a later process looks at it again
                _finish_run(Record.open(path), asks_slurm=time.monotonic() < asks_until)
    os.close(lock_fd)


def _finish_run(record: Record, *, asks_slurm: bool) -> None:
    if is_abandoned(record, asks_slurm=asks_slurm) and _complete(record) and _deliver(record):
        mark_finished(record.path, is_undelivered=False)


def _complete(record: Record) -> bool:
    """Give the record its ending and its verdict; False while a process has the record."""
    if record.has(EXIT) and record.has(VERDICT):
        return True
    tries = sum(event.name == _TRY for event in record.events())
    if tries >= _MOST_TRIES:
        return record.has(EXIT)
    record.append_event(_TRY)
    try:
        recover(record, most_bytes=FAILURE_TAIL_BYTES)
    except GPUAlertError:
        raise
    except Exception:  # noqa: BLE001 - the boundary: its alert is sent without a verdict
        import traceback

        record.append_event("classifier_failed", problem=traceback.format_exc(limit=-3))
    finally:
        record.release_own_lock()
    return record.has(EXIT)


def _deliver(record: Record) -> bool:
    """Send the alert; False if it is not due yet, because another attempt at its task may follow.

    An alert that the channel does not take at once is then with its sender.
    """
    decision, _entries = reconcile(record)
    if decision.action is AlertAction.WAIT:
        time.sleep(min(OUTCOME_S, max(0.0, decision.until - time.time())))
        decision, _entries = reconcile(record)
    if decision.action in DUE:
        dispatch(record.path, deadline_s=_SEND_S)
    elif read_part(record) is not None:  # its digest is to be published
        dispatch(record.path, deadline_s=0.0)
    return decision.action in (*DUE, AlertAction.SKIP)
