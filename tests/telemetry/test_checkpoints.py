"""Tests of the source ``checkpoints``: checkpoints from before a run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gpualert_common.telemetry.sources.checkpoints import (
    MOST_ENTRIES,
    MOST_LISTED,
    find_checkpoints,
)

NOW = time.time()
BEFORE = NOW - 3600


def _write(path: Path, at: float = BEFORE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"state")
    os.utime(path, (at, at))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-400.pt", 400),
        ("epoch=3-step=1200.ckpt", 1200),
        ("last.ckpt", None),
        ("checkpoint_last.pt", None),
        ("iter_0000300", 300),
        ("latest_checkpointed_iteration.txt", None),
    ],
)
def test_in_the_output(name: str, step: int | None, tmp_path: Path) -> None:
    """Checkpoints of the frameworks are found in the output folder, with their steps."""
    _write(tmp_path / "out" / name)
    found = find_checkpoints(["python", "t.py", "--output_dir", "out"], str(tmp_path), NOW)
    assert [(one["path"], one["step"]) for one in found["before"]] == [(f"out/{name}", step)]


@pytest.mark.parametrize("name", ["config.json", "events.out.tfevents.1", "model.safetensors"])
def test_other_files(name: str, tmp_path: Path) -> None:
    """Other files in an output folder are not checkpoints."""
    _write(tmp_path / "out" / name)
    assert find_checkpoints(["t", "--output_dir", "out"], str(tmp_path), NOW)["before"] == []


def test_checkpoints_of_the_run_itself(tmp_path: Path) -> None:
    """Files written after the launch do not count."""
    _write(tmp_path / "out" / "step-1.pt", NOW + 5)
    command = ["t", "--output_dir", "out", "--resume", "out/step-1.pt"]
    found = find_checkpoints(command, str(tmp_path), NOW)
    assert found["named"] == {"out/step-1.pt": False}
    assert found["before"] == []


def test_named(tmp_path: Path) -> None:
    """A named path is reported with its existence: files, folders, and missing paths."""
    _write(tmp_path / "run" / "last.pt")
    (tmp_path / "empty").mkdir()
    options = ("--resume", "run", "--load=run/last.pt", "--ckpt_path", "empty", "--init_from", "x")
    found = find_checkpoints(["t", *options], str(tmp_path), NOW)["named"]
    assert found == {"run": True, "run/last.pt": True, "empty": False, "x": False}


def test_bounded(tmp_path: Path) -> None:
    """Only the newest checkpoints are reported, and only part of a huge folder is listed."""
    for number in range(MOST_LISTED + 3):
        _write(tmp_path / "out" / f"step-{number}.pt", BEFORE + number)
    found = find_checkpoints(["t", "--save", "out"], str(tmp_path), NOW)["before"]
    assert [one["step"] for one in found] == list(range(MOST_LISTED + 2, 2, -1))
    (tmp_path / "huge").mkdir()
    for number in range(MOST_ENTRIES + 10):
        (tmp_path / "huge" / f"n{number}").touch()
    assert find_checkpoints(["t", "--out", "huge"], str(tmp_path), NOW)["before"] == []


@pytest.mark.parametrize("value", ["", "no/such/folder", "s3://bucket/run", "a\0b"])
def test_nothing_there(value: str, tmp_path: Path) -> None:
    """No path, a remote path and an invalid path are not errors."""
    found = find_checkpoints(["t", "--output_dir", value, "--resume", value], str(tmp_path), NOW)
    assert found["before"] == []
    assert not any(found["named"].values())
