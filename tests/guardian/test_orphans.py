"""Attempts that are killed or frozen: their training goes on, or ends; there are never two."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.guardian.faces import (
    DEAF,
    SAVES,
    TRAINS,
    Observer,
    attempt,
    guardian_of,
    log_of,
    logs,
    names,
    reaches,
    told,
    trainings,
)
from tests.supervised import Lab, exit_of, is_alive, python, until

pytestmark = pytest.mark.usefixtures("never_two")
NEXT_S = 60.0
"""The next attempt has so long to come: longer than any test takes."""


def orphan(lab: Lab, command: tuple[str, ...] = TRAINS, **options: float) -> Record:
    """The record of a live run whose attempt was killed."""
    options = {"adopt_within_s": NEXT_S, **options}
    first = attempt(lab, command, **options)  # type: ignore[arg-type]
    first.sees("started")
    first.kill()
    return first.record()


def verdict_of(record: Record) -> str:
    """The disposition, waiting for it."""
    until(lambda: record.read_json("verdict.json"), "the verdict")
    return str((record.read_json("verdict.json") or {})["disposition"])


# -- the attempt is killed -------------------------------------------------------------------


def test_next_attempt_adopts(lab: Lab, never_two: Observer) -> None:
    """A run whose engine was killed goes on, and the next attempt has all of it: log and result."""
    record = orphan(lab)
    reaches(record, "orphaned")
    second = attempt(lab, number=2)
    second.sees("started")
    assert second.says("origin") == "adopted"
    assert second.says("run") == record.path
    assert record.state == "running"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert second.followed() == ["started", "done"]
    assert never_two.runs == {record.run_id}


def test_result_that_nobody_saw(lab: Lab) -> None:
    """A run that ended unseen is the second attempt's, once; the third trains anew."""
    record = orphan(lab)
    (lab.home / "go").touch()
    reaches(record, "ended")
    second = attempt(lab, number=2)
    assert second.result() == (3, "failed")
    assert second.says("origin") == "claimed"
    assert second.followed() == ["started", "done"]
    third = attempt(lab, number=3)
    assert third.result() == (3, "failed")
    assert third.says("origin") == "launched"
    assert len(lab.records()) == 2


def test_nobody_will_come(lab: Lab) -> None:
    """Without a next attempt a run whose engine was killed is ended gracefully, as preempted."""
    record = orphan(lab, SAVES, adopt_within_s=0.0)
    reaches(record, "ended")
    assert "saved" in log_of(record)
    assert exit_of(record)["code"] == 0
    assert verdict_of(record) == "preempted"
    second = attempt(lab, SAVES, number=2)
    assert second.says("origin") == "launched"
    second.sees("started")


def test_nobody_comes_in_time(lab: Lab) -> None:
    """A run that nobody adopts in time is ended gracefully; what it says is no later result."""
    record = orphan(lab, SAVES, adopt_within_s=1.0)
    reaches(record, "ended")
    assert "saved" in log_of(record)
    assert verdict_of(record) == "preempted"
    assert "nobody adopted it within 1 s" in told(record, "stopping")["sender"]["because"]
    (lab.home / "go").touch()
    second = attempt(lab, SAVES, number=2)
    assert second.says("origin") == "launched"
    assert second.result() == (3, "failed")


def test_deaf_orphan(lab: Lab) -> None:
    """An orphan that ignores TERM is ended by force after its grace."""
    record = orphan(lab, DEAF, adopt_within_s=0.0, grace_s=0.5)
    reaches(record, "ended")
    assert exit_of(record)["code"] == -signal.SIGKILL
    assert verdict_of(record) == "preempted"


@pytest.mark.parametrize("round_", range(2))
def test_orphan_stays_one(lab: Lab, round_: int) -> None:
    """What a killed attempt wrote just before its death does not count as a sign of life after."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.sees("started")
    record = first.record()
    lease = next(iter(record.leases().values()))
    deadline = time.monotonic() + 5
    while next(iter(record.leases().values())) == lease and time.monotonic() < deadline:
        time.sleep(0.001)
    first.kill()
    second = attempt(lab, number=1)
    assert second.says("origin") == "adopted"
    assert "resumed" not in names(record)
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_handed_over(lab: Lab) -> None:
    """A run that its attempt handed over waits for the next one, also where none was expected."""
    spec = RunSpec(TRAINS, cwd=str(lab.home), grace_s=3.0, state_dir=str(lab.state))
    handle = RunHandle.launch(spec, Attempt(("task",), lease_s=1.0))
    logs(handle.record, "started")
    lease = handle.record.leases()
    until(lambda: handle.record.leases() != lease, "a renewal")
    handle.hand_over(NEXT_S)
    told(handle.record, "orphaned")
    second = attempt(lab, number=2)
    second.sees("started")
    assert names(handle.record) == ["launched", "request", "orphaned", "request", "adopted"]
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_whole_session_of_the_engine_is_killed(lab: Lab) -> None:
    """Killing the engine's process group takes neither the guardian nor the training with it."""
    first = attempt(lab, adopt_within_s=NEXT_S, start_new_session=True)
    first.sees("started")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    second = attempt(lab, number=2)
    second.sees("started")
    assert second.says("run") == first.says("run")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_chain_of_attempts(lab: Lab, never_two: Observer) -> None:
    """However many attempts are killed one after the other, there is one training."""
    for number in range(1, 6):
        face = attempt(lab, number=number, adopt_within_s=NEXT_S)
        face.sees("started")
        face.kill()
    (lab.home / "go").touch()
    last = attempt(lab, number=6)
    assert last.result() == (3, "failed")
    assert len(never_two.runs) == 1


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_any_moment(lab: Lab, seed: int, never_two: Observer) -> None:
    """Killed at a random moment of its launch, an attempt leaves one training or none."""
    rng = random.Random(seed)
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.says("ready")
    time.sleep(rng.uniform(0, 0.12))
    first.kill()
    second = attempt(lab, number=2, adopt_within_s=NEXT_S)
    second.says("ready")
    time.sleep(rng.uniform(0, 0.3))
    second.kill()
    third = attempt(lab, number=3)
    third.sees("started")
    assert len(set(trainings(lab.mark).values())) == 1
    (lab.home / "go").touch()
    assert third.result() == (3, "failed")
    assert len(never_two.runs) == 1


# -- the attempt is frozen -------------------------------------------------------------------


def test_frozen_and_superseded(lab: Lab) -> None:
    """An attempt that was frozen past its lease learns that it lost the run, and cannot stop it."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.sees("started")
    record = first.record()
    first.freeze()
    reaches(record, "orphaned")
    second = attempt(lab, number=2)
    assert second.says("origin") == "adopted"
    first.thaw()
    assert first.says("error") == "SupersededError"
    assert "attempt 2" in first.says("text")
    refused = told(record, "request_refused")
    assert (refused["request"]["kind"], refused["because"]) == ("stop", "it was superseded")
    first.wait()
    assert record.state == "running"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_frozen_while_a_later_attempt_is_quicker_than_the_lease(lab: Lab) -> None:
    """A later attempt waits for no lease of an earlier one, which the engine has given up."""
    first = attempt(lab, lease_s=60.0)
    first.sees("started")
    first.freeze()
    second = attempt(lab, number=2)
    assert second.says("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    first.thaw()
    assert first.says("error") == "SupersededError"


def test_frozen_and_back(lab: Lab) -> None:
    """An attempt that comes back before anybody else came goes on as if nothing had been."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.sees("started")
    first.freeze()
    reaches(first.record(), "orphaned")
    first.thaw()
    told(first.record(), "resumed")
    reaches(first.record(), "running")
    (lab.home / "go").touch()
    assert first.result() == (3, "failed")


def test_frozen_with_nobody_to_come(lab: Lab) -> None:
    """An attempt that is seen to live keeps its training past its lease, until it is killed."""
    first = attempt(lab, SAVES, lease_s=1.0)
    first.sees("started")
    record = first.record()
    first.freeze()
    reaches(record, "orphaned")
    time.sleep(1.3)
    assert record.state == "orphaned"
    assert trainings(lab.mark)
    first.kill()
    reaches(record, "ended")
    assert "saved" in log_of(record)
    assert verdict_of(record) == "preempted"


def test_frozen_beyond_the_claim(lab: Lab) -> None:
    """An attempt that was frozen while another one took the result learns that."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.sees("started")
    first.freeze()
    (lab.home / "go").touch()
    reaches(first.record(), "ended")
    second = attempt(lab, number=2)
    assert second.result() == (3, "failed")
    assert second.says("origin") == "claimed"
    first.thaw()
    assert first.says("error") == "SupersededError"


def test_frozen_attempt_is_killed(lab: Lab) -> None:
    """A frozen attempt that is then killed has left its run to the next one."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=60.0)
    first.sees("started")
    first.freeze()
    first.kill()
    reaches(first.record(), "orphaned")
    second = attempt(lab, number=2)
    assert second.says("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


# -- nobody's run ----------------------------------------------------------------------------


def test_run_without_an_attempt(lab: Lab) -> None:
    """A run that was left to its guardian goes on whoever watches it, and is killed by nobody."""
    code = (
        "import sys\n"
        "from gpualert_common.guardian import RunHandle\n"
        "from gpualert_common.spec import RunSpec\n"
        "print(RunHandle.launch(RunSpec(sys.argv[1:])).record.path, flush=True)\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = lab.call((*python(code), *TRAINS))
    record = Record.open(done.stdout.decode().strip())
    logs(record, "started")
    guardian = guardian_of(record)
    (lab.home / "go").touch()
    reaches(record, "ended")
    assert exit_of(record)["code"] == 3
    assert names(record) == ["launched"]
    until(lambda: not is_alive(guardian), "the guardian to end")
