"""Attempts that are killed or frozen: the training goes on or ends, and there are never two."""

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
    IGNORES_TERM,
    SAVES,
    TRAINS,
    Observer,
    attempt,
    guardian_of,
    log_of,
    names,
    trainings,
    wait_for_event,
    wait_for_output,
    wait_for_state,
)
from tests.supervised import Lab, exit_of, is_alive, python, until

pytestmark = pytest.mark.usefixtures("never_two")
NEXT_S = 60.0
"""Time for the next attempt to come; longer than any test takes."""


def orphan(lab: Lab, command: tuple[str, ...] = TRAINS, **options: float) -> Record:
    """Return the record of a live run whose attempt was killed."""
    options = {"adopt_within_s": NEXT_S, **options}
    first = attempt(lab, command, **options)  # type: ignore[arg-type]
    first.wait_for_line("started")
    first.kill()
    return first.record()


def verdict_of(record: Record) -> str:
    """Wait for the disposition, and return it."""
    until(lambda: record.read_json("verdict.json"), "the verdict")
    return str((record.read_json("verdict.json") or {})["disposition"])


# -- the attempt is killed -------------------------------------------------------------------


def test_next_attempt_adopts(lab: Lab, never_two: Observer) -> None:
    """A run whose engine was killed goes on; the next attempt adopts its whole log and its
    result."""
    record = orphan(lab)
    wait_for_state(record, "orphaned")
    second = attempt(lab, number=2)
    second.wait_for_line("started")
    assert second.wait_for("origin") == "adopted"
    assert second.wait_for("run") == record.path
    assert record.state == "running"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert second.followed() == ["started", "done"]
    assert never_two.runs == {record.run_id}


def test_result_without_a_follower(lab: Lab) -> None:
    """A run that ended without a follower goes to the second attempt once; the third trains
    again."""
    record = orphan(lab)
    (lab.home / "go").touch()
    wait_for_state(record, "ended")
    second = attempt(lab, number=2)
    assert second.result() == (3, "failed")
    assert second.wait_for("origin") == "claimed"
    assert second.followed() == ["started", "done"]
    third = attempt(lab, number=3)
    assert third.result() == (3, "failed")
    assert third.wait_for("origin") == "launched"
    assert len(lab.records()) == 2


def test_no_next_attempt(lab: Lab) -> None:
    """Without a next attempt an orphaned run is ended gracefully, as cancelled."""
    record = orphan(lab, SAVES, adopt_within_s=0.0)
    wait_for_state(record, "ended")
    assert "saved" in log_of(record)
    assert exit_of(record)["code"] == 0
    assert verdict_of(record) == "cancelled"
    second = attempt(lab, SAVES, number=2)
    assert second.wait_for("origin") == "launched"
    second.wait_for_line("started")


def test_no_adoption_in_time(lab: Lab) -> None:
    """A run without an adoption in time is ended gracefully; its result is never used later."""
    record = orphan(lab, SAVES, adopt_within_s=1.0)
    wait_for_state(record, "ended")
    assert "saved" in log_of(record)
    assert verdict_of(record) == "cancelled"
    assert "nobody adopted it within 1 s" in wait_for_event(record, "stopping")["sender"]["because"]
    (lab.home / "go").touch()
    second = attempt(lab, SAVES, number=2)
    assert second.wait_for("origin") == "launched"
    assert second.result() == (3, "failed")


def test_orphan_that_ignores_term(lab: Lab) -> None:
    """An orphan that ignores TERM is killed after its grace."""
    record = orphan(lab, IGNORES_TERM, adopt_within_s=0.0, grace_s=0.5)
    wait_for_state(record, "ended")
    assert exit_of(record)["code"] == -signal.SIGKILL
    assert verdict_of(record) == "cancelled"


@pytest.mark.parametrize("round_", range(2))
def test_late_renewal_of_an_orphan(lab: Lab, round_: int) -> None:
    """A renewal just before the attempt's death does not count as a later sign of life."""
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.wait_for_line("started")
    record = first.record()
    lease = next(iter(record.leases().values()))
    deadline = time.monotonic() + 5
    while next(iter(record.leases().values())) == lease and time.monotonic() < deadline:
        time.sleep(0.001)
    first.kill()
    second = attempt(lab, number=1)
    assert second.wait_for("origin") == "adopted"
    assert "resumed" not in names(record)
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_handed_over(lab: Lab) -> None:
    """A run that was handed over waits for the next attempt, even if none was expected."""
    spec = RunSpec(TRAINS, cwd=str(lab.home), grace_s=3.0, state_dir=str(lab.state))
    handle = RunHandle.launch(spec, Attempt(("task",), lease_s=1.0))
    wait_for_output(handle.record, "started")
    lease = handle.record.leases()
    until(lambda: handle.record.leases() != lease, "a renewal")
    handle.hand_over(NEXT_S)
    wait_for_event(handle.record, "orphaned")
    second = attempt(lab, number=2)
    second.wait_for_line("started")
    assert names(handle.record) == ["launched", "request", "orphaned", "request", "adopted"]
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_whole_session_of_the_engine_is_killed(lab: Lab) -> None:
    """Guardian and training survive when the engine's process group is killed."""
    first = attempt(lab, adopt_within_s=NEXT_S, start_new_session=True)
    first.wait_for_line("started")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    second = attempt(lab, number=2)
    second.wait_for_line("started")
    assert second.wait_for("run") == first.wait_for("run")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_chain_of_attempts(lab: Lab, never_two: Observer) -> None:
    """With any number of killed attempts there is one training."""
    for number in range(1, 6):
        face = attempt(lab, number=number, adopt_within_s=NEXT_S)
        face.wait_for_line("started")
        face.kill()
    (lab.home / "go").touch()
    last = attempt(lab, number=6)
    assert last.result() == (3, "failed")
    assert len(never_two.runs) == 1


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_any_moment(lab: Lab, seed: int, never_two: Observer) -> None:
    """An attempt that is killed at a random moment of its launch leaves one training or none."""
    rng = random.Random(seed)
    first = attempt(lab, adopt_within_s=NEXT_S)
    first.wait_for("ready")
    time.sleep(rng.uniform(0, 0.12))
    first.kill()
    second = attempt(lab, number=2, adopt_within_s=NEXT_S)
    second.wait_for("ready")
    time.sleep(rng.uniform(0, 0.3))
    second.kill()
    third = attempt(lab, number=3)
    third.wait_for_line("started")
    assert len(set(trainings(lab.mark).values())) == 1
    (lab.home / "go").touch()
    assert third.result() == (3, "failed")
    assert len(never_two.runs) == 1


# -- the attempt is frozen -------------------------------------------------------------------


def test_frozen_and_superseded(lab: Lab) -> None:
    """An attempt that was frozen past its lease has lost its run, and cannot stop it."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.wait_for_line("started")
    record = first.record()
    first.freeze()
    wait_for_state(record, "orphaned")
    second = attempt(lab, number=2)
    assert second.wait_for("origin") == "adopted"
    first.thaw()
    assert first.wait_for("error") == "SupersededError"
    assert "a later attempt" in first.wait_for("text")
    refused = wait_for_event(record, "request_refused")
    assert (refused["request"]["kind"], refused["because"]) == ("stop", "it was superseded")
    first.wait()
    assert record.state == "running"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_frozen_while_a_later_attempt_is_quicker_than_the_lease(lab: Lab) -> None:
    """A later attempt does not wait for the lease of an earlier one that the engine has given
    up."""
    first = attempt(lab, lease_s=60.0)
    first.wait_for_line("started")
    first.freeze()
    second = attempt(lab, number=2)
    assert second.wait_for("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    first.thaw()
    assert first.wait_for("error") == "SupersededError"


def test_frozen_and_continued(lab: Lab) -> None:
    """An attempt that continues before another one came follows its run as before."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.wait_for_line("started")
    first.freeze()
    wait_for_state(first.record(), "orphaned")
    first.thaw()
    wait_for_event(first.record(), "resumed")
    wait_for_state(first.record(), "running")
    (lab.home / "go").touch()
    assert first.result() == (3, "failed")


def test_frozen_without_a_next_attempt(lab: Lab) -> None:
    """A frozen but live attempt keeps its training past its lease, until it is killed."""
    first = attempt(lab, SAVES, lease_s=1.0)
    first.wait_for_line("started")
    record = first.record()
    first.freeze()
    wait_for_state(record, "orphaned")
    time.sleep(1.3)
    assert record.state == "orphaned"
    assert trainings(lab.mark)
    first.kill()
    wait_for_state(record, "ended")
    assert "saved" in log_of(record)
    assert verdict_of(record) == "cancelled"


def test_frozen_beyond_the_claim(lab: Lab) -> None:
    """An attempt that was frozen while another one claimed the result gets an error."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=1.0)
    first.wait_for_line("started")
    first.freeze()
    (lab.home / "go").touch()
    wait_for_state(first.record(), "ended")
    second = attempt(lab, number=2)
    assert second.result() == (3, "failed")
    assert second.wait_for("origin") == "claimed"
    first.thaw()
    assert first.wait_for("error") == "SupersededError"


def test_frozen_attempt_is_killed(lab: Lab) -> None:
    """A frozen attempt that is killed leaves its run to the next one."""
    first = attempt(lab, adopt_within_s=NEXT_S, lease_s=60.0)
    first.wait_for_line("started")
    first.freeze()
    first.kill()
    wait_for_state(first.record(), "orphaned")
    second = attempt(lab, number=2)
    assert second.wait_for("origin") == "adopted"
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


# -- runs without an attempt -----------------------------------------------------------------


def test_run_without_an_attempt(lab: Lab) -> None:
    """A run without an attempt goes on with or without observers, and nothing kills it."""
    code = (
        "import sys\n"
        "from gpualert_common.guardian import RunHandle\n"
        "from gpualert_common.spec import RunSpec\n"
        "print(RunHandle.launch(RunSpec(sys.argv[1:])).record.path, flush=True)\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = lab.call((*python(code), *TRAINS))
    record = Record.open(done.stdout.decode().strip())
    wait_for_output(record, "started")
    guardian = guardian_of(record)
    (lab.home / "go").touch()
    wait_for_state(record, "ended")
    assert exit_of(record)["code"] == 3
    assert names(record) == ["launched"]
    until(lambda: not is_alive(guardian), "the guardian to end")
