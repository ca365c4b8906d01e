"""``gpualert top`` in a real terminal: its page, its keys, its sizes, and its ends."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.cli.live_table import LivePage, format_page
from gpualert_common.current_runs.live_runs import LiveRun, LiveRuns, RunDetails
from gpualert_common.listing.condition import Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.live_facts import LiveProgress, MachineLoad
from gpualert_common.report.formatting import columns
from tests.supervised import PROGRAM, Lab, python, shell, until

STEPS = shell(
    "for n in 1 2 3 4 5 6 7 8 9; do echo step $n/100 loss 0.$n; done; "
    "until [ -e go ]; do sleep 0.01; done"
)
_SEQUENCE = re.compile(rb"\x1b\[([?\d;]*)([A-Za-z])|\x1b(.)", re.DOTALL)


class Terminal:
    """A terminal of our own: it obeys the sequences of the view, and fails at any other."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.master, self.process = master, process
        self.is_alternate = False
        self.is_cursor_shown = True
        self.has_colours = False
        self.plain = b""
        self._rows: dict[int, str] = {}
        self._row = 0

    @property
    def text(self) -> str:
        """The lines on the screen."""
        return "\n".join(
            self._rows.get(row, "") for row in range(1, max(self._rows, default=0) + 1)
        )

    def press(self, keys: bytes) -> None:
        """Send keys."""
        os.write(self.master, keys)

    def resize(self, width: int, height: int) -> None:
        """Change the size; the kernel signals it."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._rows.clear()

    def shows(self, text: str) -> Callable[[], bool]:
        """Return a probe for a text on the screen."""

        def probe() -> bool:
            self.read()
            return text in self.text

        return probe

    def read(self, wait_s: float = 0.02) -> str:
        """Obey what has been printed; return the screen."""
        while select.select([self.master], [], [], wait_s)[0]:
            try:
                data = os.read(self.master, 1 << 20)
            except OSError:  # its last process has exited
                break
            if not data:
                break
            while not data.endswith(b"\x1b[2K") and select.select([self.master], [], [], 0.02)[0]:
                try:
                    data += os.read(self.master, 1 << 20)
                except OSError:
                    break
            self._obey(data)
        return self.text

    def wait(self) -> int:
        """Return the exit status, with all output obeyed."""
        until(
            lambda: self.read() is not None and self.process.poll() is not None,
            "the end of the view",
        )
        self.read()
        return self.process.returncode

    def _obey(self, data: bytes) -> None:
        at = 0
        for found in _SEQUENCE.finditer(data):
            self._print(data[at : found.start()])
            at = found.end()
            values, kind = found[1] or b"", found[2]
            match kind:
                case b"H":
                    self._row = int(values.partition(b";")[0] or 1)
                case b"K":
                    self._rows[self._row] = ""
                case b"J":
                    self._rows = (
                        {}
                        if values == b"2"
                        else {r: t for r, t in self._rows.items() if r < self._row}
                    )
                case b"h" | b"l":
                    if values == b"?1049":
                        self.is_alternate = kind == b"h"
                    if values == b"?25":
                        self.is_cursor_shown = kind == b"h"
                case b"m":
                    self.has_colours |= values not in (b"0", b"")
                case _:
                    raise AssertionError(f"an unknown sequence: {found[0]!r}")
        self._print(data[at:])

    def _print(self, data: bytes) -> None:
        if self.is_alternate and data:
            self._rows[self._row] = self._rows.get(self._row, "") + data.decode("utf-8", "replace")
        else:
            self.plain += data


@contextmanager
def open_top(
    lab: Lab, width: int = 80, height: int = 24, *options: str, **variables: str
) -> Iterator[Terminal]:
    """Start the view in a terminal of this size; it is ended afterwards."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    before = termios.tcgetattr(slave)
    process = lab.start(
        ("setsid", "--ctty", *PROGRAM, "top", *options),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", **variables},
    )
    terminal = Terminal(master, process)
    try:
        yield terminal
        if process.poll() is not None:
            assert not terminal.is_alternate
            assert terminal.is_cursor_shown
            assert termios.tcgetattr(slave) == before
    finally:
        os.close(slave)
        os.close(master)


def release(lab: Lab) -> None:
    """Let the runs of the lab end."""
    (lab.home / "go").touch()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (40, 10)])
def test_page_of_each_size(lab: Lab, width: int, height: int) -> None:
    """A live run has its name, state and progress; no line is wider than the terminal."""
    lab.launch(*STEPS)
    with open_top(lab, width, height) as terminal:
        until(terminal.shows("9/100"), "the progress")
        until(terminal.shows("q quit"), "the keys")
        lines = terminal.text.splitlines()
        assert max(map(columns, lines)) <= width
        assert len(lines) == height
        if height > 20:
            until(terminal.shows("step 9/100 loss 0.9"), "the tail of the log")
            assert "loss 0.9" in terminal.text
        terminal.press(b"q")
        assert terminal.wait() == 0
    release(lab)


@pytest.mark.parametrize("width", [80, 200])
def test_jobs(lab: Lab, width: int) -> None:
    """The runs of a job have its name in a column, and the details their place in it."""
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "4"}
    node = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "4", "SLURM_NODEID": "2"}
    lab.gpualert("run", "--", "true", env={**os.environ, **job, **node})
    lab.gpualert("run", "--name", "alone", "--", "true")
    with open_top(lab, width, 24) as terminal:
        until(terminal.shows("alone"), "the runs")
        header, *rows = [line for line in terminal.text.splitlines() if line][1:4]
        assert header.split()[:3] == ["NAME", "JOB", "STATE"]
        assert columns(header) <= width
        assert ["4711" in row for row in rows] == [False, True]
        terminal.press(b"j")
        until(terminal.shows("node 3 of 4"), "the details")
        terminal.press(b"q")
        assert terminal.wait() == 0
    assert lab.gpualert("top").stdout.decode().split()[:3] == ["NAME", "JOB", "STATE"]


def test_keys(lab: Lab) -> None:
    """The arrows select a run, Enter shows its details alone, Escape the list again."""
    for name in ("first", "second"):
        lab.gpualert("run", "--name", name, "--", *python(f"raise RuntimeError('of {name}')"))
    with open_top(lab) as terminal:
        until(terminal.shows(">  second"), "the newest selected")
        terminal.press(b"\x1b[B")
        until(terminal.shows(">  first"), "the next selected")
        until(terminal.shows("RuntimeError: of first"), "its tail")
        terminal.press(b"\r")
        until(terminal.shows("Enter list"), "the details")
        assert "NAME" not in terminal.text
        terminal.press(b"k")
        until(terminal.shows("RuntimeError: of second"), "the details of the other one")
        terminal.press(b"\x1b")
        until(terminal.shows("Enter details"), "the list")
        terminal.press(b"x\x1b[99~\xff")  # keys without a meaning
        terminal.press(b"\x04")
        assert terminal.wait() == 0


def test_resize(lab: Lab) -> None:
    """The page follows the size of the terminal."""
    lab.run("true")
    with open_top(lab, 80, 24) as terminal:
        until(terminal.shows("q quit"), "the page")
        terminal.resize(50, 12)
        until(
            lambda: terminal.shows("q quit")() and len(terminal.text.splitlines()) == 12, "12 lines"
        )
        assert max(map(columns, terminal.text.splitlines())) <= 50
        terminal.press(b"q")
        assert terminal.wait() == 0


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)],
    ids=["TERM", "HUP", "INT"],
)
def test_restored_after_a_signal(lab: Lab, number: signal.Signals, status: int) -> None:
    """After a signal the terminal is as it was before."""
    lab.run("true")
    with open_top(lab) as terminal:
        until(terminal.shows("q quit"), "the page")
        os.kill(terminal.process.pid, number)
        assert terminal.wait() == status


def test_restored_after_a_defect(lab: Lab) -> None:
    """After an exception in the view the terminal is as it was, and shows the exception."""
    lab.run("true")
    lab.script(
        "sitecustomize.py",
        "import gpualert_common.cli.live_table as table\n"
        "def fail(*_): raise ValueError('a defect')\n"
        "table._format_keys = fail\n",
        mode=0o644,
    )
    with open_top(lab, PYTHONPATH=str(lab.home)) as terminal:
        assert terminal.wait() == 2
        assert b"a defect" in terminal.plain


def test_new_ended_removed_and_broken_runs(lab: Lab) -> None:
    """Runs come and go while the view is open; a record that breaks meanwhile does not end it."""
    with open_top(lab) as terminal:
        until(terminal.shows("no runs yet"), "the empty page")
        one = lab.launch(*STEPS)
        until(terminal.shows("running"), "the new run")
        events = Path(one.record.path, "events.jsonl")
        aside = events.rename(events.with_name("aside"))
        events.mkdir()
        until(terminal.shows("damaged"), "the broken record")
        events.rmdir()
        aside.rename(events)
        until(lambda: "damaged" not in terminal.read(), "its recovery")
        release(lab)
        one.wait()
        until(terminal.shows("undertrained"), "the end")
        lab.gpualert("rm", "--yes", "last")
        until(terminal.shows("no runs yet"), "the empty page again")
        terminal.press(b"q")
        assert terminal.wait() == 0


def test_colours(lab: Lab) -> None:
    """NO_COLOR leaves the selection visible without any colour."""
    lab.gpualert("run", "--name", "mine", "--", *python("raise RuntimeError"))
    with open_top(lab, NO_COLOR="1") as terminal:
        until(terminal.shows(">  mine"), "the selection")
        terminal.press(b"q")
        assert terminal.wait() == 0
        assert not terminal.has_colours
    with open_top(lab) as terminal:
        until(terminal.shows("failed"), "the run")
        assert terminal.has_colours
        terminal.press(b"q")
        assert terminal.wait() == 0


def test_without_a_terminal(lab: Lab) -> None:
    """Without a terminal, with --once and on a dumb one, the table is printed once."""
    lab.gpualert("run", "--name", "mine", "--", "true")
    done = lab.gpualert("top")
    assert (done.returncode, done.stderr) == (0, b"")
    header, row = done.stdout.decode().splitlines()
    assert header.split() == ["NAME", "STATE", "TIME", "RUN"]
    assert row.split()[:2] == ["mine", "completed"]
    assert lab.gpualert("top", "--ended", "0").stderr == b"no runs yet\n"
    for options, variables in ((("--once",), {}), ((), {"TERM": "dumb"})):
        with open_top(lab, 80, 24, *options, **variables) as terminal:
            assert terminal.wait() == 0
            assert b"mine" in terminal.plain


def test_json(lab: Lab) -> None:
    """JSON has the numbers of a live run; a loss that is no number is a text."""
    run = lab.launch(*shell("for n in 1 2 3; do echo step $n/10 loss nan; done; sleep 1000"))
    until(lambda: run.record.log_status("output.log") or None, "the log")

    def read_progress() -> dict[str, object] | None:
        (found,) = lab.json("top")["runs"]
        progress: dict[str, object] = found["progress"]
        return progress if progress["position"] == 3 else None

    progress = until(read_progress, "the third step")
    assert (progress["total"], progress["loss"], progress["unit"]) == (10, "nan", "step")
    lab.gpualert("stop")
    run.wait()


def test_hostile_texts_stay_in_their_lines() -> None:
    """Names, logs and warnings with escapes, wide and invisible characters fit into every size."""
    hostile = "\x1b[2J\u202eevil\x9b31m\n漢字" * 9 + "e\u0301" * 40
    summary = RunSummary(
        run_id="20260101-000000-000000-aaaa",
        path="/x",
        condition=Condition.RUNNING,
        names=(hostile,),
        headline=hostile,
        started_at=time.time(),
    )
    run = LiveRun(
        summary=summary,
        progress=LiveProgress(position=10**30, total=10**40, loss=float("inf"), pace_s=1e-9),
        load=MachineLoad(8, 99.5, 2.0**39, 2.0**40, 2.0**45),
        last_output_at=0.0,
        warnings=("漢" * 300,),
    )
    details = RunDetails("/x", ("漢字" * 200, "plain"))
    for width in (24, 40, 80, 200):
        for height in (1, 4, 12, 24, 60):
            for is_detailed in (False, True):
                page = LivePage(width, height, selected="/x", is_detailed=is_detailed)
                lines = format_page(page, [run] * 3, details, time.time())
                assert len(lines) == height
                assert max(map(columns, lines)) <= max(width, 24 + 2)
                assert not any(ord(char) < 32 or char in "\x9b\u202e" for char in "".join(lines))


def test_logs_are_read_rarely_if_there_are_many(lab: Lab) -> None:
    """Twenty live runs with long logs take a bounded share of a core."""
    lines = python(
        "import sys, time\n"
        "sys.stdout.write(''.join(f'step {n}/99999 loss 0.5\\n' for n in range(40000)))\n"
        "for n in range(40000, 10**6):\n"
        " print(f'step {n}/99999 loss 0.5', flush=True)\n"
        " time.sleep(0.1)"
    )
    runs = [lab.launch(*lines) for _number in range(2)]
    source = LiveRuns([str(lab.state)], 5, lambda _text: None)
    until(lambda: all(run.progress.position for run in source.read()) or None, "the progress")
    began, used = time.monotonic(), time.thread_time()
    until(lambda: source.read() and time.monotonic() - began > 3, "three seconds", poll_s=0.2)
    assert time.thread_time() - used < 0.25 * (time.monotonic() - began)
    for run in runs:
        run.process.terminate()
        run.wait()


def test_json_of_an_empty_directory(lab: Lab) -> None:
    """Without runs the list is empty."""
    assert json.loads(lab.gpualert("top", "--json").stdout)["runs"] == []
