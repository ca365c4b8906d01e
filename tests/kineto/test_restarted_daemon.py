"""A daemon that is started again: its lock, its leader, and the requests that it finds."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.daemon import TracingProgram, find_leader, take_lock
from gpualert_common.kineto.daemon_launch import LOCK, TRACES, TRACING, restart_daemon
from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.kineto.socket_directory import bind_socket, make_socket_directory
from gpualert_common.kineto.stored_traces import add_request, list_traces
from gpualert_common.processes.procfs import read_stat
from gpualert_common.record import Record
from tests.supervised import until


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A record without a run."""
    made = Record.create(str(tmp_path / "record"), sync=False)
    yield made
    made.close()


@pytest.fixture
def directory() -> Iterator[str]:
    """A directory for the sockets."""
    path = make_socket_directory({})
    yield path
    for name in os.listdir(path):
        os.unlink(os.path.join(path, name))
    os.rmdir(path)


def test_lock_that_is_looked_at(record: Record) -> None:
    """A daemon gets the lock although another process holds it for a moment."""
    held = record.try_lock(LOCK)
    timer = threading.Timer(0.02, os.close, (held,))
    timer.start()
    assert take_lock(record)
    timer.join()


def test_other_daemon(record: Record, directory: str) -> None:
    """A daemon that finds another one fails, so that the supervisor tries again later."""
    record.write_json(TRACING, {"schema": 1, "directory": directory})
    held = record.try_lock(LOCK)
    assert not take_lock(record)
    assert restart_daemon(record).wait(30) == 1
    os.close(held)


def test_leader(record: Record) -> None:
    """The leader is known by its number and its start; another process with its number is none."""
    assert find_leader(record) is None
    stat = read_stat(os.getpid())
    assert stat is not None
    record.append_event("launched", pid=stat.pid, start_ticks=stat.start_ticks)
    assert find_leader(record) == stat.pid


@pytest.mark.parametrize("start_ticks", [1, None, "1"])
def test_number_of_the_leader_that_another_process_has(record: Record, start_ticks: object) -> None:
    """A process that did not start when the leader did is not traced in its place."""
    record.append_event("launched", pid=os.getpid(), start_ticks=start_ticks)
    assert find_leader(record) is None


def test_request_in_the_same_moment(record: Record, directory: str) -> None:
    """A request is found although its folder has the time at which there was none."""
    traces = Path(record.path, TRACES)
    (traces / "folder").mkdir(parents=True)
    with bind_socket(directory) as bound:
        program = TracingProgram(record, "no marker", directory, bound, Clients())
        program.find_request()
        until(program.update_trace, "the search that finds nothing")
        changed_at = traces.stat().st_mtime_ns
        add_request(record, TraceRequest(at=1.0, duration_s=1e6))
        os.utime(traces, ns=(changed_at, changed_at))
        program.find_request()
        until(program.update_trace, "the end of the request")
    (found,) = list_traces(record)
    assert found.result is not None


def test_request_appears_whole(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the traces changes once with a request; one that fails leaves nothing."""
    traces = Path(record.path, TRACES)
    traces.mkdir()
    seen: list[str] = []
    rename = os.rename

    def refuse(source: str, target: str, **folders: int) -> None:
        if folders:
            rename(source, target, **folders)
            return
        seen.extend(os.listdir(traces))
        raise OSError(errno.EIO, "refused")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="refused"):
        add_request(record, TraceRequest(at=1.0))
    assert seen == []
    assert os.listdir(record.path) == [TRACES]
