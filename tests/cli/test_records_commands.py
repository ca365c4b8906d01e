"""``runs``, ``show``, ``follow`` and the rest of the program, as somebody at a shell meets them."""

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
    """``follow`` prints what is there, then what comes, and ends with the run."""
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


def test_interrupted_follow_leaves_the_run_alone(lab: Lab) -> None:
    """Ctrl-C ends the following only."""
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
    """A record that makes no sense is listed as damaged, and hides no other."""
    lab.run("true")
    (damaged,) = lab.records()
    lab.run("false")
    (damaged / file).write_text(json.dumps(content))
    done = lab.gpualert("runs")
    assert done.returncode == 0, done.stderr
    _header, first, second, *_ = done.stdout.decode().splitlines()
    assert "damaged" in first
    assert "ended" in second


@pytest.mark.parametrize("command", ["runs", "show", "follow"])
def test_reader_that_goes_away(lab: Lab, command: str) -> None:
    """A reading command behind ``head`` ends quietly when head does."""
    lab.run(*shell("seq 100000"))
    done = lab.call(("bash", "-c", '"$@" | head -c 1 > taken', "bash", *PROGRAM, command))
    assert done.stderr == b""


def test_runs_lists_oldest_first(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """``runs`` lists the runs with state, status and cause, oldest first."""
    monkeypatch.setenv("COLUMNS", "160")
    lab.gpualert("run", "--name", "first", "--", "true")
    lab.gpualert("run", "--name", "second", "--", *shell("exit 3"))
    header, first, second, total = lab.gpualert("runs").stdout.decode().splitlines()
    assert " ".join(header.split()) == "RUN STARTED STATE EXIT CAUSE GPU-H WASTED NAME"
    assert total == "2 runs, GPU-hours not known"
    assert "ended" in first
    assert first.endswith("first")
    assert second.split()[4] == "3"
    names = [row["name"] for row in lab.json("runs")["runs"]]
    assert names == ["first", "second"]


def test_no_runs(lab: Lab) -> None:
    """Without any run ``runs`` says so on stderr, and its JSON is an empty list."""
    done = lab.gpualert("runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"no runs yet\n")
    total = {"runs": 0, "gpu_hours": None, "wasted_gpu_hours": None}
    assert lab.json("runs") == {"schema": 1, "runs": [], "total": total}


def measure(path: Path, **measured: object) -> None:
    """Have the verdict of a record say that this was measured, and the history not know of it."""
    verdict = json.loads((path / "verdict.json").read_bytes())
    (path / "verdict.json").write_text(json.dumps({**verdict, "measured": measured}))
    for file in path.parents[1].glob("history.sqlite3"):
        file.unlink()
    for file in path.parents[1].glob("history.waiting/*"):
        file.unlink()


def test_runs_tell_what_they_cost(lab: Lab) -> None:
    """``runs`` tells the GPU-hours of each run and how many were wasted, and the sums of both."""
    for name in ("well", "badly", "untold"):
        lab.gpualert("run", "--name", name, "--", "true")
    well, badly, _untold = lab.records()
    measure(well, gpu_seconds=36_000)
    measure(badly, gpu_seconds=5400, wasted_gpu_seconds=3600)
    lines = [line.split() for line in lab.gpualert("runs").stdout.decode().splitlines()]
    assert [line[-3:] for line in lines[1:-1]] == [
        ["10.0", "0.00", "well"],
        ["1.50", "1.00", "badly"],
        ["-", "-", "untold"],
    ]
    assert " ".join(lines[-1]) == "3 runs, 11.5 GPU-hours, 1.00 of them wasted; not known of 1"
    told = lab.json("runs")
    assert [row["gpu_hours"] for row in told["runs"]] == [10.0, 1.5, None]
    assert told["total"] == {"runs": 3, "gpu_hours": 11.5, "wasted_gpu_hours": 1.0}


def test_runs_fit_a_terminal(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 80 columns no line is longer, every id still names its run, and the name is begun."""
    for _run in range(2):
        lab.gpualert("run", "--name", "pretraining of " + "x" * 100, "--", *shell("exit 3"))
    lab.launch("sleep", "1000", options=("--name", "alive"))
    (lab.state / "runs" / "20990101-000000-000000-aaaa").mkdir(mode=0o700)
    monkeypatch.setenv("COLUMNS", "80")
    header, *lines, total = lab.gpualert("runs").stdout.decode().splitlines()
    assert max(map(len, (header, *lines, total))) <= 80
    assert " ".join(header.split()) == "RUN STATE EXIT CAUSE GPU-H WASTED NAME"
    assert ["pretrain" in line for line in lines] == [True, True, False, False]
    for line, path in zip(lines[:3], lab.records(), strict=False):
        assert lab.json("show", line.split()[0])["run_id"] == path.name
    assert "damaged" in lines[-1]


def test_run_that_ended_is_in_the_history(lab: Lab) -> None:
    """Once a run that lasted has ended it is in the history, whoever supervised it."""
    lab.run("sleep", "1.1")
    done = lab.call(python("from gpualert_common import run; run(['sleep', '1.1'])"))
    assert done.returncode == 0
    history = History.open(str(lab.state))
    names = [path.name for path in lab.records()]
    until(lambda: list(history.read_all()) == names, "both runs to be in the history")
    assert not history.problem


def test_recovered_run_is_in_the_history(lab: Lab) -> None:
    """A run whose supervisor died is in the history once it was recovered."""
    run = lab.launch("sleep", "1000")
    run.process.kill()
    run.process.wait()
    os.kill(run.leader, signal.SIGKILL)
    until(lambda: b"recovered" in lab.gpualert("recover").stdout, "the run to be recovered")
    (found,) = History.open(str(lab.state)).read_all().values()
    assert (found.run_id, found.disposition) == (run.record.run_id, "unknown")


def test_damaged_history(lab: Lab) -> None:
    """A damaged history is told of on stderr, once, and made again from the records."""
    lab.run("true")
    measure(lab.records()[0], gpu_seconds=3600)
    (lab.state / "history.sqlite3").write_bytes(b"damaged" * 1000)
    done = lab.gpualert("runs", "--json")
    assert b"kept as history.sqlite3.damaged-1, created again" in done.stderr
    assert json.loads(done.stdout)["total"]["gpu_hours"] == 1.0
    assert lab.gpualert("runs").stderr == b""


@pytest.mark.parametrize("command", ["show", "follow", "stop"])
def test_no_run_to_name(lab: Lab, command: str) -> None:
    """A command that needs a run says, in one line, that there is none, with status 2."""
    done = lab.gpualert(command)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpualert: error: no run yet in ")
    assert done.stderr.count(b"\n") == 1


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
