"""Ranks that the others of their job wait for, by samples of the stacks of all ranks.

The share of the samples in which a rank waits is the share of the time that it waits.  What is left
is its own work, so that the shares of two ranks give the ratio of their work in a step.  A rank
that is alone at work for a time is no straggler: it must be behind in most parts of the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpualert_common.diagnose.thresholds import STRAGGLER_RATIO
from gpualert_common.jobs.digests.wait_digests import PARTS
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.structs import Struct

_LEAST_RANKS = 3
_LEAST_SHARE = 0.2
"""Share of the time that the others must wait: less is the unevenness of a healthy training."""
_PHASE_SHARE = 0.97
"""From this share on the others make no steps: one rank evaluates, or writes a checkpoint."""
_CHANCE = 1e-3
"""Most stragglers that chance finds in a healthy job of any size."""
_MOST_SLOW = 4
"""Of so many nodes or ranks, one may be slow; more of them have other work."""


class SampledRank(Struct, frozen=True):
    """The samples of one rank, and those in which it waited, in the parts of the time."""

    node: JobNode
    rank: int
    samples: tuple[int, ...]
    waits: tuple[int, ...]


class SlowRanks(Struct, frozen=True):
    """The ranks of one node that the others wait for.

    ``first`` waits least, in ``waits`` of ``samples``; ``usual`` is the share of the others, and
    ``ratio`` the work of another rank relative to its own.
    """

    node: JobNode
    first: int
    ranks: tuple[int, ...]
    waits: int
    samples: int
    usual: float
    ratio: float


def find_slow_ranks(nodes: Sequence[JobNode]) -> SlowRanks | None:
    """Return the ranks that the others wait for; None where the samples show none."""
    ranks = list_waits(nodes)
    if len(ranks) < _LEAST_RANKS:
        return None
    first = min(ranks, key=lambda one: (sum(one.waits) / sum(one.samples), one.rank))
    peers = _list_peers(first, ranks)
    usual = [_share(peers, (part,)) for part in range(PARTS)]
    parts = [part for part in range(PARTS) if _LEAST_SHARE <= usual[part] <= _PHASE_SHARE]
    behind = [part for part in parts if _rate((first,), (part,), usual[part]) < STRAGGLER_RATIO]
    if len(behind) <= PARTS // 2:
        return None
    share = _share(peers, parts)
    chance = _CHANCE / len(ranks)
    slow = [one for one in ranks if _is_slow(one, parts, share, chance)]
    if first not in slow or not _are_few(slow, ranks):
        return None
    return SlowRanks(
        first.node,
        first.rank,
        tuple(sorted(one.rank for one in slow if one.node is first.node)),
        _count(first.waits, parts),
        _count(first.samples, parts),
        share,
        _rate((first,), parts, share),
    )


def list_waits(nodes: Iterable[JobNode]) -> list[SampledRank]:
    """Return the samples of all ranks that have some, of the newest run of each."""
    found: dict[int, SampledRank] = {}
    for node in nodes:
        for run in node.runs:
            samples = run.stack_samples
            for one in run.ranks:
                is_whole = len(samples) == len(one.waits) == PARTS and any(samples)
                if is_whole and all(map(int.__le__, one.waits, samples)):
                    found.setdefault(one.rank, SampledRank(node, one.rank, samples, one.waits))
    return list(found.values())


def _list_peers(first: SampledRank, ranks: Sequence[SampledRank]) -> list[SampledRank]:
    """Return the ranks of other nodes, or of a job on one node the other ranks."""
    return [one for one in ranks if one.node is not first.node] or [
        one for one in ranks if one is not first
    ]


def _is_slow(one: SampledRank, parts: Sequence[int], usual: float, chance: float) -> bool:
    """Return whether a rank waits so much less than usual, and not by chance."""
    samples, waits = _count(one.samples, parts), _count(one.waits, parts)
    return (
        _rate((one,), parts, usual) < STRAGGLER_RATIO
        and _find_chance(samples, waits, usual) < chance
    )


def _are_few(slow: Sequence[SampledRank], ranks: Sequence[SampledRank]) -> bool:
    """Return whether the slow ranks are those of few nodes, or few of a single node."""
    nodes, slow_nodes = {one.node.title for one in ranks}, {one.node.title for one in slow}
    if len(nodes) > 1:
        return len(slow_nodes) <= max(1, len(nodes) // _MOST_SLOW)
    return len(slow) <= max(1, len(ranks) // _MOST_SLOW)


def _rate(ranks: Iterable[SampledRank], parts: Sequence[int], usual: float) -> float:
    """Return the work of a usual rank relative to that of these."""
    share = _share(ranks, parts)
    return (1 - usual) / (1 - share) if share < 1 else math.inf


def _share(ranks: Iterable[SampledRank], parts: Sequence[int]) -> float:
    """Return the share of the samples in which ranks waited; 1 where there are no samples."""
    samples = waits = 0
    for one in ranks:
        samples += _count(one.samples, parts)
        waits += _count(one.waits, parts)
    return waits / samples if samples else 1.0


def _count(counts: Sequence[int], parts: Iterable[int]) -> int:
    return sum(counts[part] for part in parts)


def _find_chance(samples: int, waits: int, usual: float) -> float:
    """Return the probability that a rank which waits as usual waits in no more samples (binomial
    distribution)."""
    log_of_one, log_of_other = math.log(usual), math.log1p(-usual)
    found = 0.0
    for count in range(waits + 1):
        ways = math.lgamma(samples + 1) - math.lgamma(count + 1) - math.lgamma(samples - count + 1)
        found += math.exp(ways + count * log_of_one + (samples - count) * log_of_other)
    return found
