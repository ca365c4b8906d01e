"""Ranks of processes by variables and arguments other than those of PyTorch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from gpualert_common.processes.procfs import ProcessStat, read_stat
from gpualert_common.processes.rank_variables import read_rank_arguments, read_rank_variables
from gpualert_common.processes.ranks import RankProcesses, read_identity
from tests.supervised import python

_CLUSTER = {
    "chief": ["127.0.0.1:1"],
    "worker": ["127.0.0.1:2", "127.0.0.1:3"],
    "ps": ["127.0.0.1:4"],
}


def tensorflow(kind: str, index: int, cluster: object = _CLUSTER) -> dict[str, str]:
    """Return the environment of a member of a cluster of TensorFlow."""
    task = {"type": kind, "index": index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


@pytest.mark.parametrize(
    ("environment", "rank", "size", "local_size"),
    [
        (tensorflow("chief", 0), "0", "3", "3"),
        (tensorflow("worker", 1), "2", "3", "3"),
        (tensorflow("worker", 0, {"worker": ["a:1", "b:1"]}), "0", "2", None),
        (tensorflow("ps", 0), None, None, None),
        ({"TF_CONFIG": "{"}, None, None, None),
        ({"TF_CONFIG": "[]"}, None, None, None),
        ({"TF_CONFIG": "[" * 100_000}, None, None, None),
        ({"TF_CONFIG": '{"task": {"type": "worker", "index": Infinity}, "cluster": {}}'},
         None, None, None),
        (tensorflow("worker", 0, []), None, None, None),
        ({**tensorflow("worker", 1), "RANK": "7"}, "7", "3", "3"),
        ({"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}, "1", "4", "4"),
        ({"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node1"}, "1", "4", None),
    ],
)  # fmt: skip
def test_variables(
    environment: dict[str, str], rank: str | None, size: str | None, local_size: str | None
) -> None:
    """TF_CONFIG has the rank, and a coordinator on loopback means that all ranks are here."""
    found = read_rank_variables(environment)
    assert (found.get("RANK"), found.get("WORLD_SIZE")) == (rank, size)
    assert found.get("LOCAL_WORLD_SIZE") == local_size


@pytest.mark.parametrize(
    ("command", "rank"),
    [
        ("python train.py --process_id 1 --num_processes 2", "1"),
        ("python train.py --rank=3 --world-size=4", "3"),
        ("python train.py --rank 8", None),  # of a low-rank adapter
        ("python train.py --rank 8 --num_workers 16", None),
        ("accelerate launch --num_processes 8 train.py --rank 16", None),
        ("python train.py --process_id x --num_processes 2", None),
    ],
)
def test_arguments(command: str, rank: str | None) -> None:
    """A rank among the arguments counts with the number of ranks only."""
    assert read_rank_arguments(command.split()).get("RANK") == rank


@pytest.fixture
def processes() -> Iterator[dict[int, ProcessStat]]:
    """Two processes with ranks among their arguments, the second with a variable of JAX."""
    started = []
    for rank in (0, 1):
        options = ["--process_id", str(rank), "--num_processes", "2"]
        variables = {"JAX_PROCESS_ID": "5"} if rank else {"OTHER": "1"}
        command = (*python("input('ready\\n')"), *options)
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe))
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    found = [read_stat(one.pid) for one in started]
    yield {one.pid: one for one in found if one is not None}
    for process in started:
        process.communicate(b"\n")


def test_variables_come_first(processes: dict[int, ProcessStat]) -> None:
    """Arguments name ranks only where no process of the run has a variable."""
    first, second = processes.values()
    assert set(RankProcesses().find_workers(processes)) == {"rank:5"}
    assert set(RankProcesses().find_workers({first.pid: first})) == {"rank:0"}
    assert read_identity(first)["world_size"] == 2
    assert read_identity(second)["rank"] == 5
