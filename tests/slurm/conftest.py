"""Fixtures of the tests with a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster


@pytest.fixture
def scene(slurm: SlurmCluster, tmp_path: Path) -> Iterator[BatchScene]:
    """A scene in a folder that the nodes can read."""
    tmp_path.chmod(0o755)
    one = BatchScene(slurm, tmp_path)
    yield one
    one.kill_all()
    slurm.run("scancel", "--user=root")
