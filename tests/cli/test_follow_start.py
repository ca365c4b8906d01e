"""The place at which ``gpualert follow`` starts."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.cli.log_start import find_start
from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, shell

WAITS = shell("seq 3; until [ -e go ]; do sleep 0.01; done; echo end")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"a",
        b"a\n",
        b"a\nb",
        b"a\nb\n",
        b"\n\n\n",
        b"x" * 200_000 + b"\ny\n",
        b"\r\n" * 9,
    ],
    ids=lambda text: f"{text[:8]!r} {len(text)}",
)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_tail_is_that_of_the_program_tail(lab: Lab, text: bytes, count: int) -> None:
    """The last N lines are those that ``tail -n N`` prints."""
    log = lab.home / "output.log"
    log.write_bytes(text)
    expected = lab.call(("tail", "-n", str(count), str(log))).stdout
    path = lab.home / "record"
    Record.create(str(path)).close()
    fd = os.open(log, os.O_RDONLY)
    try:
        start = find_start(Record.open(str(path)), "output.log", fd, count, None)
    finally:
        os.close(fd)
    assert text[start:] == expected


def test_tail_of_both_streams(lab: Lab) -> None:
    """--tail prints the last lines of each log, where stdout and stderr have one each."""
    lab.run(*shell("seq 100; seq 201 300 >&2"))
    assert lab.gpualert("follow", "--tail", "2").stdout == b"99\n100\n299\n300\n"
    assert lab.gpualert("follow", "--tail", "0").stdout == b""


def test_tail_of_a_live_run(lab: Lab) -> None:
    """--tail prints the last lines, and then what comes after them."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"3\n")
    follower = lab.start((*PROGRAM, "follow", "--tail", "1"), stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"3\n"
    (lab.home / "go").touch()
    assert follower.stdout.read() == b"end\n"
    assert run.wait() == 0


def indexed(lab: Lab, began_s: float, index: str, ended_s: float = 0.0) -> Path:
    """Return the record of a run that began so long ago, with this time index of its log."""
    lab.gpualert("run", "--streams", "merged", "--", *shell("seq 9"))
    (path,) = lab.records()
    now = time.time()
    for name, fields in (
        ("spec.json", {"created_at": now - began_s}),
        ("exit.json", {"started_at": now - began_s, "ended_at": now - ended_s}),
    ):
        found = json.loads((path / name).read_bytes())
        (path / name).write_text(json.dumps({**found, **fields}))
    (path / "output.idx").write_text(index)
    return path


@pytest.mark.parametrize(
    ("since", "output"),
    [
        ("2h", b"123456789"),
        ("59m", b"3456789"),
        ("31m", b"3456789"),
        ("29m", b"6789"),
        ("9m", b"9"),
        ("1m", b"9"),
    ],
)
def test_since(lab: Lab, since: str, output: bytes) -> None:
    """--since leaves out what the log had at that time, by its time index, to the line."""
    # after no time 5 bytes: two lines and a half
    indexed(lab, 3600.0, "0 5\n1800 10\nbroken\n3060 16\n")
    assert lab.gpualert("follow", "--since", since).stdout.replace(b"\n", b"") == output


def test_since_and_tail(lab: Lab) -> None:
    """With --since and --tail the fewer lines are printed."""
    indexed(lab, 3600.0, "0 5\n1800 10\n3060 16\n")
    for since, tail, output in (("29m", "2", b"8\n9\n"), ("9m", "5", b"9\n")):
        assert lab.gpualert("follow", "--since", since, "--tail", tail).stdout == output


def test_since_the_end(lab: Lab) -> None:
    """--since a time after the end prints nothing."""
    indexed(lab, 7200.0, "0 5\n", ended_s=3600.0)
    assert lab.gpualert("follow", "--since", "30m").stdout == b""


def test_since_without_an_index(lab: Lab) -> None:
    """Without a time index, as a short run has none, the whole log is printed."""
    (indexed(lab, 60.0, "") / "output.idx").unlink()
    assert lab.gpualert("follow", "--since", "30s").stdout == b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
