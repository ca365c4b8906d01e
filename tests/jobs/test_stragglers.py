"""Tests of the straggler by samples of stacks, on composed digests: the slow rank does not wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.digests.wait_digests import PARTS
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, GPUS, compose, end, merge

Share = Callable[[int, int], float]
"""Share of the time in which a rank waits in a part of the time, by their numbers."""


def sample(share: Share, nodes: int = 8, samples: int = 12, seed: int = 0) -> list[Digest]:
    """Return the digests of a job that completed, whose stacks were read at random times."""
    chance = Random(seed)
    found = []
    for node in range(nodes):
        digest = end(compose(node, nodes), "none")
        ranks = (
            replace(one, waits=tuple(_draw(chance, samples, share(one.rank, part))
                                     for part in range(PARTS)))
            for one in digest.ranks
        )  # fmt: skip
        assert digest.telemetry is not None
        telemetry = replace(digest.telemetry, stack_samples=(samples,) * PARTS)
        found.append(replace(digest, ranks=tuple(ranks), telemetry=telemetry))
    return found


def _draw(chance: Random, samples: int, share: float) -> int:
    return sum(chance.random() < share for _sample in range(samples))


def merge_samples(share: Share, nodes: int = 8, samples: int = 12, seed: int = 0) -> JobReport:
    """Return the report of a job with such samples."""
    return merge(*sample(share, nodes, samples, seed), now=END + 20)


def slow_rank(rank: int, _part: int) -> float:
    """Rank 13 works twice as long as the others."""
    return 0.1 if rank == 13 else 0.55


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nodes", [2, 3, 8])
def test_rank_that_does_not_wait(nodes: int, seed: int) -> None:
    """The rank that works while the others wait is named with its node, without certainty, also
    in a job of two nodes."""
    verdict = merge_samples(slow_rank, nodes, seed=seed).verdict
    assert (verdict.cause, verdict.host, verdict.details["rank"]) == ("straggler", "gpu1", 13)
    assert verdict.confidence == 0.65
    assert verdict.attribution == "unknown"
    assert "they wait for it" in verdict.shows[0].claim
    assert "more work" in verdict.cannot_decide[0]


def test_node_that_does_not_wait() -> None:
    """A node of which all ranks are slow is named, and none of its ranks."""
    verdict = merge_samples(lambda rank, _part: 0.05 if rank // GPUS == 2 else 0.5).verdict
    assert (verdict.cause, verdict.host) == ("straggler", "gpu2")
    assert verdict.details["rank"] is None


def test_slow_rank_with_a_slow_clock() -> None:
    """A second measure of the same node makes the verdict more certain, and the machine its
    reason."""
    digests = sample(slow_rank)
    telemetry = digests[1].telemetry
    assert telemetry is not None
    digests[1] = replace(digests[1], telemetry=replace(telemetry, clock_ratio=0.4))
    verdict = merge(*digests, now=END + 20).verdict
    assert (verdict.host, verdict.details["rank"], verdict.confidence) == ("gpu1", 13, 0.85)
    assert verdict.attribution == "infrastructure"


HEALTHY: dict[str, Share] = {
    "all wait alike": lambda _rank, _part: 0.5,
    "nobody waits": lambda _rank, _part: 0.02,
    "a little uneven": lambda rank, _part: 0.42 if rank == 13 else 0.5,
    "rank 0 works alone for two parts of five": lambda rank, part: (
        (0.0 if rank == 0 else 1.0) if part in (1, 2) else 0.3
    ),
    "rank 0 prepares the data all the time": lambda rank, _part: 0.0 if rank == 0 else 1.0,
    "slow at the start": lambda rank, part: (0.0 if rank == 9 else 0.9) if part == 0 else 0.4,
    "half of the nodes have more work": lambda rank, _part: 0.6 if rank // GPUS % 2 else 0.1,
    "small waits of fast steps": lambda rank, _part: 0.0 if rank == 13 else 0.15,
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("nodes", [1, 3, 8])
def test_healthy_jobs(name: str, nodes: int) -> None:
    """No rank is named in a healthy job: one that is behind for a time is no straggler."""
    for seed in range(20):
        verdict = merge_samples(HEALTHY[name], nodes, seed=seed).verdict
        assert verdict.cause == "none", (seed, verdict.shows)


def test_chance() -> None:
    """Of 200 healthy jobs of 64 ranks with few samples, chance names no rank."""
    found = [
        merge_samples(lambda _rank, _part: 0.6, samples=3, seed=seed).verdict.cause
        for seed in range(200)
    ]
    assert set(found) == {"none"}


@pytest.mark.parametrize(
    ("samples", "waits"),
    [((12,) * 4, (0,) * 4), ((0,) * PARTS, (0,) * PARTS), ((5,) * PARTS, (6,) * PARTS),
     ((1 << 40,) * PARTS, (0,) * PARTS), ((-3,) * PARTS, (-3,) * PARTS)],
)  # fmt: skip
def test_damaged_samples(samples: Sequence[int], waits: Sequence[int]) -> None:
    """Absurd counts of a node count as missing, and the others are compared without them."""
    digests = sample(slow_rank)
    telemetry = digests[5].telemetry
    assert telemetry is not None
    digests[5] = replace(
        digests[5],
        telemetry=replace(telemetry, stack_samples=tuple(samples)),
        ranks=tuple(replace(one, waits=tuple(waits)) for one in digests[5].ranks),
    )
    assert merge(*digests, now=END + 20).verdict.host == "gpu1"
