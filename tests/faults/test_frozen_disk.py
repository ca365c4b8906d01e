"""A frozen disk: the status does not wait for it, the evidence does."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.reasons import HangExplanation, HangReason, explain_hang
from tests.faults.conftest import freeze, thaw
from tests.supervised import (
    PYTHON,
    Lab,
    Supervised,
    exit_of,
    is_alive,
    listener,
    python,
    shell,
    until,
)

pytestmark = pytest.mark.e2e

STATUS_WITHIN_S = 3.0
"""Half a second on an idle machine, two on a busy one, and its load."""
WAITS = "echo ready; until [ -e go ]; do sleep 0.01; done; "


def seconds_to_end(run: Supervised) -> float:
    """Return the time from the child's death to the end of the program."""
    until(lambda: not is_alive(run.leader), "the child to end")
    begin = time.monotonic()
    run.wait()
    return time.monotonic() - begin


@pytest.mark.parametrize(
    ("ending", "status"),
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -11 $$", 139)],
)
def test_status_on_a_frozen_disk(
    on_real_disk: Lab, real_disk: Path, ending: str, status: int
) -> None:
    """The status comes within a second; after the thaw the record is completed."""
    lab = on_real_disk
    run = lab.launch(*shell(WAITS + ending))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    (lab.home / "go").touch()
    assert seconds_to_end(run) < STATUS_WITHIN_S
    assert run.process.returncode == status
    assert not (Path(run.record.path) / "exit.json").exists()
    thaw(real_disk)
    until((Path(run.record.path) / "verdict.json").exists, "the late verdict")
    assert exit_of(run.record)["code"] == (
        status if status < 128 or status == 255 else 128 - status
    )


def test_short_run_on_a_disk_that_freezes(on_real_disk: Lab, real_disk: Path) -> None:
    """A child that freezes the disk of its own log and ends at once has its status."""
    lab = on_real_disk
    begin = time.monotonic()
    assert lab.run("fsfreeze", "--freeze", str(real_disk), stdout=-3, stderr=-3).returncode == 0
    assert time.monotonic() - begin < STATUS_WITHIN_S
    thaw(real_disk)


def test_child_that_writes_waits_for_the_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """A child that writes to its log waits for the thaw, as without us, and loses nothing."""
    lab = on_real_disk
    run = lab.launch(*shell(WAITS + "seq 1000; exit 3"))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    (lab.home / "go").touch()
    with pytest.raises(subprocess.TimeoutExpired):
        run.process.wait(0.5)
    thaw(real_disk)
    assert run.wait() == 3
    assert run.log().endswith(b"\n1000\n")


def test_stacks_of_a_child_that_writes(lab: Lab, real_disk: Path) -> None:
    """The stacks of a program that writes to a frozen disk name the line, the disk and its type."""
    code = (
        "import os, sys, time\n"
        "file = open(sys.argv[1], 'wb', buffering=0)\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "file.write(b'x')\n"
    )
    script = lab.script("save.py", code)
    run = lab.launch(PYTHON, script, str(real_disk / "checkpoint"))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    (lab.home / "go").touch()

    def find_disk() -> HangExplanation | None:
        dump = take_dump(SampledTree(run.leader, "GPUALERT_MARK_none"), DumpOptions("test"))
        found = explain_hang(dump)
        return found if found is not None and found.reason is HangReason.DISK else None

    found = until(find_disk, "the wait for the disk")
    assert f"{real_disk}/checkpoint (ext4, /dev/loop" in found.text
    assert f"at {real_disk})" in found.text
    assert "state D" in found.text
    assert found.text.endswith("at save.py:5")
    thaw(real_disk)
    assert run.wait() == 0


def test_stop_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """TERM is passed on and the run ends although nothing can be written."""
    lab = on_real_disk
    # The shell's own message about its killed sleep would wait for the disk, as without us.
    code = "trap 'touch saved; exit 4' TERM; echo ready; exec 2>&-; while :; do sleep 0.01; done"
    run = lab.launch(*shell(code))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    run.signal(signal.SIGTERM)
    assert seconds_to_end(run) < STATUS_WITHIN_S
    assert run.process.returncode == 4
    assert (lab.home / "saved").exists()
    thaw(real_disk)
    until((Path(run.record.path) / "exit.json").exists, "the late record")
    assert exit_of(run.record)["signal"] == signal.SIGTERM


def test_signals_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """USR1 reaches the child although it can be recorded only later."""
    lab = on_real_disk
    code = "trap 'touch received' USR1; echo ready; until [ -e go ]; do sleep 0.01; done"
    run = lab.launch(*shell(code))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    run.signal(signal.SIGUSR1)
    until((lab.home / "received").exists, "the signal")
    (lab.home / "go").touch()
    assert run.wait() == 0
    thaw(real_disk)
    assert run.wait_for_event("signal")["signal"] == signal.SIGUSR1


def test_time_limit_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """The time limit ends the run although nothing can be written."""
    lab = on_real_disk
    run = lab.launch("sleep", "1000", options=("--timeout", "0.5"))
    freeze(real_disk)
    assert run.wait() == 124
    thaw(real_disk)


def test_api_on_a_frozen_disk(on_real_disk: Lab, real_disk: Path) -> None:
    """``run()`` returns within a second of the child's end, without a verdict."""
    lab = on_real_disk
    code = (
        "import sys, time\n"
        "from gpualert_common import run\n"
        "result = run(sys.argv[1:])\n"
        "late = time.time() - float(open('ended').read())\n"
        "open('result', 'w').write(f'{result.exit_code} {result.verdict} {late}')\n"
    )
    child = shell(WAITS + "date +%s.%N > ended; exit 3")
    lab.start((*python(code), *child))
    until(lambda: lab.has_output(b"ready\n"), "the child")
    freeze(real_disk)
    (lab.home / "go").touch()
    until(
        lambda: (lab.home / "result").exists() and (lab.home / "result").read_text(), "the result"
    )
    code, verdict, late = (lab.home / "result").read_text().split()
    assert (code, verdict) == ("3", "None")
    assert float(late) < STATUS_WITHIN_S
    thaw(real_disk)


def test_disk_that_thaws_in_time(on_real_disk: Lab, real_disk: Path) -> None:
    """A disk that was frozen for a while during the run leaves no trace in the record."""
    lab = on_real_disk
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    freeze(real_disk)
    run.signal(signal.SIGUSR1)
    time.sleep(1)
    thaw(real_disk)
    run.wait_for_output(b"received SIGUSR1")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0
    assert lab.json("show")["verdict"]["exit_code"] == 0
    names = [event.name for event in run.record.events()]
    assert names == ["launched", "signal", "signal", "stopping", "leader_exited"]


def test_alert_after_the_thaw(on_real_disk: Lab, real_disk: Path) -> None:
    """The alert of a run with a frozen disk is sent after the thaw, without a command."""
    lab = on_real_disk
    run = lab.launch(*shell(WAITS + "exit 3"), options=("--notify", f"mailbox:{lab.home}/box"))
    run.wait_for_output(b"ready")
    freeze(real_disk)
    (lab.home / "go").touch()
    assert seconds_to_end(run) < STATUS_WITHIN_S
    assert run.process.returncode == 3
    thaw(real_disk)
    until(lambda: list((lab.home / "box").glob("new/*")), "the alert")


def test_disk_that_freezes_under_an_alert(on_real_disk: Lab, real_disk: Path) -> None:
    """While the sender waits for a disk, the end of the run waits until its deadline at most."""
    lab = on_real_disk
    began, over = lab.home / "began", lab.home / "over"
    program = lab.home / "channel"
    program.write_text(f"#!/bin/sh\ntouch {began}\nuntil [ -e {over} ]; do sleep 0.05; done\n")
    program.chmod(0o755)
    options = ("--notify", f"command:{program}", "--notify-deadline", "3s")
    run = lab.launch(*shell("echo ready; sleep 0.5; exit 3"), options=options)
    until(began.exists, "the channel to be at it")
    begin = time.monotonic()
    freeze(real_disk)
    over.touch()
    assert run.wait() == 3
    assert time.monotonic() - begin < 3 + STATUS_WITHIN_S
    thaw(real_disk)
    until(lambda: b'"sent"' in _alert(run), "the alert to be noted as sent")


def _alert(run: Supervised) -> bytes:
    return b"".join(path.read_bytes() for path in Path(run.record.path).glob("outbox/*.json"))
