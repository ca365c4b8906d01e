"""Stopping a run: the checkpoint is saved, and then nothing of its tree is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import recover
from tests.supervised import (
    ALL_SIGNALS,
    LISTENER,
    PROGRAM,
    PYTHON,
    Lab,
    exit_of,
    in_group_or_session,
    listener,
    python,
    shell,
    until,
)

TRAINER = """
import os, pathlib, signal, subprocess, sys, time

target, mark = sys.argv[1:]

def save(number, frame):
    print("saving", flush=True)
    time.sleep(2)
    alive = worker.poll() is None
    pathlib.Path(target).write_text(f"whole, worker alive: {alive}")
    sys.exit(0)

signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
worker = subprocess.Popen(["sleep", "1000"])
forever = "while :; do sleep 0.1; done"
subprocess.run(["sh", "-c", "setsid sleep 1000 &"])
subprocess.run(["sh", "-c", f"setsid env -i PATH=$PATH sh -c '{forever}' {mark} &"])
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


def _directly(_lab: Lab, command: str) -> list[str]:
    return command.split()


def _compound(_lab: Lab, command: str) -> list[str]:
    return ["bash", "-c", f"cd /; {command}; echo done"]


def _script(lab: Lab, command: str) -> list[str]:
    return [lab.script("train.sh", f"#!/bin/bash\ncd /\n{command}\necho done\n")]


def _script_in_script(lab: Lab, command: str) -> list[str]:
    inner = lab.script("inner.sh", f"#!/bin/sh\n{command}\necho done\n")
    return [lab.script("outer.sh", f"#!/bin/bash\n{inner}\necho done\n")]


def _subshell(_lab: Lab, command: str) -> list[str]:
    return ["sh", "-c", f"(cd /; {command}; echo inner); echo outer"]


def _wrapper(lab: Lab, command: str) -> list[str]:
    wrapper = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    return [PYTHON, lab.script("wrapper.py", wrapper), *command.split()]


LEADERS = (_directly, _compound, _script, _script_in_script, _subshell, _wrapper)
Leader = Callable[[Lab, str], list[str]]


@pytest.mark.parametrize("leader", LEADERS, ids=lambda leader: leader.__name__.strip("_"))
def test_checkpoint_is_saved(lab: Lab, leader: Leader) -> None:
    """On TERM a training that needs 2 s gets them, its worker with it; then nothing is left.

    Among what must not be left: a daemon that forked into a session of its own, and one that
    cleaned its environment as well.
    """
    trainer = lab.script("train.py", TRAINER)
    target = lab.home / "checkpoint"
    run = lab.launch(*leader(lab, f"{PYTHON} {trainer} {target} {lab.mark}"))
    run.says(b"ready")
    until(lambda: any("while :" in command for command in lab.living().values()), "the daemon")
    run.signal(signal.SIGTERM)
    run.wait()
    assert target.read_text() == "whole, worker alive: True"
    until(lab.is_empty, "every marked process to be gone")
    assert not in_group_or_session(run.leader)
    assert exit_of(run.record)["survivors"] == []


def test_status_after_a_saved_checkpoint(lab: Lab) -> None:
    """A child that exits 0 after our TERM gives 0; that it was stopped is told apart."""
    trainer = lab.script("train.py", TRAINER)
    run = lab.launch(PYTHON, trainer, "checkpoint", lab.mark)
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    ending = exit_of(run.record)
    assert (ending["code"], ending["signal"]) == (0, signal.SIGTERM)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signal_that_stops(lab: Lab, name: str) -> None:
    """TERM, INT and HUP reach the child as what they are, and their sender is recorded."""
    number = getattr(signal, name)
    run = lab.launch(*listener())
    run.says(b"ready")
    run.signal(number)
    assert run.wait() == 0
    assert run.log() == f"ready\nheard {name}\n".encode()
    ending = exit_of(run.record)
    assert ending["signal"] == number
    assert ending["sender"]["pid"] == os.getpid()
    assert ending["sender"]["uid"] == os.getuid()
    assert ending["sender"]["command"] == Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGQUIT"])
def test_signal_that_is_passed_on(lab: Lab, name: str) -> None:
    """USR1, USR2 and QUIT reach the leader, mean what it makes of them, and stop nothing."""
    run = lab.launch(*listener())
    run.says(b"ready")
    run.signal(getattr(signal, name))
    run.says(f"heard {name}".encode())
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    told = [event["signal"] for event in run.record.events() if event["event"] == "signal"]
    assert told == [getattr(signal, name), signal.SIGTERM]
    assert exit_of(run.record)["signal"] == signal.SIGTERM


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2"])
def test_user_signal_reaches_the_leader_only(lab: Lab, name: str) -> None:
    """A worker of the training in the same process group does not get the leader's USR1."""
    code = f"""
import signal, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {LISTENER!r}, {ALL_SIGNALS!r}, ""])
signal.signal(signal.{name}, lambda number, frame: print("leader heard", flush=True))
while worker.poll() is None:
    time.sleep(0.02)
"""
    run = lab.launch(*python(code))
    run.says(b"ready")
    run.signal(getattr(signal, name))
    run.says(b"leader heard")
    run.signal(signal.SIGTERM)
    run.wait()
    assert b"heard SIGUSR" not in run.log()


def test_user_signal_without_a_handler_ends_the_leader(lab: Lab) -> None:
    """A child that does not know USR1 dies of it, as it would without us."""
    run = lab.launch("sleep", "1000")
    run.signal(signal.SIGUSR1)
    assert run.wait() == 128 + signal.SIGUSR1


def test_many_signals_at_once(lab: Lab) -> None:
    """A storm of signals loses none of their kinds and still ends in one stop."""
    run = lab.launch(*listener())
    run.says(b"ready")
    for _round in range(50):
        run.signal(signal.SIGUSR1)
        run.signal(signal.SIGUSR2)
    run.says(b"heard SIGUSR1")
    run.says(b"heard SIGUSR2")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert [event["event"] for event in run.record.events()].count("stopping") == 1


def test_hang_up_under_nohup(lab: Lab) -> None:
    """Under nohup a hang-up reaches neither the supervisor nor the child."""
    process = lab.start(("nohup", *PROGRAM, "run", "--", *shell("echo on; sleep 0.5; exit 3")))
    until(lambda: any(lab.state.glob("runs/*/events.jsonl")), "the run to be launched")
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 3
    assert exit_of(lab.record())["signal"] is None


def test_child_that_ignores_term(lab: Lab) -> None:
    """A child that does not heed TERM is killed when the grace is over."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "0.3"))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 137
    ending = exit_of(run.record)
    assert (ending["code"], ending["signal"]) == (-signal.SIGKILL, signal.SIGTERM)


def test_no_grace_at_all(lab: Lab) -> None:
    """With a grace of 0 a child that ignores TERM still ends."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "0"))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 137


def test_tree_that_ignores_term(lab: Lab) -> None:
    """Workers and daemons that ignore TERM are killed too."""
    code = "trap '' TERM; (while :; do sleep 1; done) & setsid sh -c 'while :; do sleep 1; done' & "
    run = lab.launch(*shell(code + "echo ready; wait"), options=("--grace", "0.2"))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    run.wait()
    until(lab.is_empty, "every marked process to be gone")


def test_second_signal_reaches_the_child(lab: Lab) -> None:
    """A second signal in mid-stop is passed on, and the grace stays what it was."""
    code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda number, frame: print("one", flush=True))
signal.signal(signal.SIGINT, lambda number, frame: (print("two", flush=True), sys.exit(7)))
print("ready", flush=True)
while True:
    signal.pause()
"""
    run = lab.launch(*python(code))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    run.says(b"one")
    run.signal(signal.SIGINT)
    assert run.wait() == 7
    assert run.log() == b"ready\none\ntwo\n"
    assert exit_of(run.record)["signal"] == signal.SIGTERM


def test_worker_gets_no_term_while_the_leader_saves(lab: Lab) -> None:
    """The group is not signalled as long as the leader is at it."""
    code = f"""
import signal, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {LISTENER!r}, {ALL_SIGNALS!r}, ""])
def save(number, frame):
    time.sleep(0.5)
    print("worker", worker.poll(), flush=True)
    worker.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
signal.pause()
"""
    run = lab.launch(*python(code))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert run.log() == b"ready\nworker None\n"


def test_worker_is_asked_when_the_leader_is_gone(lab: Lab) -> None:
    """Who is left when the leader has ended gets a TERM of its own, and time to act on it."""
    code = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
    run = lab.launch(*python(code), "-c", LISTENER, ALL_SIGNALS, "")
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    run.wait()
    assert run.log().endswith(b"heard SIGTERM\n")


def test_stopped_child_is_noticed_and_can_be_ended(lab: Lab) -> None:
    """A child in SIGSTOP is told in the record, and TERM ends it all the same."""
    run = lab.launch(*listener())
    run.says(b"ready")
    os.kill(run.leader, signal.SIGSTOP)
    assert run.told("child_stopped")["signal"] == signal.SIGSTOP
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert run.log().endswith(b"heard SIGTERM\n")


def test_stopped_child_goes_on(lab: Lab) -> None:
    """A child that is continued is told too, and runs to its own end."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.says(b"ready")
    os.kill(run.leader, signal.SIGSTOP)
    run.told("child_stopped")
    os.kill(run.leader, signal.SIGCONT)
    run.told("child_continued")
    (lab.home / "go").touch()
    assert run.wait() == 3


def test_supervisor_that_is_suspended(lab: Lab) -> None:
    """While the supervisor is suspended (Ctrl-Z) the child goes on; its status is not lost."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; touch done; exit 3"))
    run.says(b"ready")
    run.signal(signal.SIGSTOP)
    (lab.home / "go").touch()
    until((lab.home / "done").exists, "the child to be done all the same")
    run.signal(signal.SIGCONT)
    assert run.wait() == 3


def test_signal_in_the_first_moment(lab: Lab) -> None:
    """A signal at any moment of the start ends the run, and nothing of it is left."""
    for pause in range(0, 60, 4):
        process = lab.start((*PROGRAM, "run", "--", "sleep", "1000"))
        until(lambda: any("gpualert" in line for line in lab.living().values()), "its start")
        signal.sigtimedwait([], pause / 1000)
        process.terminate()
        assert process.wait(30) in (128 + signal.SIGTERM, -signal.SIGTERM)
        until(lab.is_empty, "nothing of it to be left")


def test_processes_of_others_are_left_alone(lab: Lab) -> None:
    """What was a child of this process before it became gpualert is not of the run."""
    other = 'sleep 1000 & echo $! > other; exec "$@"'
    command = ("sh", "-c", other, "sh", *PROGRAM, "run", "--", *listener())
    process = lab.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: any(lab.state.glob("runs/*/events.jsonl")), "the launch")
    until(lambda: b"ready" in lab.log("output.log"), "the child")
    process.terminate()
    assert process.wait(30) == 0
    other_pid = int((lab.home / "other").read_text())
    assert list(lab.living()) == [other_pid]
    assert exit_of(lab.record())["survivors"] == []


def test_stop_command(lab: Lab) -> None:
    """``gpualert stop`` ends a run like a TERM, waits for its end, and says who asked."""
    run = lab.launch(*listener())
    run.says(b"ready")
    done = lab.gpualert("stop", "last")
    assert done.returncode == 0
    assert done.stdout == f"{run.record.run_id}  ended\n".encode()
    assert run.wait() == 0
    assert exit_of(run.record)["sender"]["command"] == "gpualert stop"


def test_stop_command_with_a_grace_of_its_own(lab: Lab) -> None:
    """``gpualert stop --grace`` overrides the run's own grace."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "1h"))
    run.says(b"ready")
    assert lab.gpualert("stop", "--grace", "0.2").returncode == 0
    assert run.wait() == 137


def test_a_later_request_shortens_the_grace(lab: Lab) -> None:
    """A second ``gpualert stop`` with a shorter grace ends what a first one left time to."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "1h"))
    run.says(b"ready")
    run.signal(signal.SIGTERM)
    run.told("stopping")
    assert lab.gpualert("stop", "--grace", "0").returncode == 0
    assert run.wait() == 137


def test_patience_is_lost(lab: Lab) -> None:
    """The fourth signal of a stop ends the grace: nobody waits an hour for a deaf child."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM,SIGINT"), options=("--grace", "1h"))
    run.says(b"ready")
    for _signal in range(3):
        run.signal(signal.SIGTERM)
        time.sleep(0.05)  # two of a kind that are pending together are one
    assert run.process.poll() is None
    run.signal(signal.SIGINT)
    assert run.wait() == 137


def test_stop_of_a_run_that_has_ended(lab: Lab) -> None:
    """Stopping what has ended is a negative answer and changes nothing."""
    lab.run("true")
    before = exit_of(lab.record())
    done = lab.gpualert("stop")
    assert (done.returncode, b"already ended" in done.stdout) == (1, True)
    assert exit_of(lab.record()) == before


def test_tree_is_found_from_the_record_alone(lab: Lab) -> None:
    """Any process can tell from the record whether the run's processes live."""
    run = lab.launch(*listener())
    run.says(b"ready")
    assert recover.is_alive(run.record)
    run.signal(signal.SIGTERM)
    run.wait()
    assert not recover.is_alive(run.record)
