"""Fixtures of Slurm's tests: a real cluster, and stand-ins for its commands at the border."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.slurm.batch import Batch
from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster

Install = Callable[..., None]


@pytest.fixture
def scene(slurm: SlurmCluster, tmp_path: Path) -> Iterator[BatchScene]:
    """A scene in a folder that the nodes can read."""
    tmp_path.chmod(0o755)
    one = BatchScene(slurm, tmp_path)
    yield one
    one.kill_all()
    slurm.run("scancel", "--user=root")


@pytest.fixture
def batch(slurm: SlurmCluster, request: pytest.FixtureRequest) -> Batch:
    """A folder of one test that the nodes of the cluster share."""
    home = slurm.home / "jobs" / request.node.name[:60]
    home.mkdir(mode=0o755)
    return Batch(slurm, home)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return the function that installs a command: its name, and its output or its script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    for name in ("sacct", "squeue", "sacctmgr", "sinfo", "scontrol"):
        _write(folder / name, "exit 1")

    def install_command(name: str, output: str = "", script: str = "") -> None:
        text = folder / f"{name}.text"
        text.write_text(output)
        _write(folder / name, script or f"cat {text}")

    return install_command


def _write(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
