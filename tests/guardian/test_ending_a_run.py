"""Stops by a handler or by a person, once or again; none of them is a success."""

from __future__ import annotations

import fcntl
import os
import signal

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.handle import StopKind
from gpualert_common.spec import RunSpec
from tests.guardian.faces import (
    IGNORES_TERM,
    SAVES,
    SAVES_SLOWLY,
    TRAINS,
    attempt,
    freeze,
    guardian_of,
    log_of,
    recorder_of,
    wait_for_event,
    wait_for_output,
    wait_for_state,
)
from tests.supervised import DEADLINE_S, Lab, exit_of

pytestmark = pytest.mark.usefixtures("never_two")


def launched(
    lab: Lab,
    command: tuple[str, ...] = SAVES,
    grace_s: float = 3.0,
    number: int = 1,
    adopt_within_s: float = 0.0,
) -> RunHandle:
    """A live run whose training has begun."""
    spec = RunSpec(command, cwd=str(lab.home), grace_s=grace_s, state_dir=str(lab.state))
    handle = RunHandle.launch(
        spec, Attempt(("task",), number=number, lease_s=2.0, adopt_within_s=adopt_within_s)
    )
    wait_for_output(handle.record, "started")
    return handle


def ended_as(handle: RunHandle) -> tuple[int | None, str]:
    """Exit code and disposition."""
    result = handle.wait(DEADLINE_S)
    assert result.verdict is not None
    return result.exit_code, result.verdict.disposition.value


# -- by its attempt --------------------------------------------------------------------------


def test_from_a_signal_handler(lab: Lab) -> None:
    """TERM to the engine's task ends the run gracefully; status 0 afterwards is not a success."""
    face = attempt(lab, SAVES)
    face.wait_for_line("started")
    face.signal(signal.SIGTERM)
    assert face.result() == (0, "cancelled")
    assert "saved" in log_of(face.record())
    assert (
        wait_for_event(face.record(), "stopping")["sender"]["because"]
        == "its engine ended the task"
    )


@pytest.mark.parametrize("meant_as", ["cancelled", "preempted", "timeout"])
def test_stop_kind(lab: Lab, meant_as: StopKind) -> None:
    """The disposition follows the meaning of the stop, with any exit status."""
    with launched(lab) as handle:
        handle.stop("the test wanted it", meant_as=meant_as)
        assert ended_as(handle) == (0, meant_as)
        verdict = handle.wait().verdict
        assert verdict is not None
        assert any("because the test wanted it" in one.claim for one in verdict.shows)


def test_child_that_ignores_term(lab: Lab) -> None:
    """A child that ignores TERM is killed once its grace is over."""
    with launched(lab, IGNORES_TERM, grace_s=0.3) as handle:
        handle.stop("the test wanted it")
        assert ended_as(handle) == (-signal.SIGKILL, "cancelled")


def test_twice(lab: Lab) -> None:
    """A second stop changes nothing."""
    with launched(lab) as handle:
        handle.stop("the test wanted it")
        handle.stop("the test wanted it very much")
        assert ended_as(handle) == (0, "cancelled")
    assert wait_for_event(handle.record, "stopping")["sender"]["because"] == "the test wanted it"


def test_second_stop_with_a_shorter_grace(lab: Lab) -> None:
    """A second stop can shorten the grace of the first."""
    with launched(lab, IGNORES_TERM, grace_s=10 * DEADLINE_S) as handle:
        handle.stop("the test wanted it")
        wait_for_event(handle.record, "stopping")
        handle.stop("the test wanted it at once", grace_s=0.0)
        assert ended_as(handle) == (-signal.SIGKILL, "cancelled")


def test_after_the_end(lab: Lab) -> None:
    """A stop after the end changes nothing, before and after the result was taken."""
    with launched(lab, TRAINS) as handle:
        (lab.home / "go").touch()
        wait_for_state(handle.record, "ended")
        handle.stop("it is too late")
        assert ended_as(handle) == (3, "failed")
        handle.stop("it is still too late")
    handle.stop("it is far too late")
    assert ended_as(handle) == (3, "failed")
    assert exit_of(handle.record)["signal"] is None


def test_after_the_handle_was_closed(lab: Lab) -> None:
    """A closed handle can still stop its run, several times."""
    with launched(lab, adopt_within_s=60.0) as handle:
        pass
    handle.stop("the test wanted it")
    handle.stop("the test wanted it")
    assert ended_as(handle) == (0, "cancelled")


def test_closed_handle_writes_nowhere_else(lab: Lab) -> None:
    """A stop through a closed handle does not touch a descriptor that is in use elsewhere by
    now."""
    with launched(lab, TRAINS) as handle:
        (lab.home / "go").touch()
        handle.wait()
    pipes = [os.pipe2(os.O_NONBLOCK) for _ in range(20)]
    handle.stop("it is too late")
    for read, write in pipes:
        with pytest.raises(BlockingIOError):
            os.read(read, 1)
        os.close(read)
        os.close(write)


def test_lost_with_its_helper_frozen(lab: Lab) -> None:
    """A stop reaches a guardian whose recorder is frozen."""
    with launched(lab) as handle:
        recorder = recorder_of(handle.record)
        freeze(recorder)
        os.kill(guardian_of(handle.record), signal.SIGTERM)
        wait_for_output(handle.record, "saved")
        os.kill(recorder, signal.SIGCONT)
        assert ended_as(handle) == (0, "cancelled")


# -- by another process ----------------------------------------------------------------------


def test_by_a_person(lab: Lab) -> None:
    """``gpualert stop`` ends a run that an engine follows; the attempt gets the result."""
    face = attempt(lab, SAVES)
    face.wait_for_line("started")
    done = lab.gpualert("stop", face.record().run_id)
    assert done.returncode == 0
    assert face.result() == (0, "cancelled")


def test_by_a_signal_to_the_guardian(lab: Lab) -> None:
    """TERM to the guardian ends its run gracefully."""
    face = attempt(lab, SAVES)
    face.wait_for_line("started")
    os.kill(guardian_of(face.record()), signal.SIGTERM)
    assert face.result() == (0, "cancelled")


def test_next_attempt_waits_for_the_end(lab: Lab) -> None:
    """An attempt during a stop waits for the end, and then launches a new training."""
    first = attempt(lab, SAVES_SLOWLY, adopt_within_s=DEADLINE_S, grace_s=DEADLINE_S)
    first.wait_for_line("started")
    first.signal(signal.SIGTERM)
    first.wait_for_line("saving")
    second = attempt(lab, SAVES_SLOWLY, number=2)
    assert "is stopping; waiting" in second.wait_for("message")
    first.kill()  # that must not make it anybody's
    (lab.home / "saved").touch()
    second.wait_for_line("started")
    assert second.wait_for("origin") == "launched"
    assert second.wait_for("run") != first.wait_for("run")
    wait_for_state(first.record(), "ended")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")


def test_stop_without_an_attempt(lab: Lab) -> None:
    """The result of a stopped run does not go to the next attempt, which launches a new
    training."""
    face = attempt(lab, SAVES, adopt_within_s=DEADLINE_S)
    face.wait_for_line("started")
    face.kill()
    assert lab.gpualert("stop", face.record().run_id).returncode == 0
    second = attempt(lab, SAVES, number=2)
    assert second.wait_for("origin") == "launched"


def test_key_is_free_while_it_runs(lab: Lab) -> None:
    """After the launch neither the attempt nor the guardian holds the key."""
    with launched(lab, TRAINS) as handle:
        (folder,) = (lab.state / "keys").iterdir()
        with open(folder / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (lab.home / "go").touch()
        handle.wait()
