"""One request in the daemon: its end, also where nothing can be stored."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.kineto import trace_completion
from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.requested_trace import RequestedTrace, fail_unfinished
from gpualert_common.kineto.requests import TracedProcess, TraceRequest, TraceResult
from gpualert_common.kineto.stored_traces import (
    add_request,
    list_traces,
    open_trace,
    remove_trace,
)
from gpualert_common.kineto.trace_completion import complete_trace
from gpualert_common.kineto.traced_end import TRACE_BEGUN, TRACE_COMPLETE
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


def take_up(record: Record, leader: int | None) -> RequestedTrace:
    """Return the oldest request once it has come to its end."""
    trace = RequestedTrace(record, leader, "no marker", Clients())
    until(trace.update, "the end of the request")
    return trace


def block_result(record: Record, name: str) -> Path:
    """Return a path that keeps the result of a request from being stored until it is removed."""
    path = open_folder(record, name) / f".result.json.{os.getpid()}"
    path.mkdir()
    return path


def test_result_that_cannot_be_stored(record: Record) -> None:
    """The result is kept until it can be stored; the next request is taken up then."""
    name = add_request(record, TraceRequest(at=1.0, duration_s=1e6))
    obstacle = block_result(record, name)
    trace = RequestedTrace(record, None, "no marker", Clients())
    until(lambda: trace.has_request, "the request to be found")
    for _tick in range(3):
        assert not trace.update()
    obstacle.rmdir()
    until(trace.update, "the result to be stored")
    following = add_request(record, TraceRequest(at=2.0, duration_s=1e6))
    assert take_up(record, None).has_request
    assert not take_up(record, None).has_request
    found = [one for one in list_traces(record) if one.result is not None]
    assert [one.name for one in found] == [name, following]


def test_end_of_a_trace_whose_result_is_stored_late(record: Record, leader: int) -> None:
    """The event of its end has the time at which it ended, once the result is stored."""
    name = add_request(record, TraceRequest(at=1.0))
    obstacle = block_result(record, name)
    clients = Clients()
    clients.note(leader, time.monotonic())
    trace = RequestedTrace(record, leader, "no marker", clients)
    until(lambda: trace.update() or record.event(TRACE_BEGUN), "the trace to begin")
    folder = open_folder(record, name)
    (folder / "raw" / f"trace-{leader}_{leader}.json").write_text('{"traceEvents": []}')
    until(lambda: trace.update() or not list(folder.glob("raw/*")), "the trace to be compressed")
    assert not trace.update()
    assert record.event(TRACE_COMPLETE) is None
    not_stored_at = time.time()
    obstacle.rmdir()
    until(trace.update, "the result to be stored")
    event = record.event(TRACE_COMPLETE)
    assert event is not None
    assert event.fields["pids"] == [leader]
    assert event.at <= not_stored_at


def test_request_withdrawn_by_its_caller(record: Record, leader: int) -> None:
    """A request that is removed while its processes are looked for comes to an end."""
    name = add_request(record, TraceRequest(at=1.0))
    trace = RequestedTrace(record, leader, "no marker", Clients(time.monotonic() + 0.2))
    until(lambda: trace.has_request, "the request to be found")
    remove_trace(record, name)
    until(trace.update, "the end of the request")
    assert list_traces(record) == []


def test_trace_that_cannot_begin(record: Record, leader: int) -> None:
    """A trace without a folder for its files is refused, and leaves no descriptor open."""
    name = add_request(record, TraceRequest(at=1.0))
    (open_folder(record, name) / "raw").touch()
    gc.collect()  # what earlier tests left
    before = len(os.listdir("/proc/self/fd"))
    take_up(record, leader)
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


def test_daemon_that_died_on_a_full_disk(record: Record) -> None:
    """A trace without space for its result is removed, so that it does not block the next one."""
    name = add_request(record, TraceRequest(at=1.0))
    (open_folder(record, name) / "raw").mkdir()
    block_result(record, name)
    fail_unfinished(record)
    assert not Path(record.path, "traces", name).exists()
    with only_request(record):
        pass


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
