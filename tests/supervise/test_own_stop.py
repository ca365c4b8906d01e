"""One's own stop: it is named in the verdict, it is certain, and by default nobody is notified."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.processes.host import host_name
from gpualert_common.record import Record
from tests.notify.alerting import entries
from tests.supervised import LISTENER, PROGRAM, Lab, Supervised, exit_of, python, shell, until
from tests.terminal import Terminal

CTRL_C, CTRL_BACKSLASH = b"\x03", b"\x1c"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total "
    "capacity of 23.69 GiB of which 3.00 GiB is free."
)
HUNG = f"""
import sys, time
sys.stderr.write('''Traceback (most recent call last):
  File "train.py", line 3, in <module>
    step()
{OOM}
''')
print("ready", flush=True)
time.sleep(1000)
"""


def start_at(
    terminal: Terminal, lab: Lab, *command: str, on: str = "failure"
) -> subprocess.Popen[bytes]:
    """Start a run at a terminal that alerts to the mailbox, and wait for its first output."""
    options = ("--notify", "mailbox", "--notify-on", on)
    process = terminal.start(lab, *PROGRAM, "run", *options, "--", *command)
    terminal.shows(b"ready")
    return process


def launch(lab: Lab, *command: str, **options: str) -> Supervised:
    """Start a run without a terminal that alerts to the mailbox, and wait for its first output."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    found = lab.launch(*command, options=("--notify", "mailbox", *flags))
    found.wait_for_output(b"ready")
    return found


def verdict_of(record: Record) -> dict[str, Any]:
    """Return headline, cause, attribution and confidence of a verdict, and whether it alerted."""
    verdict = record.verdict
    assert verdict is not None
    return {
        "headline": verdict.headline,
        "cause": verdict.cause,
        "disposition": str(verdict.disposition),
        "attribution": str(verdict.attribution),
        "confidence": verdict.confidence,
        "alerts": len(entries(record)),
    }


OWN = {"cause": "cancelled", "disposition": "cancelled", "attribution": "external", "alerts": 0}
BY_KEYBOARD = {**OWN, "headline": "You stopped it from the terminal", "confidence": 1.0}
WAITS = shell("echo ready; exec sleep 1000")


def catches(code: int) -> tuple[str, ...]:
    """Return a training that saves on SIGINT, and exits with this status."""
    source = LISTENER.replace("sys.exit(0)", f"print('saved', flush=True); sys.exit({code})")
    return (*python(source), "SIGINT", "")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(WAITS, id="dies-of-it"),
        pytest.param(
            python("import time; print('ready', flush=True); time.sleep(9e3)"), id="raises"
        ),
        *(pytest.param(catches(code), id=f"exits-with-{code}") for code in (0, 1, 130)),
    ],
)
def test_interrupt_key_is_the_persons_stop(
    lab: Lab, terminal: Terminal, command: tuple[str, ...]
) -> None:
    """Ctrl-C is named as the reason with full confidence, and sends no alert."""
    process = start_at(terminal, lab, *command)
    os.write(terminal.master, CTRL_C)
    terminal.shows(b"gpualert: You stopped it from the terminal")
    process.wait(30)
    assert verdict_of(lab.record()) == BY_KEYBOARD
    assert not (lab.state / "mailbox").exists()


def test_quit_key_is_the_persons_stop(lab: Lab, terminal: Terminal) -> None:
    """Ctrl-backslash ends the training like Ctrl-C, and is the person's stop, too."""
    process = start_at(terminal, lab, *shell("ulimit -c 0; echo ready; exec sleep 1000"))
    os.write(terminal.master, CTRL_BACKSLASH)
    assert process.wait(30) == 128 + signal.SIGQUIT
    assert verdict_of(lab.record()) == BY_KEYBOARD


def test_closed_terminal_alerts(lab: Lab, terminal: Terminal) -> None:
    """A closed terminal may be a lost connection: it is named, and an alert is sent."""
    start_at(terminal, lab, *WAITS)
    terminal.close()
    record = until(lambda: lab.record() if entries(lab.record()) else None, "the alert")
    assert verdict_of(record) == {
        **BY_KEYBOARD,
        "headline": "The terminal was closed, and that stopped it",
        "alerts": 1,
    }


@pytest.mark.parametrize("on", ["failure_or_stop", "always"])
def test_own_stop_alerts_where_wanted(lab: Lab, terminal: Terminal, on: str) -> None:
    """With ``notify_on = "failure_or_stop"`` one's own stop sends an alert, too."""
    process = start_at(terminal, lab, *WAITS, on=on)
    os.write(terminal.master, CTRL_C)
    process.wait(30)
    assert verdict_of(lab.record()) == {**BY_KEYBOARD, "alerts": 1}


def by_command(place: str = "") -> dict[str, Any]:
    """Return the expected verdict after ``gpualert stop`` at that place."""
    headline = f"Stopped by gpualert stop from {getpass.getuser()}{place} on {host_name()}"
    return {**OWN, "headline": headline, "confidence": 1.0}


def test_stop_command_is_the_persons_stop(lab: Lab) -> None:
    """``gpualert stop`` is named with its user and host, and sends no alert."""
    found = launch(lab, *WAITS)
    assert lab.gpualert("stop").returncode == 0
    found.wait()
    assert verdict_of(found.record) == by_command()


def test_stop_command_names_its_terminal(lab: Lab, terminal: Terminal) -> None:
    """``gpualert stop`` at a terminal is named with that terminal."""
    name = os.ttyname(terminal.slave)
    found = launch(lab, *WAITS)
    assert terminal.start(lab, *PROGRAM, "stop").wait(30) == 0
    found.wait()
    assert verdict_of(found.record) == by_command(f" at {name}")


def test_stop_of_an_orphan_is_the_persons_stop(lab: Lab) -> None:
    """``gpualert stop`` is named also where it stops the run itself, whose supervisor died."""
    found = launch(lab, *WAITS)
    found.process.kill()
    found.process.wait()
    assert lab.gpualert("stop").returncode == 0
    assert verdict_of(found.record) == by_command()


def test_signal_of_a_program_alerts(lab: Lab) -> None:
    """A signal of a program is named with that program, and sends an alert."""
    found = launch(lab, *WAITS)
    found.signal(signal.SIGTERM)
    found.wait()
    command = Path("/proc/self/comm").read_text().strip().split()[0]
    assert verdict_of(found.record) == {
        **OWN,
        "headline": f"Stopped by SIGTERM from {command} (pid {os.getpid()})",
        "confidence": 0.9,
        "alerts": 1,
    }


def test_own_time_limit_is_the_jobs_and_alerts(lab: Lab) -> None:
    """A run that its own limit stopped is named so, as a matter of the job, and sends an alert."""
    found = launch(lab, *WAITS, timeout="1s")
    assert found.wait() == 124
    assert verdict_of(found.record) == {
        "headline": "Stopped at its own time limit (option timeout)",
        "cause": "time_limit",
        "disposition": "timeout",
        "attribution": "job",
        "confidence": 1.0,
        "alerts": 1,
    }


def test_interrupted_caller_is_the_persons_stop(lab: Lab) -> None:
    """Ctrl-C in a program that called ``run()`` is named so, and sends no alert."""
    code = f"from gpualert_common import run; run({list(WAITS)}, notify='mailbox')"
    caller = lab.start(python(code), stderr=subprocess.DEVNULL)
    until(lambda: lab.has_output(b"ready"), "the child")
    caller.send_signal(signal.SIGINT)
    caller.wait(30)
    headline = "You interrupted the program that called run()"
    assert verdict_of(lab.record()) == {**OWN, "headline": headline, "confidence": 1.0}


@pytest.mark.parametrize("stop", ["stop", "timeout"])
def test_failure_before_the_stop_is_the_cause(lab: Lab, stop: str) -> None:
    """A failure after which the run only hung is the cause of a run that is then stopped."""
    found = launch(
        lab, *python(HUNG), streams="merged", **({"timeout": "2s"} if stop == "timeout" else {})
    )
    if stop == "stop":
        assert lab.gpualert("stop").returncode == 0
    found.wait()
    shown = verdict_of(found.record)
    assert (shown["cause"], shown["attribution"]) == ("cuda_oom", "job")
    assert shown["disposition"] == ("cancelled" if stop == "stop" else "timeout")
    assert exit_of(found.record)["code"] != 0


def test_failure_after_the_stop_is_not_the_cause(lab: Lab) -> None:
    """A failure while a training saves because of a stop does not hide the stop."""
    source = LISTENER.replace("sys.exit(0)", f"sys.stderr.write({OOM!r}); sys.exit(1)")
    found = launch(lab, *python(source), "SIGTERM", "", streams="merged")
    assert lab.gpualert("stop").returncode == 0
    found.wait()
    assert verdict_of(found.record) == by_command()


def test_progress_after_a_failure_hides_it(lab: Lab) -> None:
    """A failure that the training recovered from is not the cause of a later stop."""
    steps = "".join(f"print('step {n} loss 0.{n}', flush=True)\n" for n in range(1, 9))
    code = HUNG.replace('print("ready"', steps + 'print("ready"')
    found = launch(lab, *python(code), streams="merged")
    assert lab.gpualert("stop").returncode == 0
    found.wait()
    assert verdict_of(found.record) == by_command()


@pytest.mark.e2e
def test_signal_from_outside_of_the_container_is_not_the_terminals(lab: Lab) -> None:
    """A container's runtime sends from another namespace: its signal is not taken for a key."""
    inside = ("unshare", "--pid", "--fork", "--mount-proc", *PROGRAM)
    outer = lab.start((*inside, "run", "--streams", "merged", "--notify", "mailbox", "--", *WAITS))
    until(lambda: lab.has_output(b"ready"), "the child")
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    outer.wait(30)
    assert verdict_of(lab.record()) == {
        **OWN,
        "headline": "Stopped by SIGTERM from a process outside of this container",
        "confidence": 0.9,
        "alerts": 1,
    }
