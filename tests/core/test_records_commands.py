"""``runs``, ``show``, ``follow`` and the rest of the program, as somebody at a shell meets them."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from gpualert_common import __version__
from tests.supervised import PROGRAM, Lab, shell

WAITS = shell("echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3")


def test_follow_prints_the_log_to_the_end(lab: Lab) -> None:
    """``follow`` prints what is there, then what comes, and ends with the run."""
    run = lab.launch(*WAITS)
    run.says(b"one")
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


def test_interrupted_follow_leaves_the_run_alone(lab: Lab) -> None:
    """Ctrl-C ends the following only."""
    run = lab.launch(*WAITS)
    run.says(b"one")
    follower = lab.start((*PROGRAM, "follow"), stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"one\n"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(30) == 130
    assert run.process.poll() is None
    (lab.home / "go").touch()
    assert run.wait() == 3


@pytest.mark.parametrize("command", ["runs", "show", "follow"])
def test_reader_that_goes_away(lab: Lab, command: str) -> None:
    """A reading command behind ``head`` ends quietly when head does."""
    lab.run(*shell("seq 100000"))
    done = lab.call(("bash", "-c", '"$@" | head -c 1 > taken', "bash", *PROGRAM, command))
    assert done.stderr == b""


def test_runs_lists_oldest_first(lab: Lab) -> None:
    """``runs`` lists the runs with state, status and cause, oldest first."""
    lab.gpualert("run", "--name", "first", "--", "true")
    lab.gpualert("run", "--name", "second", "--", *shell("exit 3"))
    first, second = lab.gpualert("runs").stdout.decode().splitlines()
    assert "ended" in first
    assert first.endswith("first")
    assert second.split()[4] == "3"
    names = [row["name"] for row in lab.json("runs")["runs"]]
    assert names == ["first", "second"]


def test_no_runs(lab: Lab) -> None:
    """Without any run ``runs`` says so on stderr, and its JSON is an empty list."""
    done = lab.gpualert("runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"no runs yet\n")
    assert lab.json("runs") == {"schema": 1, "runs": []}


@pytest.mark.parametrize("command", ["show", "follow", "stop"])
def test_no_run_to_name(lab: Lab, command: str) -> None:
    """A command that needs a run says, in one line, that there is none, with status 2."""
    done = lab.gpualert(command)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpualert: error: no run yet in ")
    assert done.stderr.count(b"\n") == 1


def test_show_says_what_matters(lab: Lab) -> None:
    """``show`` gives command, state, record and verdict."""
    lab.gpualert("run", "--name", "mnist", "--", *shell("echo 'RuntimeError: x' >&2; exit 1"))
    record = lab.records()[0]
    text = lab.gpualert("show").stdout.decode()
    assert f"run     {record.name}  (mnist)" in text
    assert "state   ended" in text
    assert f"record  {record}" in text
    assert "RuntimeError: x" in text


def test_json_is_all_there_is_on_stdout(lab: Lab) -> None:
    """With --json stdout holds one JSON object with a schema, for every reading command."""
    lab.run("true")
    for command in (["runs"], ["show"], ["recover"], ["config", "show"], ["rules", "list"]):
        done = lab.gpualert(*command, "--json")
        assert json.loads(done.stdout)["schema"] == 1, command
        assert done.stderr == b"", command


def test_log_path_of_the_listing_is_the_log(lab: Lab) -> None:
    """``runs --json`` names the files that hold the log."""
    lab.run(*shell("echo out; echo err >&2"))
    (row,) = lab.json("runs")["runs"]
    assert [Path(path).read_bytes() for path in row["logs"]] == [b"out\n", b"err\n"]


def test_version(lab: Lab) -> None:
    """``--version`` tells the version."""
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
def test_arguments_of_the_command_are_its_own(lab: Lab, arguments: list[str]) -> None:
    """What follows the command belongs to it, with and without ``--`` before it."""
    done = lab.gpualert("run", *arguments)
    assert done.stdout == b"-- x"


def test_closing_words_name_log_and_cause(lab: Lab) -> None:
    """At the end of a failed run stderr tells the cause, the log and how to learn more."""
    done = lab.run(*shell("echo 'ZeroDivisionError: division by zero' >&2; exit 1"))
    words = done.stderr.decode()
    run_id = lab.records()[0].name
    assert f"gpualert: more  gpualert show {run_id}" in words
    assert str(lab.records()[0]) in words


def test_stop_with_json(lab: Lab) -> None:
    """``stop --json`` tells the outcome as JSON."""
    run = lab.launch("sleep", "1000")
    done = lab.gpualert("stop", "--json")
    assert json.loads(done.stdout) == {
        "schema": 1,
        "run_id": run.record.run_id,
        "outcome": "ended",
    }
    assert run.wait() == 128 + signal.SIGTERM
