"""Trace of a run on request of a person: its PyTorch processes record themselves, all at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gpualert_common import recover
from gpualert_common.errors import RecordError, UsageError
from gpualert_common.kineto import stored_traces
from gpualert_common.kineto.clients import LATE_S, POLL_S
from gpualert_common.kineto.daemon_launch import LOCK, TRACES, TRACING, restart_daemon
from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.kineto.socket_directory import wake_daemon
from gpualert_common.kineto.stored_traces import RAW, REQUEST_LOCK, StoredTrace
from gpualert_common.kineto.trace_files import LEAST_FREE_BYTES, measure_free
from gpualert_common.live_facts import read_live_progress
from gpualert_common.record import Record

MOST_BYTES = 4 << 30
"""Limit of all traces of a run."""
_CHECK_S = 0.1
_SHORT_S = 0.01
_START_S = 2.0
"""Time for a daemon to start on a busy machine."""
_MARGIN_S = 10.0
_BEGIN_S = POLL_S + LATE_S + _MARGIN_S
_SAFE_S = 30.0
_SAFE_SHARE = 5.0
"""A process writes its trace for some seconds, and longer than it recorded."""
_LONGEST_S = 900.0
"""Longer than the daemon waits for the files of any trace."""


def take_trace(
    record: Record,
    request: TraceRequest,
    on_begin: Callable[[], None] = lambda: None,
    *,
    is_forced: bool = False,
) -> StoredTrace:
    """Have the processes of a run record a trace, and return it once all files are in the record.

    ``on_begin`` is called when the daemon has taken up the request.  Raises UsageError if the run
    cannot be traced, or no process could be asked, and unless ``is_forced`` also if the training
    ends soon; a process that has no trace has its reason in the result.
    """
    problem = request.find_problem()
    if problem:
        raise UsageError(problem)
    directory = _check_run(record)
    if not is_forced:
        _check_time_left(record, request.duration_s)
    with only_request(record):
        _check_space(record)
        _require_daemon(record)
        name = stored_traces.add_request(record, request)
        try:
            wake_daemon(directory)
            _await_begin(record, name)
            on_begin()
            return _await_result(record, name, request.duration_s)
        except BaseException:
            _withdraw(record, name)
            raise


def _check_run(record: Record) -> str:
    """Return the directory of the daemon's socket.  Raises UsageError."""
    run = record.run_id
    if not recover.is_in_progress(record):
        raise UsageError(f"{run} has ended; `gpualert trace --stored {run}` shows its traces")
    if not record.spec.tracing:
        raise UsageError(
            f"{run} was started without tracing, and PyTorch reads its settings at its start; "
            "start the next run with --tracing, GPUALERT_TRACING=1, or `tracing = true` in a file"
        )
    fields = record.read_json(TRACING) or {"problem": "its record has no socket"}
    if fields.get("problem"):
        raise UsageError(f"{run} cannot be traced: {fields['problem']}")
    directory = str(fields.get("directory"))
    if not recover.is_remote(record) and not os.path.isdir(directory):
        raise UsageError(
            f"{run} cannot be traced any more: {directory}, where PyTorch has its sockets, "
            "was removed"
        )
    return directory


def _check_time_left(record: Record, duration_s: float) -> None:
    """Raise UsageError for a training that ends soon: PyTorch crashes if it exits while it writes.

    See pytorch/pytorch#129626 and pytorch/kineto#1051; measured with PyTorch 2.13.
    """
    left_s = read_live_progress(record).estimate_left_s(time.time())
    if left_s is not None and left_s < _SAFE_S + _SAFE_SHARE * duration_s:
        raise UsageError(
            f"{record.run_id} has its last step in about {left_s:.0f} s, and a process that exits "
            "while PyTorch writes its trace crashes; to trace it nevertheless: --force"
        )


@contextmanager
def only_request(record: Record) -> Iterator[None]:
    """Hold the lock of the one request at a time.  Raises UsageError if there is another one."""
    try:
        lock_fd = record.try_lock(REQUEST_LOCK)
    except OSError:
        lock_fd = os.open(os.devnull, os.O_RDONLY)  # the filesystem supports no lock
    busy = UsageError(f"a trace of {record.run_id} is being taken; try again when it is complete")
    if lock_fd < 0:
        raise busy
    try:
        for name in stored_traces.list_names(record):
            _remove_forsaken(record, name, busy)
        yield
    finally:
        os.close(lock_fd)


def _remove_forsaken(record: Record, name: str, busy: UsageError) -> None:
    """Remove a request that is not taken up, and whose caller has gone away.

    Raises UsageError, ``busy``, for one that is.  Its folder of raw files is looked for first,
    since that is removed after the result is stored.
    """
    is_begun = os.path.isdir(os.path.join(record.path, TRACES, name, RAW))
    try:
        if stored_traces.read_trace(record, name).result is not None:
            return
    except RecordError:
        return
    if is_begun:
        raise busy
    stored_traces.remove_trace(record, name)


def _check_space(record: Record) -> None:
    taken = stored_traces.measure_traces(record)
    oldest = next(iter(stored_traces.list_names(record)), "")
    if taken > MOST_BYTES:
        raise UsageError(
            f"the traces of {record.run_id} take {taken >> 20} MiB, which is the limit; remove "
            f"some: rm -r {os.path.join(record.path, TRACES, oldest)}"
        )
    free = measure_free(record.path)
    if free < LEAST_FREE_BYTES:
        raise UsageError(
            f"{record.path}: {free >> 20} MiB of the disk are free; a trace needs "
            f"{LEAST_FREE_BYTES >> 20} MiB, so that the run keeps space for its own files"
        )


def _require_daemon(record: Record) -> None:
    """Start a daemon if the run has none, since it was killed after the supervisor."""
    if record.is_locked(LOCK) or recover.is_remote(record):
        return
    try:
        restart_daemon(record)
    except (OSError, RecordError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{record.run_id}: its tracing daemon does not start: {reason}") from None
    deadline = time.monotonic() + _START_S + _MARGIN_S
    while not record.is_locked(LOCK) and time.monotonic() < deadline:
        time.sleep(_CHECK_S)


def _await_begin(record: Record, name: str) -> None:
    """Return when the daemon has taken up the request.  Raises UsageError."""
    deadline = time.monotonic() + _BEGIN_S
    raw = os.path.join(record.path, TRACES, name, RAW)
    while time.monotonic() < deadline:
        if os.path.isdir(raw) or stored_traces.read_trace(record, name).result is not None:
            return
        time.sleep(_CHECK_S)
    raise UsageError(
        f"{record.run_id}: its tracing daemon gave no answer within {_BEGIN_S:.0f} s, so nothing "
        "was traced; it looks for requests when a process of the run asks it for a configuration"
    )


def _await_result(record: Record, name: str, duration_s: float) -> StoredTrace:
    deadline = time.monotonic() + duration_s + _LONGEST_S
    missing_since = 0.0
    while time.monotonic() < deadline:
        found = stored_traces.read_trace(record, name)
        if found.result is not None:
            _await_removal(os.path.join(found.path, RAW))
            if found.result.problem:
                raise UsageError(f"{record.run_id}: {found.result.problem}")
            return found
        now = time.monotonic()
        is_served = recover.is_remote(record) or record.is_locked(LOCK)
        missing_since = 0.0 if is_served else missing_since or now
        if missing_since and now - missing_since > _MARGIN_S:
            raise UsageError(f"{record.run_id}: its tracing daemon died during the trace")
        time.sleep(_CHECK_S)
    raise UsageError(f"{record.run_id}: the trace was not complete after {_LONGEST_S:.0f} s")


def _await_removal(raw: str) -> None:
    """Return once the daemon has removed the folder, which it does after storing the result."""
    deadline = time.monotonic() + _START_S
    while os.path.isdir(raw) and time.monotonic() < deadline:
        time.sleep(_SHORT_S)


def _withdraw(record: Record, name: str) -> None:
    """Remove a request that came to nothing; one that was taken up completes by itself."""
    with suppress(OSError, RecordError):
        folder = stored_traces.open_trace(record, name)
        if not folder.has(RAW) and not _has_files(folder.path):
            stored_traces.remove_trace(record, name)


def _has_files(path: str) -> bool:
    return any(name.endswith(".gz") for name in os.listdir(path))
