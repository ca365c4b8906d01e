"""Tests of ``runs``, ``show``, ``follow`` and other commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from gpualert_common import __version__
from gpualert_common.history import History
from tests.supervised import PROGRAM, Lab, python, shell, until

WAITS = shell("echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3")


def test_follow_prints_the_log_to_the_end(lab: Lab) -> None:
    """``follow`` prints the existing log, then new output, and ends with the run."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"one")
    follower = lab.start((*PROGRAM, "follow"), stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"one\n"
    (lab.home / "go").touch()
    assert follower.stdout.read() == b"two\n"
    assert follower.wait(30) == 0
    assert run.wait() == 3


def test_follow_of_a_run_that_has_ended(lab: Lab) -> None:
    """``follow`` of an ended run prints its whole log, both streams."""
    lab.run(*shell("seq 20000; echo err >&2"))
    done = lab.gpualert("follow")
    assert done.returncode == 0
    assert done.stdout.startswith(b"1\n2\n")
    assert done.stdout.endswith(b"20000\nerr\n")


def test_interrupted_follow(lab: Lab) -> None:
    """Ctrl-C ends ``follow`` and not the run."""
    run = lab.launch(*WAITS)
    run.wait_for_output(b"one")
    follower = lab.start((*PROGRAM, "follow"), stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"one\n"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(30) == 130
    assert run.process.poll() is None
    (lab.home / "go").touch()
    assert run.wait() == 3


@pytest.mark.parametrize(
    ("file", "content"),
    [("spec.json", {"schema": 1}), ("verdict.json", {"schema": 1, "cause": [1]}),
     ("verdict.json", []), ("exit.json", {"schema": 1, "started_at": "now"})],
    ids=["launch record", "verdict", "list", "end"],
)  # fmt: skip
def test_runs_with_a_damaged_record(file: str, content: object, lab: Lab) -> None:
    """A damaged record is listed as damaged, and hides no other."""
    lab.run("true")
    (damaged,) = lab.records()
    lab.run("false")
    (damaged / file).write_text(json.dumps(content))
    done = lab.gpualert("runs")
    assert done.returncode == 0, done.stderr
    _header, second, first, *_ = done.stdout.decode().splitlines()
    assert "damaged" in first
    assert "failed" in second


@pytest.mark.parametrize("command", ["runs", "show", "follow"])
def test_closed_pipe(lab: Lab, command: str) -> None:
    """A command in a pipe to ``head`` exits without an error when head does."""
    lab.run(*shell("seq 100000"))
    done = lab.call(("bash", "-c", '"$@" | head -c 1 > taken', "bash", *PROGRAM, command))
    assert done.stderr == b""


def test_no_runs(lab: Lab) -> None:
    """Without a run ``runs`` reports that on stderr, and its JSON is an empty list."""
    done = lab.gpualert("runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"no runs yet\n")
    total = {"runs": 0, "gpu_hours": None, "wasted_gpu_hours": None}
    assert lab.json("runs") == {"schema": 1, "runs": [], "total": total}


def test_run_that_ended_is_in_the_history(lab: Lab) -> None:
    """A run of some length is in the history after its end, with any supervisor."""
    lab.run("sleep", "1.1")
    done = lab.call(python("from gpualert_common import run; run(['sleep', '1.1'])"))
    assert done.returncode == 0
    history = History.open(str(lab.state))
    names = [path.name for path in lab.records()]
    until(lambda: list(history.read_all()) == names, "both runs to be in the history")
    assert not history.problem


def test_recovered_run_is_in_the_history(lab: Lab) -> None:
    """A run whose supervisor died is in the history after its recovery."""
    run = lab.launch("sleep", "1000")
    run.process.kill()
    run.process.wait()
    os.kill(run.leader, signal.SIGKILL)
    until(lambda: b"recovered" in lab.gpualert("recover").stdout, "the run to be recovered")
    (found,) = History.open(str(lab.state)).read_all().values()
    assert (found.run_id, found.disposition) == (run.record.run_id, "unknown")


@pytest.mark.parametrize("command", ["show", "follow", "stop"])
def test_no_run_to_name(lab: Lab, command: str) -> None:
    """Without a run a command that needs one fails with one line and status 2."""
    done = lab.gpualert(command)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpualert: error: no run yet in ")
    assert done.stderr.count(b"\n") == 1


def test_stdout_is_only_json(lab: Lab) -> None:
    """With --json stdout is one JSON object with a schema, for every reading command."""
    lab.run("true")
    for command in (["runs"], ["show"], ["recover"], ["config", "show"], ["rules", "list"]):
        done = lab.gpualert(*command, "--json")
        assert json.loads(done.stdout)["schema"] == 1, command
        assert done.stderr == b"", command


def test_log_path_of_the_listing_is_the_log(lab: Lab) -> None:
    """``runs --json`` names the log files."""
    lab.run(*shell("echo out; echo err >&2"))
    (row,) = lab.json("runs")["runs"]
    assert [Path(path).read_bytes() for path in row["logs"]] == [b"out\n", b"err\n"]


def test_version(lab: Lab) -> None:
    """``--version`` prints the version."""
    assert lab.gpualert("--version").stdout.decode() == f"gpualert {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run", "--no-such-option", "--", "true"]])
def test_wrong_usage(lab: Lab, arguments: list[str]) -> None:
    """A wrong command line is refused with a usage line and launches nothing."""
    done = lab.gpualert(*arguments)
    assert done.returncode in (2, 125)
    assert b"usage: " in done.stderr
    assert not lab.records()


@pytest.mark.parametrize(
    "arguments",
    [["--", "echo", "-n", "--", "x"], ["echo", "-n", "--", "x"], ["-q", "echo", "-n", "--", "x"]],
)
def test_arguments_of_the_command(lab: Lab, arguments: list[str]) -> None:
    """Arguments after the command belong to it, with and without ``--`` before it."""
    done = lab.gpualert("run", *arguments)
    assert done.stdout == b"-- x"


def test_last_message_names_log_and_cause(lab: Lab) -> None:
    """At the end of a failed run stderr has the cause, the log and the next command."""
    done = lab.run(*shell("echo 'ZeroDivisionError: division by zero' >&2; exit 1"))
    words = done.stderr.decode()
    run_id = lab.records()[0].name
    assert f"gpualert: more  gpualert show {run_id}" in words
    assert str(lab.records()[0]) in words


def test_stop_with_json(lab: Lab) -> None:
    """``stop --json`` prints the outcome as JSON."""
    run = lab.launch("sleep", "1000")
    done = lab.gpualert("stop", "--json")
    assert json.loads(done.stdout) == {
        "schema": 1,
        "run_id": run.record.run_id,
        "outcome": "ended",
    }
    assert run.wait() == 128 + signal.SIGTERM


def test_without_a_command(lab: Lab) -> None:
    """The program without arguments lists its commands on stderr, as after a usage error."""
    done = lab.gpualert()
    assert done.returncode == 2
    assert not done.stdout
    assert b"\n    run       run a command under supervision\n" in done.stderr
