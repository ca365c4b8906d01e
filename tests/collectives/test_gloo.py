"""Real ranks with Gloo that come to a halt: the culprit by their flight recorder dumps."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.dump_reader import read_dump
from gpualert_common.collectives.recorded_calls import read_trace
from gpualert_common.collectives.stall import Difference, StallKind
from tests.supervised import PROGRAM, PYTHON, Lab

pytestmark = pytest.mark.e2e

FAULTS = {
    "asleep": (StallKind.MISSING, None),
    "chain": (StallKind.MISSING, None),
    "operation": (StallKind.MISMATCH, Difference.OPERATION),
    "size": (StallKind.MISMATCH, Difference.SIZE),
    "skipped": (StallKind.MISMATCH, Difference.OPERATION),
}
TRAINING = Path(__file__).parent / "hanging_training.py"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the dumps of all faults, of four ranks each."""
    folder = tmp_path_factory.mktemp("gloo")
    program = (PYTHON, "-m", "tests.collectives.gloo_ranks", str(folder), *FAULTS)
    subprocess.run(program, cwd=Path(__file__).parents[2], check=True, timeout=120)
    return folder


@pytest.mark.parametrize("fault", FAULTS)
def test_odd_rank(fault: str, dumps: Path) -> None:
    """Rank 2 is the culprit of each fault, with its kind."""
    files = sorted((dumps / fault).glob("rank_*"))
    traces = [read_trace(read_dump(str(file), os.getuid()), int(file.name[5:])) for file in files]
    assert len(traces) == 4
    stall = find_stall(traces, 4)
    assert stall is not None
    assert stall.culprits == (2,)
    assert (stall.kind, stall.difference) == FAULTS[fault]
    assert (stall.group, stall.sequence) == ("default_pg", 4)
    if fault == "chain":
        assert stall.indirect == (1,), "it waits for rank 2 in the group of the two"


def test_verdict(lab: Lab) -> None:
    """The verdict on a run under torchrun names the rank that slept, and blames nobody for it."""
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    options = ("run", "--streams", "merged", "--")
    variables = {"TORCH_FR_DUMP_TEMP_FILE": str(lab.home / "rank_"), "GPUALERT_OBSERVE": "true"}
    command = (*PROGRAM, *options, PYTHON, *ranks, str(TRAINING))
    process = lab.start(command, env={**os.environ, **variables})
    assert process.wait(120) == 1
    verdict = lab.json("show")["verdict"]
    assert (verdict["cause"], verdict["family"]) == ("collective", "C2")
    assert verdict["attribution"] == "unknown"
    assert "rank 1, which never entered all_reduce of 16 elements" in verdict["headline"]
    assert verdict["details"]["culprits"] == "rank 1"
    assert "flight_recorder" in [one["source"] for one in verdict["shows"]]
