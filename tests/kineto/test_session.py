"""One trace in the daemon: the files of its processes, and the reasons for those that have none."""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto import trace_files
from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.requests import TracedProcess, TraceRequest
from gpualert_common.kineto.session import TraceSession
from gpualert_common.kineto.targets import Targets
from gpualert_common.processes.pidfd import Process
from tests.supervised import until

TRACE = b'{"traceEvents": []}'


class Training:
    """A process that is traced, and the folders of its trace."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.path = path
        self.raw = path / "raw"
        self.raw.mkdir()
        self.clients = Clients()

    def begin(self, duration_s: float = 0.1, *, missing: tuple[int, ...] = ()) -> TraceSession:
        """Return a session of this process; of the chosen ranks, these are missing."""
        process = Process.open(self.process.pid)
        assert process is not None
        targets = Targets({"rank:0": process}, missing=missing)
        request = TraceRequest(at=1.0, duration_s=duration_s)
        return TraceSession(request, targets, self.clients, str(self.path), str(self.raw))

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def write(self, pid: int, text: bytes = TRACE) -> None:
        """Write the trace of a process as PyTorch names it."""
        (self.raw / f"trace-{pid}_{pid}.json").write_bytes(text)


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Training]:
    """A process that lives until the test ends, on a machine without other work."""
    monkeypatch.setattr("gpualert_common.kineto.session.read_load", lambda: 1.0)
    with subprocess.Popen(["sleep", "600"]) as process:
        yield Training(tmp_path, process)
        process.kill()


def finish(session: TraceSession) -> TracedProcess:
    """Return the result of the only process."""
    (found,) = session.finish().processes
    return found


def test_trace_of_another_process(training: Training) -> None:
    """A process does not get the trace of one whose number begins with its own."""
    pid = training.process.pid
    other = pid * 10 + 1
    session = training.begin()
    training.write(other)
    assert not session.update()
    training.write(pid)
    until(session.update, "the trace of the process itself")
    assert finish(session).file == "rank-0.json.gz"
    assert [one.name for one in training.raw.iterdir()] == [f"trace-{other}_{other}.json"]


def test_run_that_ends_while_a_trace_is_compressed(training: Training) -> None:
    """The trace of a process that has ended is kept if it was complete."""
    session = training.begin()
    text = b'{"traceEvents": [' + os.urandom(4 << 20).hex().encode() + b"]}"
    training.write(training.process.pid, text)
    training.end()
    found = finish(session)
    assert found.trace_bytes == len(text)
    assert gzip.decompress((training.path / found.file).read_bytes()) == text


def test_process_that_ended(training: Training) -> None:
    """A process that ended without a file is known to have done so."""
    session = training.begin()
    assert session.ended_pids == []
    training.end()
    assert session.update()
    assert session.ended_pids == [training.process.pid]
    assert "it ended before" in finish(session).problem


def test_missing_rank(training: Training) -> None:
    """A chosen rank that is not there has its reason, and the others have their traces."""
    session = training.begin(missing=(7,))
    training.write(training.process.pid)
    until(session.update, "the trace")
    found, missing = session.finish().processes
    assert found.file
    assert (missing.rank, missing.pid, missing.file) == ("rank:7", 0, "")
    assert missing.problem == "the run has no such rank on this machine"


def test_other_profiler(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that goes on asking while it records a trace of its own is not called stopped."""
    training.clients.note(training.process.pid, time.monotonic(), is_idle=False)
    session = training.begin()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 9)
    training.clients.note(training.process.pid, now + 9, is_idle=False)
    until(session.update, "the end of the waiting")
    assert finish(session).problem == "another profiler runs in it"


def test_question_that_gets_no_answer(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose next question is left out gets its configuration with the one after it."""
    now = time.monotonic()
    training.clients.note(training.process.pid, now)
    training.clients.skip_all()
    session = training.begin()
    monkeypatch.setattr(time, "monotonic", lambda: now + 10.5)
    assert not session.update()
    assert "ACTIVITIES_LOG_FILE=" in session.configure(training.process.pid)
    session.finish()


def test_files_beyond_the_limit(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that grow too large are discarded while they are written, until nobody writes more."""
    monkeypatch.setattr(trace_files, "MOST_RAW_BYTES", 1 << 20)
    session = training.begin()
    with open(training.raw / "trace-1_1.json.tmp", "wb", buffering=0) as file:
        file.write(b"x" * (2 << 20))
        assert not session.update()
        file.write(b"x" * (2 << 20))
        assert not session.update()
        assert os.fstat(file.fileno()).st_blocks == 0
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 10.1)
        assert session.update()
    assert "files of all processes are larger" in finish(session).problem


def test_process_that_prepares_its_trace(
    training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has begun its file is waited for, although the file does not grow."""
    training.clients.note(training.process.pid, time.monotonic())
    session = training.begin()
    assert session.configure(training.process.pid)
    writing = training.raw / f"trace-{training.process.pid}_{training.process.pid}.json.tmp"
    writing.touch()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 500)
    assert not session.update()
    writing.unlink()
    assert session.update()
    assert "has written no trace" in finish(session).problem


@pytest.mark.parametrize("duration_s", [2.0, 60.0])
def test_preparation_of_a_long_trace(
    training: Training, monkeypatch: pytest.MonkeyPatch, duration_s: float
) -> None:
    """A long trace has more time until its file begins."""
    training.clients.note(training.process.pid, time.monotonic())
    session = training.begin(duration_s)
    assert session.configure(training.process.pid)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 5 * duration_s + 60)
    assert not session.update()
    monkeypatch.setattr(time, "monotonic", lambda: now + 6 * duration_s + 80)
    assert session.update()
    session.finish()
