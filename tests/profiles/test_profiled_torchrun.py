"""Profiles of real trainings under torchrun in which one rank loads its batches slowly."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.profiles.profile import TreeKind
from tests.profiles.profiled_runs import take
from tests.supervised import PYTHON, Lab, until

TRAINING = Path(__file__).with_name("loading_training.py")
_LAUNCHER = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")


@pytest.mark.parametrize(
    ("ranks", "workers"),
    [
        pytest.param(2, 0, marks=pytest.mark.nightly),
        pytest.param(2, 2, marks=pytest.mark.e2e),
        pytest.param(4, 1, marks=pytest.mark.nightly),
    ],
)
def test_slow_loader(lab: Lab, ranks: int, workers: int) -> None:
    """The rank whose loader is slow is named, with the place in the program or its workers."""
    command = (*_LAUNCHER, str(ranks), str(TRAINING), str(workers))
    run = lab.launch(*command, options=("--streams", "merged", "--grace", "1s"))
    until(lambda: run.log().count(b"ready") == ranks, "all ranks to be at work", 180)
    value, profile = take(lab, "--duration", "3s")
    found = [one for one in value["differences"] if one["ranks"] == [1]]
    places = {one["kind"]: one["frame"]["function"] for one in found}
    assert value["summary"].startswith("rank 1 spends ")
    if workers:
        assert "__next__" in places[TreeKind.MAIN]
        assert places[TreeKind.WORKERS] == "read_from_storage"
        assert [one.workers for one in profile.ranks] == [workers] * ranks
    else:
        assert places[TreeKind.MAIN] == "read_from_storage"
    assert lab.gpualert("stop", "--grace", "0s").returncode == 0
