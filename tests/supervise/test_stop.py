"""A stopped run saves its checkpoint, and then none of its processes is left."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import recover
from gpualert_common.record import SPEC
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


def _pipeline(_lab: Lab, command: str) -> list[str]:
    return ["bash", "-c", f"{command} 2>&1 | tee output; echo done"]


def _wrapper(lab: Lab, command: str) -> list[str]:
    wrapper = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    return [PYTHON, lab.script("wrapper.py", wrapper), *command.split()]


LEADERS = (_directly, _compound, _script, _script_in_script, _subshell, _pipeline, _wrapper)
Leader = Callable[[Lab, str], list[str]]


@pytest.mark.parametrize("leader", LEADERS, ids=lambda leader: leader.__name__.strip("_"))
def test_checkpoint_is_saved(lab: Lab, leader: Leader) -> None:
    """On TERM a training and its worker get the 2 s that they need; then no process is left.

    Among what must not be left: a daemon that forked into a session of its own, and one that
    cleaned its environment as well.
    """
    trainer = lab.script("train.py", TRAINER)
    target = lab.home / "checkpoint"
    run = lab.launch(*leader(lab, f"{PYTHON} {trainer} {target} {lab.mark}"))
    run.wait_for_output(b"ready")
    until(lambda: any("while :" in command for command in lab.living().values()), "the daemon")
    run.signal(signal.SIGTERM)
    run.wait()
    assert target.read_text() == "whole, worker alive: True"
    until(lab.is_empty, "every marked process to be gone")
    assert not in_group_or_session(run.leader)
    assert exit_of(run.record)["survivors"] == []


def test_status_after_a_saved_checkpoint(lab: Lab) -> None:
    """The status of a child that exits with 0 after our TERM is 0; the stop is recorded
    separately."""
    trainer = lab.script("train.py", TRAINER)
    run = lab.launch(PYTHON, trainer, "checkpoint", lab.mark)
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    ending = exit_of(run.record)
    assert (ending["code"], ending["signal"]) == (0, signal.SIGTERM)


def test_child_that_ignores_term(lab: Lab) -> None:
    """A child that ignores TERM is killed after the grace."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "0.3"))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 137
    ending = exit_of(run.record)
    assert (ending["code"], ending["signal"]) == (-signal.SIGKILL, signal.SIGTERM)


def test_zero_grace(lab: Lab) -> None:
    """With a grace of 0 a child that ignores TERM is killed at once."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "0"))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 137


def test_tree_that_ignores_term(lab: Lab) -> None:
    """Workers and daemons that ignore TERM are killed too."""
    code = "trap '' TERM; (while :; do sleep 1; done) & setsid sh -c 'while :; do sleep 1; done' & "
    run = lab.launch(*shell(code + "echo ready; wait"), options=("--grace", "0.2"))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    run.wait()
    until(lab.is_empty, "every marked process to be gone")


def test_worker_gets_no_term_while_the_leader_saves(lab: Lab) -> None:
    """The group gets no signal while the leader saves."""
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
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert run.log() == b"ready\nworker None\n"


def test_worker_gets_term_after_the_leader(lab: Lab) -> None:
    """Processes that outlive the leader get their own TERM, and time to react."""
    code = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
    run = lab.launch(*python(code), "-c", LISTENER, ALL_SIGNALS, "")
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    run.wait()
    assert run.log().endswith(b"received SIGTERM\n")


def test_processes_of_others_are_not_stopped(lab: Lab) -> None:
    """A child of the process from before it became gpualert does not belong to the run."""
    other = 'sleep 1000 & echo $! > other; exec "$@"'
    command = ("sh", "-c", other, "sh", *PROGRAM, "run", "--", *listener())
    process = lab.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: lab.has_output(b"ready\n"), "the child")
    process.terminate()
    assert process.wait(30) == 0
    other_pid = int((lab.home / "other").read_text())
    assert list(lab.living()) == [other_pid]
    assert exit_of(lab.record())["survivors"] == []


def test_stop_command(lab: Lab) -> None:
    """``gpualert stop`` ends a run like TERM, waits for its end, and records the sender."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    done = lab.gpualert("stop", "last")
    assert done.returncode == 0
    assert done.stdout == f"{run.record.run_id}  ended\n".encode()
    assert run.wait() == 0
    assert exit_of(run.record)["sender"]["command"] == "gpualert stop"


def test_stop_command_with_a_grace(lab: Lab) -> None:
    """``gpualert stop --grace`` overrides the run's own grace."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "1h"))
    run.wait_for_output(b"ready")
    assert lab.gpualert("stop", "--grace", "0.2").returncode == 0
    assert run.wait() == 137


def test_stop_command_without_a_grace(lab: Lab) -> None:
    """``gpualert stop`` of a run with a damaged record leaves it the grace that it was given."""
    run = lab.launch(
        *shell("trap 'sleep 0.5; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    )
    run.wait_for_output(b"ready")
    path = Path(run.record.path, SPEC)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "grace_s": 1e9}))
    assert lab.gpualert("stop").returncode == 0
    assert run.wait() == 0


def test_a_later_request_shortens_the_grace(lab: Lab) -> None:
    """A second ``gpualert stop`` with a shorter grace ends a longer first one."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "1h"))
    run.wait_for_output(b"ready")
    run.signal(signal.SIGTERM)
    run.wait_for_event("stopping")
    assert lab.gpualert("stop", "--grace", "0").returncode == 0
    assert run.wait() == 137


def test_fourth_signal_ends_the_grace(lab: Lab) -> None:
    """The fourth signal of a stop ends the grace."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM,SIGINT"), options=("--grace", "1h"))
    run.wait_for_output(b"ready")
    for _signal in range(3):
        run.signal(signal.SIGTERM)
        time.sleep(0.05)  # two of a kind that are pending together are one
    assert run.process.poll() is None
    run.signal(signal.SIGINT)
    assert run.wait() == 137


def test_stop_of_a_run_that_has_ended(lab: Lab) -> None:
    """A stop of an ended run fails and changes nothing."""
    lab.run("true")
    before = exit_of(lab.record())
    done = lab.gpualert("stop")
    assert (done.returncode, b"already ended" in done.stdout) == (1, True)
    assert exit_of(lab.record()) == before


def test_tree_is_found_by_the_record(lab: Lab) -> None:
    """Any process can find the run's live processes by the record."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    assert recover.has_processes(run.record)
    run.signal(signal.SIGTERM)
    run.wait()
    assert not recover.has_processes(run.record)
