"""At a terminal bars move, and a terminal that is closed or not read delays nothing."""

from __future__ import annotations

import os
import signal
import time

from tests.supervised import PROGRAM, Lab, breaking, exit_of, listener, python, shell, until
from tests.terminal import Terminal, run_at

BAR = (
    "import os, sys, time\n"
    "for step in range(100):\n"
    "    sys.stderr.write(f'\\r{step:3d}%|###'); sys.stderr.flush()\n"
    "    if step == 50:\n"
    "        while not os.path.exists('go'): time.sleep(0.01)\n"
    "print('\\nend')\n"
)


def test_bar_moves_while_it_runs(lab: Lab, terminal: Terminal) -> None:
    """A bar that is redrawn by ``\\r`` moves on the screen, and is unchanged in the log."""
    process = run_at(terminal, lab, *python(BAR))
    terminal.shows(b"\r 50%|###")
    assert b"51%" not in terminal.shown
    (lab.home / "go").touch()
    terminal.shows(b"\r 99%|###")
    terminal.shows(b"gpualert: Completed")
    assert process.wait(30) == 0
    assert b"\n" not in terminal.shown.partition(b"\r 99%")[0]


IMPORTS = (
    "import sys\n"
    "sys.addaudithook(lambda event, of: event == 'import' and of[0].startswith('gpualert_common.')"
    " and open(of[0], 'w').close())\n"
)
"""Leaves an empty file for each module of ours that is imported, under its name."""


def test_closing_message_is_prepared_during_the_run(lab: Lab) -> None:
    """The modules that print the closing message are imported before the command exits."""
    waits = "while [ ! -e gpualert_common.report.closing_lines ]; do sleep 0.01; done"
    done = lab.call((*breaking(IMPORTS), "run", "--", *shell(waits)))
    assert done.returncode == 0
    assert b"gpualert: Completed" in done.stderr


def test_one_log_at_a_terminal(lab: Lab, terminal: Terminal) -> None:
    """At a terminal stdout and stderr share one log, in true order."""
    run_at(terminal, lab, *shell("echo one; echo two >&2; echo three"))
    terminal.shows(b"gpualert: Completed")
    assert lab.log("output.log") == b"one\ntwo\nthree\n"


def test_interrupt_key(lab: Lab, terminal: Terminal) -> None:
    """Ctrl-C reaches the child as one INT, and the run ends with the child's status."""
    process = run_at(terminal, lab, *listener())
    terminal.shows(b"ready")
    os.write(terminal.master, b"\x03")
    terminal.shows(b"received SIGINT")
    assert process.wait(30) == 0
    assert lab.log("output.log") == b"ready\nreceived SIGINT\n"
    assert exit_of(lab.record())["signal"] == signal.SIGINT
    assert exit_of(lab.record())["sender"]["pid"] == 0


def test_typed_input_reaches_the_child(lab: Lab, terminal: Terminal) -> None:
    """The child reads the keyboard."""
    process = run_at(terminal, lab, *shell("echo name?; read name; echo hello $name"))
    terminal.shows(b"name?")
    os.write(terminal.master, b"world\n")
    terminal.shows(b"hello world")
    assert process.wait(30) == 0


def test_terminal_closed_half_way(lab: Lab, terminal: Terminal) -> None:
    """When the terminal closes the child gets SIGHUP and may save; the signal is recorded."""
    run_at(terminal, lab, *listener())
    terminal.shows(b"ready")
    terminal.close()
    until(lab.is_empty, "the run to end")
    assert lab.log("output.log") == b"ready\nreceived SIGHUP\n"
    ending = exit_of(lab.record())
    assert (ending["code"], ending["signal"]) == (0, signal.SIGHUP)


def test_terminal_closed_under_nohup(lab: Lab, terminal: Terminal) -> None:
    """Under nohup the run survives its terminal."""
    code = "echo ready; until [ -e go ]; do sleep 0.01; done; echo whole; exit 3"
    terminal.start(lab, "nohup", *PROGRAM, "run", "--streams", "merged", "--", *shell(code))
    until(lambda: lab.has_output(b"ready\n"), "the child")
    terminal.close()
    (lab.home / "go").touch()
    until(lab.is_empty, "the run to end by itself")
    assert lab.log("output.log") == b"ready\nwhole\n"
    ending = exit_of(lab.record())
    assert (ending["code"], ending["signal"]) == (3, None)


TQDM = (
    "import sys, time\n"
    "begin = time.monotonic()\n"
    "for step in range(10_000):\n"
    "    sys.stderr.write(f'\\r{step:6d}/10000 [{\"#\" * 40}] loss=0.123'); sys.stderr.flush()\n"
    "    while time.monotonic() < begin + step / 5000: time.sleep(0.0001)\n"
    "open('took', 'w').write(str(time.monotonic() - begin))\n"
)


def test_fast_bar_at_a_stopped_terminal(lab: Lab, terminal: Terminal) -> None:
    """A child with 5,000 updates a second is not delayed by a stopped terminal."""
    process = run_at(terminal, lab, *python(TQDM))
    until((lab.home / "took").exists, "the child to be done although nobody reads")
    assert float((lab.home / "took").read_text()) < 4, "twice what its own pace makes"
    assert lab.log("output.log").count(b"\r") == 10_000
    terminal.shows(b"gpualert: Completed")
    assert process.wait(30) == 0


def test_terminal_far_behind_skips_to_the_present(lab: Lab, terminal: Terminal) -> None:
    """A terminal that is far behind gets the end of the output and the number of omitted lines."""
    process = run_at(terminal, lab, *shell("seq 500000; touch done"))
    until((lab.home / "done").exists, "the child to be done")
    terminal.shows(b"bytes not shown here; they are in the log]")
    terminal.shows(b"\n500000\r\n")
    terminal.shows(b"gpualert: Completed")
    assert process.wait(30) == 0
    assert lab.log("output.log").endswith(b"\n500000\n")


def test_terminal_stopped_by_its_user(lab: Lab, terminal: Terminal) -> None:
    """Ctrl-S stops only the terminal; Ctrl-Q shows the missed output."""
    code = "echo ready; until [ -e go ]; do sleep 0.01; done; echo more; touch done; exit 3"
    process = run_at(terminal, lab, *shell(code))
    terminal.shows(b"ready")
    os.write(terminal.master, b"\x13")
    time.sleep(0.05)
    (lab.home / "go").touch()
    until((lab.home / "done").exists, "the child to be done")
    os.write(terminal.master, b"\x11")
    terminal.shows(b"more")
    terminal.shows(b"gpualert: ")
    assert process.wait(30) == 3
