"""Processes that are to record a trace: ranks, and the program of a run without ranks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.requested_trace import RequestedTrace
from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.kineto.stored_traces import add_request
from gpualert_common.kineto.targets import find_targets
from gpualert_common.kineto.traced_end import TRACE_BEGUN
from gpualert_common.processes.procfs import read_environment
from gpualert_common.record import Record
from gpualert_common.record.events import Event
from tests.supervised import until

STARTS_PROGRAM = """
import subprocess
with subprocess.Popen(["sleep", "600"]) as one:
    print(one.pid, flush=True)
    one.wait()
"""


@pytest.fixture(params=["launch.py", "accelerate"])
def launched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The numbers of a launcher and of the program that it has started."""
    path = tmp_path / request.param
    path.write_text(STARTS_PROGRAM)
    launcher = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE)
    assert launcher.stdout is not None
    program = int(launcher.stdout.readline())
    yield launcher.pid, program
    os.kill(program, 9)
    launcher.communicate()


def find_pid(leader: int, askers: set[int]) -> int:
    """Return the number of the only process that would be traced."""
    targets = find_targets(leader, "no marker", (), askers)
    (one,) = targets.processes.values()
    targets.close()
    return one.pid


def test_program_of_a_launcher(launched: tuple[int, int]) -> None:
    """In a run without ranks the process that asks is traced, and not the one that launched it."""
    launcher, program = launched
    assert find_pid(launcher, {program}) == program
    assert find_pid(launcher, set()) == launcher


@pytest.mark.parametrize("launched", ["accelerate"], indirect=True)
def test_launcher_that_asks(launched: tuple[int, int]) -> None:
    """A launcher that imports PyTorch is not traced."""
    assert find_pid(launched[0], set(launched)) == launched[1]


@pytest.mark.parametrize("launched", ["launch.py"], indirect=True)
def test_program_that_starts_others(launched: tuple[int, int]) -> None:
    """A program that asks is traced, and not a process that it has started."""
    assert find_pid(launched[0], set(launched)) == launched[0]


def test_run_without_its_leader() -> None:
    """Of a run whose leader has ended only the processes with its marker are traced."""
    environment = {**os.environ, "GPUALERT_MARK_here": "1"}
    marked, other = (
        subprocess.Popen(["sleep", "600"], env=given, start_new_session=True)
        for given in (environment, None)
    )
    until(lambda: read_environment(marked.pid), "the program to be executed")
    targets = find_targets(None, "GPUALERT_MARK_here", (), {marked.pid, other.pid})
    targets.close()
    for one in (marked, other):
        one.kill()
        one.wait()
    assert [one.pid for one in targets.processes.values()] == [marked.pid]


@pytest.mark.parametrize("launched", ["launch.py"], indirect=True)
def test_program_that_asks_late(launched: tuple[int, int], tmp_path: Path) -> None:
    """A new daemon waits for those that asked the earlier one before it chooses the program."""
    launcher, program = launched
    record = Record.create(str(tmp_path / "record"), sync=False)
    add_request(record, TraceRequest(at=1.0))
    clients = Clients(time.monotonic() + 0.5)
    trace = RequestedTrace(record, launcher, "no marker", clients)
    until(lambda: trace.has_request, "the request to be found")
    clients.note(program, time.monotonic())
    begun = until(lambda: trace.update() or record.event(TRACE_BEGUN), "the trace to begin")
    trace.close()
    record.close()
    assert isinstance(begun, Event)
    assert begun.fields["pids"] == [program]


def test_missing_ranks() -> None:
    """Chosen ranks that the run does not have are named."""
    rank = subprocess.Popen(["sleep", "600"], env={**os.environ, "RANK": "3"})
    until(lambda: read_environment(rank.pid), "the program to be executed")
    targets = find_targets(rank.pid, "no marker", (0, 3, 7))
    targets.close()
    rank.kill()
    rank.wait()
    assert list(targets.processes) == ["rank:3"]
    assert targets.missing == (0, 7)
