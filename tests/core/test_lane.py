"""A lane of the tests: it shows that it lives, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.supervised import until

ROOT = Path(__file__).parents[2]

PRINTS_AND_WAITS = 'printf "..."; cat "$GATE"; echo done'
PRINTS_NOTHING = 'cat "$GATE"; echo done'
STAYS = "setsid sleep 1000 & echo $! >$PIDS"


def start(tmp_path: Path, script: str, *, silence: str = "0.05") -> subprocess.Popen[str]:
    """Start a lane of a shell script, with a home of its own to leave traces in."""
    (tmp_path / "home").mkdir()
    os.mkfifo(tmp_path / "gate")
    places = {"HOME": tmp_path / "home", "GATE": tmp_path / "gate", "PIDS": tmp_path / "pids"}
    options = ("--silence", silence, "--straggler", "0.5")
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lane", "lane", *options, "--", "/bin/bash", "-c", script],
        cwd=ROOT,
        env=os.environ | {name: str(place) for name, place in places.items()},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(lane: subprocess.Popen[str]) -> list[str]:
    """Return the lines of a lane that ends."""
    with lane:
        assert lane.stdout is not None
        return lane.stdout.read().splitlines()


@pytest.mark.parametrize("script", [PRINTS_AND_WAITS, PRINTS_NOTHING], ids=["dots", "nothing"])
def test_silent_lane_shows_that_it_lives(script: str, tmp_path: Path) -> None:
    """A test that says nothing for long is seen before it ends, by its dots or by the time."""
    lane = start(tmp_path, script)
    assert lane.stdout is not None
    assert lane.stdout.readline().startswith("[lane] ...")
    (tmp_path / "gate").write_text("")  # the test ends only after that line
    assert finish(lane)[-1] == "[lane] done"
    assert lane.returncode == 0


def test_status_is_the_command_s(tmp_path: Path) -> None:
    """A lane ends with the status of its pytest."""
    lane = start(tmp_path, "echo one; exit 4", silence="60")
    assert finish(lane) == ["[lane] one"]
    assert lane.returncode == 4


def test_home_and_temporary_files_end_with_the_lane(tmp_path: Path) -> None:
    """All that tests write into their home and temporary directory is removed."""
    lane = start(tmp_path, 'touch "$TMPDIR/x" "$HOME/y"; dirname "$TMPDIR"', silence="60")
    (line,) = finish(lane)
    assert lane.returncode == 0
    assert not Path(line.removeprefix("[lane] ")).exists()
    assert list((tmp_path / "home").iterdir()) == []


def test_file_in_the_real_home_fails_the_lane(tmp_path: Path) -> None:
    """A directory that an engine makes in the user's own home is named, and the lane fails."""
    lane = start(tmp_path, f"mkdir {tmp_path}/home/.prefect", silence="60")
    assert finish(lane) == [f"[lane] left behind: file {tmp_path}/home/.prefect"]
    assert lane.returncode == 1


def test_process_that_lives_on_fails_the_lane(tmp_path: Path) -> None:
    """A process that outlives the tests is named and ended, and the lane fails."""
    lane = start(tmp_path, STAYS, silence="60")
    (line,) = finish(lane)
    pid = (tmp_path / "pids").read_text().strip()
    assert line.startswith(f"[lane] left behind: process {pid}: ")
    assert lane.returncode == 1
    until(lambda: not Path("/proc", pid, "exe").exists(), "the end of the process")
