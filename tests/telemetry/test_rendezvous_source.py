"""Tests of the source ``rendezvous`` with real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpualert_common.telemetry.sources import rendezvous
from tests.supervised import free_port
from tests.telemetry import host
from tests.telemetry.host import MARK, SourceOutput, sample

Start = Callable[..., subprocess.Popen[bytes]]

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"
LISTENS = """
import os, socket, sys
with socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"]))):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start processes of a run, which end with the test; silence counts at once."""
    monkeypatch.setattr(rendezvous, "QUIET_S", 0.0)
    monkeypatch.setattr(rendezvous, "WORKING_CORES", 1e9)
    started: list[subprocess.Popen[bytes]] = []

    def run(code: str, **variables: object) -> subprocess.Popen[bytes]:
        given = {name: str(value) for name, value in variables.items()}
        process = subprocess.Popen(
            (sys.executable, "-c", code),
            env={**os.environ, MARK: "1", **given},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for one in started:
        one.communicate()


def watch(process: subprocess.Popen[bytes], log: Path) -> Callable[[], SourceOutput]:
    """Return a function that samples the run of this leader, with this log."""
    source = host.opened("rendezvous", process.pid, logs=(str(log),))
    return lambda: sample(source)


def test_wrong_world_size(start: Start, tmp_path: Path) -> None:
    """On the coordinator's machine the listener and the ranks are known, until the first step."""
    log = tmp_path / "output.log"
    log.write_text("starting\n")
    port = free_port()
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": 3}
    first = start(LISTENS, RANK=0, **group)
    start(WAITS, RANK=1, **group)
    take = watch(first, log)
    output = take()
    (state,) = output.of_kind("rendezvous_state")
    assert state.fields["ranks"] == (0, 1)
    assert (state.fields["pid"], state.fields["world_size"]) == (first.pid, 3)
    assert state.fields["is_own"]
    assert set(output.samples["rendezvous"]) == {
        "waiting_seconds",
        "attempts_total",
        "trials_total",
    }
    assert not take().events, "a state is reported once"
    with log.open("a") as file:
        file.write("step 1: loss 2.3\n")
    assert [event.what for event in take().events] == ["training_began"]
    assert take() == SourceOutput({}, [])


def test_repeated_rank(start: Start, tmp_path: Path) -> None:
    """Two processes of one rank are noticed, and the port that one of them holds."""
    log = tmp_path / "output.log"
    log.touch()
    port = free_port()
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": 2, "RANK": 0}
    first, second = start(LISTENS, **group), start(WAITS, **group)
    take = watch(second, log)
    (state,) = take().of_kind("rendezvous_state")
    assert state.fields["repeated"] == (0,)
    log.write_text(f"port: {port}, code: -98, name: EADDRINUSE\n")
    (conflict,) = take().of_kind("port_in_use")
    assert (conflict.fields["pid"], conflict.fields["is_own"]) == (first.pid, True)


def test_port_of_a_stranger(start: Start, tmp_path: Path) -> None:
    """A port that a process outside of the run holds is reported also after the run's end."""
    log = tmp_path / "output.log"
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        leader = start(WAITS, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=0, WORLD_SIZE=1)
        source = host.opened("rendezvous", leader.pid, logs=(str(log),))
        sample(source)
        leader.communicate()
        log.write_text(f"port: {port}, code: -98, name: EADDRINUSE\n")
        output = sample(source)
    assert not output.of_kind("rendezvous_state")
    (conflict,) = output.of_kind("port_in_use")
    assert (conflict.fields["pid"], conflict.fields["is_own"]) == (os.getpid(), False)


def test_unknown_name(start: Start, tmp_path: Path) -> None:
    """A name that cannot be resolved is reported, and tried again only later."""
    host_name = "a" * 300
    leader = start(WAITS, MASTER_ADDR=host_name, MASTER_PORT=1, RANK=1, WORLD_SIZE=2)
    take = watch(leader, tmp_path / "output.log")
    (state,) = take().of_kind("rendezvous_state")
    assert state.fields["outcome"] == "unknown_name"
    assert take().samples["rendezvous"]["trials_total"] == 1


def test_no_announcement(start: Start, tmp_path: Path) -> None:
    """A run without a coordinator has neither numbers nor events."""
    environment = {"MASTER_ADDR": "", "MASTER_PORT": "", "TF_CONFIG": ""}
    take = watch(start(WAITS, **environment), tmp_path / "output.log")
    assert take() == SourceOutput({}, [])


def test_coordinator_that_comes_up(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is opened after the first sample is seen by the next one."""
    monkeypatch.setattr(rendezvous, "_LEAST_PAUSE_S", 0.0)
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": 2}
    first = start(WAITS, RANK=1, **group)
    take = watch(first, tmp_path / "output.log")
    (state,) = take().of_kind("rendezvous_state")
    assert (state.fields["outcome"], state.fields["listens"]) == ("is_here", False)
    start(LISTENS, RANK=0, **group)
    (state,) = take().of_kind("rendezvous_state")
    assert (state.fields["listens"], state.fields["ranks"]) == (True, (0, 1))


def test_pauses(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer a state has lasted, the later it is tried again."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    leader = start(WAITS, MASTER_ADDR="a" * 300, MASTER_PORT=1, RANK=1, WORLD_SIZE=2)
    take = watch(leader, tmp_path / "output.log")
    tried: list[float] = []
    for _sample in range(200):
        if take().samples["rendezvous"]["trials_total"] > len(tried):
            tried.append(clock[0] - 1000.0)
        clock[0] += 5.0
    assert tried[:4] == [0.0, 5.0, 10.0, 15.0]
    assert tried[-1] - tried[-2] == pytest.approx(60.0)


def test_before_the_first_trial(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is not silent yet has the address of its coordinator in its record."""
    monkeypatch.setattr(rendezvous, "QUIET_S", 3600.0)
    leader = start(WAITS, MASTER_ADDR="node-0", MASTER_PORT=1, RANK=1, WORLD_SIZE=2)
    output = watch(leader, tmp_path / "output.log")()
    (state,) = output.of_kind("rendezvous_state")
    assert state.text == "its processes are to meet at node-0:1, by MASTER_ADDR"
    assert output.samples["rendezvous"]["trials_total"] == 0


def test_end(start: Start, tmp_path: Path) -> None:
    """After the end nothing is tried on this machine, whose ports are closed then."""
    log = tmp_path / "output.log"
    leader = start(WAITS, MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port(), RANK=0, WORLD_SIZE=2)
    take = watch(leader, log)
    leader.communicate()
    log.write_text("DistStoreError: Timed out after 9 seconds. 1/2 clients joined.\n")
    assert take() == SourceOutput({}, [])
