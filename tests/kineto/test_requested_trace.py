"""One request in the daemon: its end, also where nothing can be stored."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.kineto import trace_completion
from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.requested_trace import RequestedTrace, fail_unfinished
from gpualert_common.kineto.requests import TracedProcess, TraceRequest, TraceResult
from gpualert_common.kineto.stored_traces import add_request, list_traces, open_trace
from gpualert_common.kineto.trace_completion import complete_trace
from gpualert_common.record import Record
from gpualert_common.trace_request import only_request
from tests.supervised import until


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A record without a run."""
    made = Record.create(str(tmp_path / "record"), sync=False)
    yield made
    made.close()


@pytest.fixture
def leader() -> Iterator[int]:
    """A process that can be chosen for a trace."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def open_folder(record: Record, name: str) -> Path:
    """Return the path of the folder of a trace."""
    return Path(open_trace(record, name).path)


def take_up(record: Record, leader: int, handled: set[str]) -> RequestedTrace:
    """Return the oldest request once it has come to its end."""
    trace = RequestedTrace(record, leader, "no marker", Clients(), handled)
    until(trace.update, "the end of the request")
    return trace


def test_result_that_cannot_be_stored(record: Record) -> None:
    """A request whose result cannot be stored is taken up once; the next one is taken up."""
    name = add_request(record, TraceRequest(at=1.0, duration_s=1e6))
    (open_folder(record, name) / f".result.json.{os.getpid()}").mkdir()
    handled: set[str] = set()
    assert take_up(record, 0, handled).has_request
    assert not take_up(record, 0, handled).has_request
    following = add_request(record, TraceRequest(at=2.0, duration_s=1e6))
    assert take_up(record, 0, handled).has_request
    assert [one.name for one in list_traces(record) if one.result is not None] == [following]


def test_trace_that_cannot_begin(record: Record, leader: int) -> None:
    """A trace without a folder for its files is refused, and leaves no descriptor open."""
    name = add_request(record, TraceRequest(at=1.0))
    (open_folder(record, name) / "raw").touch()
    gc.collect()  # what earlier tests left
    before = len(os.listdir("/proc/self/fd"))
    take_up(record, leader, set())
    assert len(os.listdir("/proc/self/fd")) == before


def test_daemon_that_died_while_it_stored(record: Record) -> None:
    """A trace with a result keeps it; one without gets a result, and an event for its end."""
    complete = add_request(record, TraceRequest(at=1.0))
    open_trace(record, complete).write_json("result.json", {"schema": 1, "duration_s": 2.0})
    unfinished = add_request(record, TraceRequest(at=2.0))
    for name in (complete, unfinished):
        (open_folder(record, name) / "raw").mkdir()
        (open_folder(record, name) / "raw" / "trace-1.json.tmp").touch()
    (open_folder(record, unfinished) / ".rank-0.json.gz.tmp").touch()
    fail_unfinished(record)
    found = [one.result for one in list_traces(record)]
    assert found[0] == TraceResult(duration_s=2.0)
    assert found[1] is not None
    assert "daemon died" in found[1].problem
    assert [event.fields["trace"] for event in record.events()] == [unfinished]
    for name in (complete, unfinished):
        kept = {path.name for path in open_folder(record, name).iterdir()}
        assert kept == {"request.json", "result.json"}


def test_request_while_a_trace_completes(record: Record) -> None:
    """A request is refused while files of another one are there, and removes no result."""
    name = add_request(record, TraceRequest(at=1.0))
    raw = open_folder(record, name) / "raw"
    raw.mkdir()
    with pytest.raises(UsageError, match="is being taken"), only_request(record):
        pass
    open_trace(record, name).write_json("result.json", {"schema": 1})
    raw.rmdir()
    forsaken = add_request(record, TraceRequest(at=2.0))
    with only_request(record):
        assert [one.name for one in list_traces(record)] == [name]
    assert not Path(record.path, "traces", forsaken).exists()


def test_merge_without_space(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are not merged on a disk that has too little space for it; with space they are."""
    name = add_request(record, TraceRequest(at=1.0))
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    text = json.dumps({"baseTimeNanoseconds": 0, "traceEvents": [event]})
    path = open_folder(record, name) / "rank-0.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    process = TracedProcess("rank:0", 1, path.name, len(text))
    open_trace(record, name).write_json("result.json", encode(TraceResult(processes=(process,))))
    (trace,) = list_traces(record)
    with monkeypatch.context() as patched:
        patched.setattr(trace_completion, "LEAST_FREE_BYTES", 1 << 62)
        assert "not merged: the disk has too little space" in complete_trace(trace)
    assert not trace.merged_path
    assert complete_trace(trace) == ""
    assert trace.merged_path
