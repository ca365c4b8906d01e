"""Traces in the record of a run: one folder ``traces/NAME/`` for each.

=================  ==========================================================  ==============
file               content                                                     written by
=================  ==========================================================  ==============
request.json       the request                                                 who asks for it
raw/               what PyTorch writes; removed at the end of the trace        PyTorch
rank-0.json.gz     the trace of one rank, as Kineto makes it                   the daemon
result.json        the processes, and why one is missing                       the daemon
merged.json.gz     all ranks on one time axis                                  who asks for it
analysis.json      what the traces say                                         who asks for it
=================  ==========================================================  ==============
"""

from __future__ import annotations

import os
import time

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.kineto.daemon_launch import TRACES
from gpualert_common.kineto.requests import TraceRequest, TraceResult
from gpualert_common.record import Record, make_directory
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import open_file, remove_all
from gpualert_common.structs import Struct

REQUEST = "request.json"
RESULT = "result.json"
RAW = "raw"
MERGED = "merged.json.gz"
REQUEST_LOCK = ".trace-request"
"""Locked by the process that waits for a trace."""
_MOST_JSON_BYTES = 1 << 20
_NAME = "%Y%m%d-%H%M%S"


class StoredTrace(Struct, frozen=True):
    """A trace in a record; ``result`` is None while it is being taken."""

    name: str
    path: str
    request: TraceRequest
    result: TraceResult | None = None

    @property
    def merged_path(self) -> str:
        """Path of the trace of all ranks; "" if there is none."""
        path = os.path.join(self.path, MERGED)
        return path if os.path.exists(path) else ""


def list_traces(record: Record) -> list[StoredTrace]:
    """Return the traces in a record, oldest first, without damaged ones."""
    found = []
    for name in list_names(record):
        try:
            found.append(read_trace(record, name))
        except RecordError:
            continue
    return found


def list_names(record: Record) -> list[str]:
    """Return the names of the folders of traces, oldest first."""
    try:
        names = os.listdir(os.path.join(record.path, TRACES))
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith("."))


def read_trace(record: Record, name: str) -> StoredTrace:
    """Return the trace of that name.  Raises RecordError if it is missing or damaged."""
    folder = open_trace(record, name)
    where = os.path.join(folder.path, REQUEST)
    fields = folder.read_json(REQUEST, _MOST_JSON_BYTES)
    if fields is None:
        raise RecordError(f"{where}: no such file")
    result_fields = folder.read_json(RESULT, _MOST_JSON_BYTES)
    result = None
    if result_fields is not None:
        result = decode(TraceResult, result_fields, os.path.join(folder.path, RESULT))
    return StoredTrace(name, folder.path, decode(TraceRequest, fields, where), result)


def open_trace(record: Record, name: str) -> Directory:
    """Return the folder of a trace.  Raises RecordError."""
    return Directory.open(os.path.join(record.path, TRACES, name))


def add_request(record: Record, request: TraceRequest) -> str:
    """Add a request to the record, as a whole; return the name of the trace.  Raises OSError.

    The daemon sees that ``traces/`` has changed, which it does only once.
    """
    traces = os.path.join(record.path, TRACES)
    make_directory(traces)
    name = f"{time.strftime(_NAME, time.gmtime(request.at))}-{int(request.at * 1000) % 1000:03d}"
    hidden = os.path.join(record.path, f".{TRACES}.{name}.{os.getpid()}")
    os.mkdir(hidden, 0o700)
    try:
        Directory.open(hidden).write_json(REQUEST, encode(request))
        os.rename(hidden, os.path.join(traces, name))
    except OSError:
        remove_folder(hidden)
        raise
    return name


def remove_trace(record: Record, name: str) -> None:
    """Remove a trace from the record.  Raises OSError."""
    remove_folder(os.path.join(record.path, TRACES, name))


def remove_folder(path: str) -> None:
    """Remove a folder with all in it, if there is one.  Raises OSError."""
    if empty_folder(path):
        os.rmdir(path)


def empty_folder(path: str) -> bool:
    """Remove all that is in a folder; False if there is no such folder.  Raises OSError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        remove_all(fd)
    finally:
        os.close(fd)
    return True


def measure_traces(record: Record) -> int:
    """Return the bytes of the files of all traces in a record."""
    total = 0
    for folder, _folders, files in os.walk(os.path.join(record.path, TRACES)):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # it was removed meanwhile
    return total


def open_trace_file(trace: StoredTrace, name: str) -> int:
    """Return a descriptor that reads a file of a trace.  Raises OSError, also for a link."""
    fd = os.open(trace.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return open_file(fd, name)
    finally:
        os.close(fd)
