"""Signals to the supervisor: their receivers, their effect, and the record of the sender."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.supervised import (
    ALL_SIGNALS,
    LISTENER,
    PROGRAM,
    Lab,
    exit_of,
    listener,
    python,
    shell,
    until,
)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signal_that_stops(lab: Lab, name: str) -> None:
    """TERM, INT and HUP reach the child unchanged, and their sender is recorded."""
    number = getattr(signal, name)
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    run.signal(number)
    assert run.wait() == 0
    assert run.log() == f"ready\nreceived {name}\n".encode()
    ending = exit_of(run.record)
    assert ending["signal"] == number
    assert ending["sender"]["pid"] == os.getpid()
    assert ending["sender"]["uid"] == os.getuid()
    assert ending["sender"]["command"] == Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGQUIT"])
def test_signal_that_is_passed_on(lab: Lab, name: str) -> None:
    """USR1, USR2 and QUIT reach the leader, and do not stop the run."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    run.signal(getattr(signal, name))
    run.wait_for_output(f"received {name}".encode())
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    signals = [event.fields["signal"] for event in run.record.events() if event.name == "signal"]
    assert signals == [getattr(signal, name), signal.SIGTERM]
    assert exit_of(run.record)["signal"] == signal.SIGTERM


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2"])
def test_user_signal_reaches_the_leader_only(lab: Lab, name: str) -> None:
    """A worker of the training in the same process group does not get the leader's USR1."""
    code = f"""
import signal, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {LISTENER!r}, {ALL_SIGNALS!r}, ""])
signal.signal(signal.{name}, lambda number, frame: print("leader received", flush=True))
while worker.poll() is None:
    time.sleep(0.02)
"""
    run = lab.launch(*python(code))
    run.wait_for_output(b"ready")
    run.signal(getattr(signal, name))
    run.wait_for_output(b"leader received")
    run.signal(signal.SIGTERM)
    run.wait()
    assert b"received SIGUSR" not in run.log()


def test_user_signal_without_a_handler_ends_the_leader(lab: Lab) -> None:
    """A child without a handler for USR1 is killed by it, as without gpualert."""
    run = lab.launch("sleep", "1000")
    run.signal(signal.SIGUSR1)
    assert run.wait() == 128 + signal.SIGUSR1


def test_many_signals_at_once(lab: Lab) -> None:
    """Of many signals each kind arrives, and they lead to one stop."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    for _round in range(50):
        run.signal(signal.SIGUSR1)
        run.signal(signal.SIGUSR2)
    run.wait_for_output(b"received SIGUSR1")
    run.wait_for_output(b"received SIGUSR2")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert [event.name for event in run.record.events()].count("stopping") == 1


def test_hang_up_under_nohup(lab: Lab) -> None:
    """Under nohup a hang-up reaches neither the supervisor nor the child."""
    process = lab.start(("nohup", *PROGRAM, "run", "--", *shell("echo on; sleep 0.5; exit 3")))
    until(lambda: any(lab.state.glob("runs/*/events.jsonl")), "the run to be launched")
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 3
    assert exit_of(lab.record())["signal"] is None


def test_second_signal_reaches_the_child(lab: Lab) -> None:
    """A second signal during a stop is passed on, and the grace is unchanged."""
    code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda number, frame: print("one", flush=True))
signal.signal(signal.SIGINT, lambda number, frame: (print("two", flush=True), sys.exit(7)))
print("ready", flush=True)
while True:
    signal.pause()
"""
    run = lab.launch(*python(code))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    run.wait_for_output(b"one")
    run.signal(signal.SIGINT)
    assert run.wait() == 7
    assert run.log() == b"ready\none\ntwo\n"
    assert exit_of(run.record)["signal"] == signal.SIGTERM


def test_stopped_child_is_recorded_and_can_be_ended(lab: Lab) -> None:
    """A child in SIGSTOP is recorded, and TERM still ends it."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    os.kill(run.leader, signal.SIGSTOP)
    assert run.wait_for_event("child_stopped")["signal"] == signal.SIGSTOP
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert run.log().endswith(b"received SIGTERM\n")


def test_stopped_child_continues(lab: Lab) -> None:
    """A continued child is recorded too, and runs to its own end."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    os.kill(run.leader, signal.SIGSTOP)
    run.wait_for_event("child_stopped")
    os.kill(run.leader, signal.SIGCONT)
    run.wait_for_event("child_continued")
    (lab.home / "go").touch()
    assert run.wait() == 3


def test_supervisor_that_is_suspended(lab: Lab) -> None:
    """While the supervisor is suspended (Ctrl-Z) the child continues, and its status is not
    lost."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; touch done; exit 3"))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGSTOP)
    (lab.home / "go").touch()
    until((lab.home / "done").exists, "the child to be done all the same")
    run.signal(signal.SIGCONT)
    assert run.wait() == 3


def test_signal_in_the_first_moment(lab: Lab) -> None:
    """A signal at any moment of the start ends the run and leaves nothing."""
    for pause in range(0, 60, 4):
        process = lab.start((*PROGRAM, "run", "--", "sleep", "1000"))
        until(lambda: any("gpualert" in line for line in lab.living().values()), "its start")
        signal.sigtimedwait([], pause / 1000)
        process.terminate()
        assert process.wait(30) in (128 + signal.SIGTERM, -signal.SIGTERM)
        until(lab.is_empty, "nothing of it to be left")
