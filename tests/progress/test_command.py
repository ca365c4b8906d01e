"""Tests of the command ``gpualert progress``."""

from __future__ import annotations

import json
import shutil

import pytest

from gpualert_common.codec import decode
from gpualert_common.progress import Progress
from tests.progress.reading import HERE
from tests.supervised import Lab, shell

HEALTHY = HERE / "captured" / "hf5-healthy" / "output.log"
TRAINS = shell("for i in 1 2 3; do echo step $i loss 0.$((9 - i)); done")


def test_text_of_a_file(lab: Lab) -> None:
    """The text has the framework, the steps, the losses with their lines, and the checkpoints."""
    done = lab.gpualert("progress", str(HEALTHY))
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    for word in ("transformers", "5 to 60 of 60", "(line 4)", "3 saved, last at step 60", "fresh"):
        assert word in text


def test_a_file_as_json(lab: Lab) -> None:
    """With --json the output is the whole progress and the start of the training."""
    value = lab.json("progress", str(HEALTHY))
    assert value["beginning"]["start"] == "fresh"
    assert value["files"] == [str(HEALTHY)]
    assert len(decode(Progress, value, "stdout").points) == 12


def test_stdin(lab: Lab) -> None:
    """``-`` reads stdin to its end."""
    done = lab.gpualert("progress", "-", "--json", input=b"step 1 loss nan\n")
    value = json.loads(done.stdout)
    assert value["files"] == ["stdin"]
    assert value["points"][0]["loss"] == "nan"


def test_a_run(lab: Lab) -> None:
    """A run is named as for other commands, and its lines have times from its index."""
    lab.run(*TRAINS)
    value = lab.json("progress", "last")
    assert [point["step"] for point in value["points"]] == [1, 2, 3]
    assert all(point["at"] > 1e9 for point in value["points"])
    record = lab.records()[0]
    for name in (record.name, str(record)):
        assert lab.json("progress", name)["points"] == value["points"]


def test_stdout_and_stderr_of_a_run(lab: Lab) -> None:
    """Two logs of a run are read as one training."""
    for stream in ("stdout", "stderr"):
        shutil.copy(HERE / "captured" / "hf5-apart" / f"{stream}.log", lab.home)
    lab.gpualert("run", "--streams", "apart", "--", *shell("cat stdout.log; cat stderr.log >&2"))
    value = lab.json("progress", "last")
    assert value["files"] == ["stdout.log", "stderr.log"]
    assert [point["step"] for point in value["points"]] == list(range(5, 61, 5))


def test_a_path_wins(lab: Lab) -> None:
    """A file with the name of a run is read as a file."""
    lab.run(*TRAINS)
    (lab.home / "last").write_bytes(b"step 7 loss 0.5\n")
    assert [point["step"] for point in lab.json("progress", "last")["points"]] == [7]


@pytest.mark.parametrize("name", ["absent", "absent/train.log", "."])
def test_nothing_there(lab: Lab, name: str) -> None:
    """A name of neither a file nor a run is an error of one line, with status 2."""
    done = lab.gpualert("progress", name)
    assert (done.returncode, done.stdout) == (2, b"")
    assert name.encode() in done.stderr
    assert done.stderr.startswith(b"gpualert: error: ")
    assert done.stderr.count(b"\n") == 1


def test_a_log_without_a_training(lab: Lab) -> None:
    """A log without a training is no error, and unknown values are named."""
    done = lab.gpualert("progress", "-", input=b"hello\n")
    assert done.returncode == 0
    assert b"unknown" in done.stdout
