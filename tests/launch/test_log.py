"""The log has exactly the child's bytes, with any changes of its file."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import run
from tests.supervised import PROGRAM, Lab, Supervised, peak_rss_mb, python, shell, status_of, until

RSS_LIMIT_MB = 60
WAITS = shell("echo before; until [ -e go ]; do sleep 0.01; done; echo after; exit 3")


# -- bytes -------------------------------------------------------------------------------------

BYTES = {
    "nothing": b"",
    "no newline": b"end",
    "NUL": b"a\0b\0\0\n",
    "invalid UTF-8": b"\xff\xfe\x80 caf\xe9 \xc3\x28\n",
    "progress bar": b"".join(b"\r%3d%%|###" % step for step in range(100)) + b"\n",
    "ANSI": b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J\n",
    "only newlines": b"\n" * 10_000,
    "random": random.Random(7).randbytes(1 << 20),
    "one long line": b"x" * (5 << 20),
}


@pytest.mark.parametrize("name", BYTES)
def test_log_and_stdout_are_the_bytes_of_the_child(lab: Lab, name: str) -> None:
    """Log and stdout of the program are exactly the output of the child."""
    (lab.home / "data").write_bytes(BYTES[name])
    done = lab.run("cat", "data")
    assert done.returncode == 0
    assert done.stdout == BYTES[name]
    assert lab.log() == BYTES[name]


@pytest.mark.parametrize("name", BYTES)
def test_log_of_the_api_is_the_bytes_of_the_child(lab: Lab, name: str) -> None:
    """The log of the API is exactly the output of the child, and the run has a verdict."""
    (lab.home / "data").write_bytes(BYTES[name])
    result = run(["cat", str(lab.home / "data")])
    assert Path(result.log_path).read_bytes() == BYTES[name]
    assert result.verdict is not None
    assert result.verdict.cause == "none"


def ours(run: Supervised) -> list[int]:
    """Return the supervisor and its recorder."""
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text()
    return [run.process.pid, *(int(pid) for pid in children.split() if int(pid) != run.leader)]


@pytest.mark.parametrize("size_mib", [50, pytest.param(300, marks=pytest.mark.e2e)])
def test_endless_line_in_flat_memory(lab: Lab, size_mib: int) -> None:
    """An endless line is in the log, and neither of our processes grows with it."""
    code = f"head -c {size_mib << 20} /dev/zero | tr '\\0' x; touch written; " + WAITS[2]
    run = lab.launch(*shell(code))
    until((lab.home / "written").exists, "the line to be written")
    assert len(ours(run)) == 2
    (lab.home / "go").touch()
    peaks: dict[int, float] = {}
    while run.process.poll() is None:
        for pid in ours(run) if status_of(run.process.pid) else ():
            try:
                peaks[pid] = peak_rss_mb(pid)
            except (OSError, AssertionError):
                continue
    assert run.wait() == 3
    assert len(run.log()) == (size_mib << 20) + len(b"before\nafter\n")
    assert len(peaks) == 2
    assert max(peaks.values()) < RSS_LIMIT_MB


def test_stdout_and_stderr_keep_their_order_when_merged(lab: Lab) -> None:
    """A merged log has the true order."""
    code = "import os\nfor n in range(200): os.write(1 + n % 2, b'%d\\n' % n)"
    lab.gpualert("run", "--streams", "merged", "--", *python(code))
    assert lab.log("output.log") == b"".join(b"%d\n" % n for n in range(200))


# -- what becomes of the file ------------------------------------------------------------------


def _delete(run: Supervised) -> None:
    os.unlink(run.record.log_path("output.log"))


def _move(run: Supervised) -> None:
    os.rename(run.record.log_path("output.log"), run.record.log_path("moved.log"))


def _rotate(run: Supervised) -> None:
    _move(run)
    Path(run.record.log_path("output.log")).touch()


def _truncate(run: Supervised) -> None:
    os.truncate(run.record.log_path("output.log"), 0)


def _move_record(run: Supervised) -> None:
    shutil.move(run.record.path, run.record.path + ".moved")


def _remove_record(run: Supervised) -> None:
    shutil.rmtree(run.record.path)


def seen_by_recorder(run: Supervised) -> None:
    """Return when the recorder has read the current log."""
    index = Path(run.record.path) / "output.idx"
    until(
        lambda: index.exists() and index.read_text().split()[-1:] == [str(len(run.log()))],
        "the recorder to see the log",
    )


def tampered(lab: Lab, change: Callable[[Supervised], None], event: str | None) -> Supervised:
    """Run a command whose log is changed between its two lines; return it after its end."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"before\n")
    seen_by_recorder(run)
    change(run)
    if event is not None:
        run.wait_for_event(event)
    (lab.home / "go").touch()
    assert run.wait() == 3
    return run


def test_deleted_log(lab: Lab) -> None:
    """A log that is deleted during the run is complete again at the end."""
    run = tampered(lab, _delete, "log_removed")
    assert run.log() == b"before\nafter\n"
    assert run.wait_for_event("log_rescued")["size_bytes"] == len(run.log())
    assert lab.json("show")["verdict"]["log_path"] == run.record.log_path("output.log")


def test_moved_log(lab: Lab) -> None:
    """A moved log continues in its new place, which record and verdict name."""
    run = tampered(lab, _move, "log_moved")
    moved = run.record.log_path("moved.log")
    assert Path(moved).read_bytes() == b"before\nafter\n"
    assert run.wait_for_event("log_moved")["path"] == moved
    assert lab.json("show")["verdict"]["log_path"] == moved


def test_rotated_log(lab: Lab) -> None:
    """A rotated log continues under its new name; the new file is empty."""
    run = tampered(lab, _rotate, "log_replaced")
    moved = run.record.log_path("moved.log")
    assert Path(moved).read_bytes() == b"before\nafter\n"
    assert run.log() == b""
    assert lab.json("show")["verdict"]["log_path"] == moved


def test_truncated_log(lab: Lab) -> None:
    """A truncated log continues at its start, without a hole, and the record has the truncation."""
    run = tampered(lab, _truncate, "log_truncated")
    assert run.log() == b"after\n"


def test_log_truncated_and_refilled(lab: Lab) -> None:
    """The verdict of a truncated log is made from the later output, with the right line."""
    code = (
        "import os, sys, time\n"
        "print('x' * 10000)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "print('one')\n"
        "1 / 0\n"
    )
    run = lab.launch(*python(code))
    run.wait_for_output(b"xxx\n")
    seen_by_recorder(run)
    _truncate(run)
    run.wait_for_event("log_truncated")
    (lab.home / "go").touch()
    assert run.wait() == 1
    verdict = lab.json("show")["verdict"]
    assert verdict["cause"] == "div_zero"
    lines = run.log().splitlines()
    where = [claim["where"] for claim in verdict["shows"] if claim.get("where")]
    assert b"ZeroDivisionError" in lines[where[0]["line"] - 1]


def test_moved_record(lab: Lab) -> None:
    """A record that is moved during the run is completed in its new place."""
    run = tampered(lab, _move_record, None)
    moved = Path(run.record.path + ".moved")
    assert (moved / "output.log").read_bytes() == b"before\nafter\n"
    assert (moved / "exit.json").exists()
    assert (moved / "verdict.json").exists()


def test_removed_record(lab: Lab) -> None:
    """A record that is removed during the run is created again, with the whole log."""
    run = tampered(lab, _remove_record, None)
    assert Path(run.record.log_path("output.log")).read_bytes() == b"before\nafter\n"


def test_log_made_read_only(lab: Lab) -> None:
    """A log whose file becomes read-only continues: the child has it open."""
    run = tampered(lab, lambda run: os.chmod(run.record.log_path("output.log"), 0o400), None)
    assert run.log() == b"before\nafter\n"


def test_child_that_writes_into_its_log_by_name(lab: Lab) -> None:
    """Text that another process appends to the log is in it, between the child's lines."""
    result = run(
        shell("echo one; cd $GPUALERT_STATE_DIR/runs/*; echo two >> output.log; echo three")
    )
    assert Path(result.log_path).read_bytes() == b"one\ntwo\nthree\n"


# -- a log that may be cut --------------------------------------------------------------------

WRITES = shell("seq 300000; echo whole > status; exit 3")


def test_log_that_could_be_cut_is_whole(lab: Lab) -> None:
    """With --log-full drop and enough space the log is complete, and nothing is counted."""
    done = lab.gpualert("run", "--log-full", "drop", "--", *WRITES)
    assert done.returncode == 3
    assert done.stdout == b"".join(b"%d\n" % n for n in range(1, 300_001))
    assert lab.log() == done.stdout
    assert lab.record().event("log_dropped") is None


def test_log_that_is_cut(lab: Lab) -> None:
    """Output beyond the space is dropped and counted; the child is unaffected."""
    command = (*PROGRAM, "run", "--log-full", "drop", "--log-reserve", "0", "--", *WRITES)
    done = lab.call(("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *command))
    assert done.returncode == 3
    assert (lab.home / "status").read_text() == "whole\n"
    whole = sum(len(str(n)) + 1 for n in range(1, 300_001))
    event = lab.record().event("log_dropped")
    assert event is not None
    assert event.fields["size_bytes"] == whole - len(lab.log())
    assert lab.log() == done.stdout


def test_survivor_keeps_a_log_that_may_be_cut(lab: Lab) -> None:
    """A background process continues to write after the run, and is not killed."""
    code = "(until [ -e go ]; do sleep 0.01; done; echo late; echo on > status) & echo hi; exit 3"
    assert lab.gpualert("run", "--log-full", "drop", "--", *shell(code)).returncode == 3
    (lab.home / "go").touch()
    until((lab.home / "status").exists, "the background process to go on")
    until(lambda: lab.log() == b"hi\nlate\n", "its line")


def test_killed_supervisor_with_a_log_that_may_be_cut(lab: Lab) -> None:
    """The copying survives the supervisor: the child ends by itself with its whole log."""
    run = lab.launch(*WAITS, options=("--log-full", "drop"))
    run.wait_for_output(b"before\n")
    run.process.kill()
    run.process.wait()
    (lab.home / "go").touch()
    until(lambda: run.log() == b"before\nafter\n", "the rest of the log")
    until(lab.is_empty, "the copying to end with the child")


# -- the index ---------------------------------------------------------------------------------


def test_index_has_times_and_sizes(lab: Lab) -> None:
    """output.idx has the size of each log at growing times."""
    run = tampered(lab, lambda _run: None, None)
    rows = [line.split() for line in (Path(run.record.path) / "output.idx").read_text().split("\n")]
    times = [float(row[0]) for row in rows if row]
    sizes = [int(row[1]) for row in rows if row]
    assert times == sorted(times)
    assert sizes[0] <= len(run.log())
    assert all(size in (0, len(b"before\n"), len(b"before\nafter\n")) for size in sizes)
