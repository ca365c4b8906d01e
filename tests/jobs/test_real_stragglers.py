"""Real trainings over three nodes in which one rank is slow, or none: the slow one is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.digests.digest_codec import decode_file
from gpualert_common.record import Record
from gpualert_common.telemetry.series import Telemetry
from tests.jobs.real_job import DEADLINE_S, RealJob, show
from tests.nodes import start_nodes
from tests.supervised import Lab, until

TRAINING = Path(__file__).with_name("uneven_training.py")
_EARLIER_S = 120.0
"""A job of less than two minutes has no straggler: its digests are dated back."""


def _read_waits(job: RealJob, node: int) -> dict[str, tuple[float, float]]:
    """Return the readings and the waits of each rank of a node so far."""
    found = {}
    for path in job.state(node).glob("runs/*"):
        telemetry = Telemetry()
        telemetry.read(Record.open(str(path)))
        for rank in telemetry.list_entities("rank"):
            readings = telemetry.series(rank, "stack_samples_total").last
            found[rank] = readings, telemetry.series(rank, "peer_waits_total").last
    return found


def _read_all_waits(job: RealJob) -> dict[str, tuple[float, float]]:
    return {of: counts for node in range(3) for of, counts in _read_waits(job, node).items()}


def _train(lab: Lab, mode: str, rank: int, least: int) -> tuple[RealJob, dict[str, float]]:
    """Return a job that has trained until the stacks of each node were read so often, and the share
    of the readings in which each rank waited, since the first steps."""
    stop = lab.home / "stop"
    with start_nodes(3) as nodes:
        job = RealJob(lab, nodes, (mode, str(rank), str(stop)), training=TRAINING)
        output = lab.home / "node0.out"
        until(lambda: b"step 5 " in output.read_bytes(), "the first steps", DEADLINE_S)
        before = _read_all_waits(job)

        def count_since(of: str, counts: tuple[float, float]) -> tuple[float, float]:
            readings, waits = before.get(of, (0.0, 0.0))
            return counts[0] - readings, counts[1] - waits

        def are_enough() -> dict[str, tuple[float, float]]:
            since = {of: count_since(of, one) for of, one in _read_all_waits(job).items()}
            is_whole = len(since) == 6 and all(one[0] >= least for one in since.values())
            return since if is_whole else {}

        found = until(are_enough, f"{least} readings of each rank", DEADLINE_S + 10.0 * least)
        stop.touch()
        assert job.wait() == [0, 0, 0], show(job)
        until(lambda: job.report()["state"] == "ended", "the last digest of each node", DEADLINE_S)
    for path in Path(job.directory).glob("*/digests/*.json"):
        digest = json.loads(path.read_text())
        path.write_text(json.dumps({**digest, "started_at": digest["started_at"] - _EARLIER_S}))
    return job, {of: waits / readings for of, (readings, waits) in found.items()}


def _read_digests(job: RealJob) -> list[Digest]:
    files = Path(job.directory).glob("*/digests/*.json")
    found = (decode_file(Digest, one.read_bytes()) for one in files)
    return [one for one in found if one is not None]


def _show_waits(job: RealJob) -> str:
    """Return the waits of all ranks in the digests, for a test that fails."""
    return "\n".join(
        f"{one.host}: {one.telemetry.stack_samples if one.telemetry else None} readings, waits"
        f" {[(rank.rank, rank.waits) for rank in one.ranks]}"
        for one in _read_digests(job)
    )


@pytest.mark.e2e
def test_waits_in_digests(lab: Lab) -> None:
    """The digests show that the slow rank does not wait, while all others do most of the time."""
    job, shares = _train(lab, "sleeps", 3, 6)
    assert shares.pop("rank:3") < 0.25, shares
    assert min(shares.values()) > 0.25, shares
    digests = _read_digests(job)
    assert {one.rank for digest in digests for one in digest.ranks if one.waits} == set(range(6))


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["sleeps", "computes", "waits for its disk"])
def test_rank_is_slow(lab: Lab, mode: str) -> None:
    """The rank for which the others wait in each step is named, with its node."""
    job, _shares = _train(lab, mode, 3, 40)
    verdict = job.report()["verdict"]
    assert (verdict["cause"], verdict["host"]) == ("straggler", "node1"), _show_waits(job)
    assert verdict["details"]["rank"] == 3
    assert verdict["confidence"] <= 0.7


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["is even", "is a little slower", "evaluates"])
def test_no_rank_is_slow(lab: Lab, mode: str) -> None:
    """No rank is named where all have the same work, or one has more for a time."""
    job, _shares = _train(lab, mode, 0, 40)
    assert job.report()["verdict"]["cause"] == "none", _show_waits(job)
