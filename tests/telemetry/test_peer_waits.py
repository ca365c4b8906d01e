"""Tests of the source ``peer_waits``: ranks that wait in a collective, and one that works."""

from __future__ import annotations

import os
import shlex
import sys
import threading

import pytest

from gpualert_common.telemetry.source import ObservedRun, Sample
from gpualert_common.telemetry.sources import peer_waits
from tests.supervised import PYTHON, Lab, shell, until

LIBRARY = """
import time
def all_reduce():
    time.sleep(1000)
"""
TRAINING = """
import os, time
from torch.distributed import distributed_c10d
def read_shard():
    time.sleep(1000)
print("ready", flush=True)
read_shard() if os.environ["RANK"] == "1" else distributed_c10d.all_reduce()
"""


def _launch(lab: Lab, ranks: int, *options: str) -> ObservedRun:
    """Launch a run with such ranks, of which rank 1 works."""
    package = lab.home / "site-packages" / "torch" / "distributed"
    package.mkdir(parents=True)
    for name, text in (("../__init__", ""), ("__init__", ""), ("distributed_c10d", LIBRARY)):
        (package / f"{name}.py").write_text(text)
    training = lab.home / "train.py"
    training.write_text(TRAINING)
    program = shlex.join((PYTHON, str(training)))
    starts = (
        f"RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={ranks} {program} &" for rank in range(ranks)
    )
    script = f"{' '.join(starts)} wait"
    paths = {"PYTHONPATH": os.pathsep.join((str(package.parents[1]), *sys.path))}
    run = lab.launch(
        *shell(script), options=options, env={**os.environ, **lab.environment(), **paths}
    )
    run.wait_for_output(b"ready\n" * ranks)
    record = run.record
    pid = record.leader_pid
    assert pid is not None
    return ObservedRun(record.run_id, pid, "unused", 0.0, record.path)


@pytest.fixture(autouse=True)
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the stacks again at once, at any cost."""
    monkeypatch.setattr(peer_waits, "_INTERVAL_S", 0.01)
    monkeypatch.setattr(peer_waits, "_COST", 10.0)


def _read(source: peer_waits.PeerWaits) -> dict[str, dict[str, float]]:
    return {one.of: dict(one.values) for one in source.sample() if isinstance(one, Sample)}


def test_rank_that_works(lab: Lab) -> None:
    """The ranks in a collective of a library wait in each reading, and the one elsewhere in none;
    all of them are read equally often."""
    run = _launch(lab, 3, "--job", "llama", "--job-dir", str(lab.home / "jobs"))
    source = peer_waits.PeerWaits(run)
    until(lambda: _read(source).get("rank:0", {}).get("stack_samples_total", 0) >= 3, "readings")
    found = _read(source)
    counts = {one["stack_samples_total"] for one in found.values()}
    assert len(counts) == 1
    waits = {of: one["peer_waits_total"] for of, one in found.items()}
    assert waits == {"rank:0": max(counts), "rank:1": 0, "rank:2": max(counts)}


def test_run_that_is_not_read(lab: Lab) -> None:
    """A run without a job directory has no thread that reads stacks, and of two ranks a reading
    does not count."""
    run = _launch(lab, 2)
    before = threading.active_count()
    source = peer_waits.PeerWaits(run)
    assert threading.active_count() == before
    assert not list(source.sample())
    counts = peer_waits.WaitCounts()
    peer_waits.StackReader(run, counts).read()
    assert not counts.list_samples()
