"""Runs under a clock that jumps, on a frozen disk, and in a container that ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
from tests.faults.conftest import freeze, on_real_disk, real_disk, thaw
from tests.guardian.faces import (
    FACE,
    Face,
    attempt,
    log_of,
    names,
    trainings,
    wait_for_output,
    wait_for_renewals,
    wait_for_state,
)
from tests.supervised import DEADLINE_S, PYTHON, Lab, exit_of, is_alive, shell, until

__all__ = ["on_real_disk", "real_disk"]
pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("never_two")]
HOURS_S = 5 * 3600
NEXT_S = 60.0


# -- the wall clock jumps --------------------------------------------------------------------


class Clock:
    """A wall clock that a test sets; monotonic clocks are unaffected."""

    def __init__(self, path: Path) -> None:
        (library,) = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
        self.path = path
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Set the clock this far ahead of the true time."""
        new = self.path.with_suffix(".new")
        new.write_text(f"{seconds:+d}")
        new.rename(self.path)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """The clock of all processes with its environment."""
    return Clock(tmp_path / "clock")


@pytest.mark.parametrize("jumps", [(HOURS_S,), (-HOURS_S,), (HOURS_S, -HOURS_S, 0)], ids=str)
def test_clock_jumps(lab: Lab, clock: Clock, jumps: tuple[int, ...]) -> None:
    """After any jump of the wall clock no lease runs out and the result is right."""
    face = attempt(lab, lease_s=1.0, env=clock.environment)
    face.wait_for_line("started")
    for jump in jumps:
        clock.jump(jump)
        wait_for_renewals(face.record(), 1.5)
    assert names(face.record()) == ["launched"]
    (lab.home / "go").touch()
    assert face.result() == (3, "failed")
    ended_at = exit_of(face.record())["ended_at"]
    assert abs(ended_at - time.time() - jumps[-1]) < 600, "the clock did not jump"


@pytest.mark.parametrize("jump", [HOURS_S, -HOURS_S])
def test_different_clocks(lab: Lab, clock: Clock, jump: int) -> None:
    """An attempt adopts a run whose attempt and guardian have a clock hours from its own."""
    clock.jump(jump)
    first = attempt(lab, lease_s=1.0, adopt_within_s=NEXT_S, env=clock.environment)
    first.wait_for_line("started")
    first.kill()
    # The true time, yet the same variables, for they are part of what makes a run the same.
    second = attempt(lab, number=2, env={**clock.environment, "LD_PRELOAD": ""})
    assert second.wait_for("origin") == "adopted"
    assert second.wait_for("run") == first.wait_for("run")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


# -- frozen disk -----------------------------------------------------------------------------

TICKS = shell(
    "trap 'touch saved; exit 0' TERM; echo started; exec >&- 2>&-; "
    "until [ -e go ]; do touch tick; sleep 0.05; done; exit 3"
)
"""Writes nothing after its start, so that it does not wait for the disk of its log."""


def on_disk(lab: Lab, *, lease_s: float = 1.0, across_hosts: bool = False) -> RunHandle:
    """A live run whose record is on the disk of the test."""
    spec = RunSpec(TICKS, cwd=str(lab.home), grace_s=3.0, state_dir=str(lab.state))
    who = Attempt(("task",), lease_s=lease_s, across_hosts=across_hosts)
    handle = RunHandle.launch(spec, who)
    wait_for_output(handle.record, "started")
    return handle


def ticks(lab: Lab) -> None:
    """Return after a sign of life of the training."""
    (lab.home / "tick").unlink(missing_ok=True)
    until((lab.home / "tick").exists, "a tick of the training")


def test_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """While the disk is frozen the training goes on and no lease runs out; the result is right."""
    lab = on_real_disk
    with on_disk(lab, lease_s=4.0) as handle:
        freeze(real_disk)
        time.sleep(8.0)  # twice the lease
        ticks(lab)
        thaw(real_disk)
        wait_for_renewals(handle.record)
        assert handle.record.state == "running"
        (lab.home / "go").touch()
        assert handle.wait(DEADLINE_S).exit_code == 3
    assert names(handle.record) == ["launched"]


def test_end_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """A run that ends while the disk is frozen has its result when the disk continues."""
    lab = on_real_disk
    with on_disk(lab) as handle:
        freeze(real_disk)
        (lab.home / "go").touch()
        until(lambda: not trainings(lab.mark), "the training to end")
        before = time.thread_time()
        with pytest.raises(TimeoutError):
            handle.wait(3.0)
        assert time.thread_time() - before < 0.5
        thaw(real_disk)
        assert handle.wait(DEADLINE_S).exit_code == 3


def test_stop_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """A stop returns within a second and ends the training although nothing can be written."""
    lab = on_real_disk
    with on_disk(lab) as handle:
        freeze(real_disk)
        before = time.monotonic()
        handle.stop("the test wanted it")
        assert time.monotonic() - before < 1.0
        until(lambda: not trainings(lab.mark), "the training to end")
        assert (lab.home / "saved").exists()
        thaw(real_disk)
        result = handle.wait(DEADLINE_S)
    assert result.exit_code == 0
    assert result.verdict is not None
    assert result.verdict.disposition == "cancelled"


def test_frozen_disk_where_other_hosts_may_come(on_real_disk: Lab, real_disk: Path) -> None:
    """With ``across_hosts`` a guardian that cannot read its record for a lease ends the run."""
    lab = on_real_disk
    with on_disk(lab, across_hosts=True) as handle:
        freeze(real_disk)
        until(lambda: not trainings(lab.mark), "the training to end")
        assert (lab.home / "saved").exists()
        thaw(real_disk)
        result = handle.wait(DEADLINE_S)
    assert result.verdict is not None
    assert result.verdict.disposition == "cancelled"


def test_adoption_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """An attempt during the freeze waits for the disk and then adopts the run."""
    lab = on_real_disk
    first = attempt(lab, TICKS, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    freeze(real_disk)
    second = attempt(lab, TICKS, number=2)
    second.wait_for("ready")
    time.sleep(1.0)
    assert not second.all("origin")
    ticks(lab)
    thaw(real_disk)
    assert second.wait_for("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


# -- the container ends ----------------------------------------------------------------------

CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def contained(lab: Lab, keeps: bool = False) -> Face:
    """An attempt in a separate PID namespace; with ``keeps`` the namespace outlives the attempt."""
    inside = shell('"$@" & wait; until [ -e over ]; do sleep 0.1; done')
    before = (*CONTAINER, *inside, "sh") if keeps else CONTAINER
    face = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0, grace_s=1.0, before=before)
    face.wait_for_line("started")
    return face


def test_container_ends(lab: Lab) -> None:
    """After the end of a container no process of the run lives, and the record is lost."""
    face = contained(lab)
    record = face.record()
    face.kill()
    until(lab.is_empty, "everything to be gone")
    wait_for_state(record, "lost")
    (row,) = lab.json("recover")["records"]
    assert row["outcome"] == "elsewhere: on another container of this host"
    assert record.read_json("exit.json") is None
    (row,) = lab.json("recover", "--force")["records"]
    assert row["outcome"] == "recovered"
    assert exit_of(record)["code"] is None
    assert lab.json("show")["verdict"]["disposition"] == "unknown"


def test_next_attempt_after_a_container(lab: Lab) -> None:
    """An attempt outside waits for the fence of an ended container, then launches a new
    training."""
    face = contained(lab)
    record = face.record()
    face.kill()
    until(lab.is_empty, "everything to be gone")
    second = attempt(lab, number=2, lease_s=1.0, grace_s=1.0)
    until(lambda: second.all("origin"), "the second attempt", 3 * DEADLINE_S)
    assert second.wait_for("origin") == "launched"
    assert any("silent for the length of its fence" in text for text in second.all("message"))
    second.wait_for_line("started")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert record.state == "lost"


def test_adoption_out_of_a_container(lab: Lab) -> None:
    """An attempt outside adopts a run in a container, and follows it to its end."""
    face = contained(lab, keeps=True)
    (inside,) = (pid for pid, line in lab.living().items() if line.startswith(f"{PYTHON} {FACE}"))
    os.kill(inside, signal.SIGKILL)
    until(lambda: not is_alive(inside), "the attempt inside to be gone")
    second = attempt(lab, number=2, lease_s=1.0, grace_s=1.0)
    assert second.wait_for("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    (lab.home / "over").touch()
    wait_for_state(face.record(), "ended")
    assert log_of(face.record()) == "started\ndone\n"
