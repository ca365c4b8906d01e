"""Real trainings over three nodes in which one rank is slow, or none: the slow one is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualert_common.record import Record
from gpualert_common.telemetry.series import Telemetry
from tests.jobs.real_job import DEADLINE_S, RealJob, show
from tests.nodes import start_nodes
from tests.supervised import Lab, until

TRAINING = Path(__file__).with_name("uneven_training.py")
_EARLIER_S = 120.0
"""A job of less than two minutes has no straggler: its digests are dated back."""


def _count_readings(job: RealJob, node: int) -> int:
    """Return how often the stacks of a node's ranks were read."""
    counts = [0]
    for path in job.state(node).glob("runs/*"):
        telemetry = Telemetry()
        telemetry.read(Record.open(str(path)))
        of = telemetry.list_entities("rank")
        counts += (int(telemetry.series(one, "stack_samples_total").last) for one in of)
    return max(counts)


def _train(lab: Lab, mode: str, rank: int, readings: int) -> RealJob:
    """Return a job that has trained until the stacks of each node were read so often."""
    stop = lab.home / "stop"
    with start_nodes(3) as nodes:
        job = RealJob(lab, nodes, (mode, str(rank), str(stop)), training=TRAINING)
        until(
            lambda: all(_count_readings(job, node) >= readings for node in range(3)),
            f"{readings} readings of the stacks on each node",
            DEADLINE_S + 10.0 * readings,
        )
        stop.touch()
        assert job.wait() == [0, 0, 0], show(job)
    until(lambda: job.report()["state"] == "ended", "the last digest of each node", DEADLINE_S)
    for path in Path(job.directory).glob("*/digests/*.json"):
        digest = json.loads(path.read_text())
        path.write_text(json.dumps({**digest, "started_at": digest["started_at"] - _EARLIER_S}))
    return job


def _show_waits(job: RealJob) -> str:
    """Return the waits of all ranks in the digests, for a test that fails."""
    digests = (json.loads(one.read_text()) for one in Path(job.directory).glob("*/digests/*.json"))
    return "\n".join(
        f"{one['host']}: {one['telemetry'].get('stack_samples')} readings, waits"
        f" {[(rank['rank'], rank.get('waits')) for rank in one['ranks']]}"
        for one in digests
    )


@pytest.mark.parametrize(
    ("mode", "readings"),
    [
        pytest.param("sleeps", 8, marks=pytest.mark.e2e),
        pytest.param("computes", 15, marks=pytest.mark.nightly),
        pytest.param("waits for its disk", 15, marks=pytest.mark.nightly),
    ],
)
def test_rank_is_slow(lab: Lab, mode: str, readings: int) -> None:
    """The rank for which the others wait in each step is named, with its node."""
    job = _train(lab, mode, 3, readings)
    verdict = job.report()["verdict"]
    assert (verdict["cause"], verdict["host"]) == ("straggler", "node1"), _show_waits(job)
    assert verdict["details"]["rank"] == 3
    assert verdict["confidence"] <= 0.7


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["is even", "is a little slower", "evaluates"])
def test_no_rank_is_slow(lab: Lab, mode: str) -> None:
    """No rank is named where all have the same work, or one has more for a time."""
    job = _train(lab, mode, 0, 25)
    assert job.report()["verdict"]["cause"] == "none", _show_waits(job)
