"""Processes that are to record a trace: ranks, and the program of a run without ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto.targets import find_targets

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


def test_missing_ranks() -> None:
    """Chosen ranks that the run does not have are named."""
    rank = subprocess.Popen(["sleep", "600"], env={**os.environ, "RANK": "3"})
    targets = find_targets(rank.pid, "no marker", (0, 3, 7))
    targets.close()
    rank.kill()
    rank.wait()
    assert list(targets.processes) == ["rank:3"]
    assert targets.missing == (0, 7)
