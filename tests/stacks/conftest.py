"""Programs that hang, and the stacks of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("hanging_program.py")
DEADLINE_S = 30.0

StartHanging = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs of this folder import the ways to hang that they share."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def start_hanging() -> Iterator[StartHanging]:
    """Return a function that starts the program in that mode, and returns once it has begun."""
    started: list[subprocess.Popen[bytes]] = []

    def start(mode: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), mode, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def take_until(pid: int, is_there: Callable[[Dump], bool], **options: bool) -> Dump:
    """Return the first dump of a program for which that is true; fails after a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        dump = take_dump(
            SampledTree(pid, "GPUALERT_MARK_none"), DumpOptions("on request", **options)
        )
        if is_there(dump):
            return dump
        assert time.monotonic() < deadline, dump
        time.sleep(0.05)
