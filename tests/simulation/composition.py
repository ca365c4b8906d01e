"""Digests of a simulated node: those of the running training, and the last one with its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import TypeVar

from gpualert_common.jobs.digests.digest import (
    Digest,
    DigestObservation,
    DigestState,
    ProgressDigest,
    RankDigest,
    StackGroupDigest,
    TelemetryDigest,
)
from gpualert_common.jobs.digests.wait_digests import PARTS
from gpualert_common.stacks.activities import StackActivity
from gpualert_common.structs import replace
from tests.simulation.endings import LOST_HOST, RANK, make_template
from tests.simulation.job import TOTAL_STEPS, SimulatedJob, SimulatedNode

_GIB = 1 << 30
Text = TypeVar("Text", str, str | int | float | bool | None)
_STALL_S = 90.0
"""Time after which the flight recorder or NCCL's RAS shows a stall."""
_STACKS_S = 120.0
_WARNS_S = 300.0
_STACK_SAMPLES = 20
"""Readings of the stacks of eight ranks in a fifth of half an hour, on a busy machine."""


def compose_running(job: SimulatedJob, node: SimulatedNode, at: float, sequence: int) -> Digest:
    """Return the digest of a run that goes on, at a true time."""
    local = at + node.clock_offset_s
    position = job.position(at)
    slow = job.slowed_by if job.slowed_at is not None and at >= job.slowed_at else 1.0
    halted = job.halted_at is not None and at > job.halted_at
    position_at = (job.halted_at if halted and job.halted_at else at) + node.clock_offset_s
    chance = Random(node.seed + sequence)
    return Digest(
        job=job.key,
        run_id=node.run_id,
        host=node.host,
        at=local,
        state=DigestState.RUNNING,
        name="pretrain",
        attempt=job.attempt,
        node=node.index,
        nodes=len(job.nodes),
        world_size=job.world_size,
        sequence=sequence,
        interval_s=job.interval_s,
        launch="torchrun --nproc-per-node 8 train.py --config configs/pretrain-70b.yaml",
        record_path=f"/var/lib/gpualert/runs/{node.run_id}",
        started_at=node.started_at + node.clock_offset_s,
        ranks=tuple(_compose_ranks(job, node, at, slow, chance)),
        progress=None
        if not job.has_trained
        else ProgressDigest(
            position=position,
            total=TOTAL_STEPS,
            loss=_loss(job, at, position),
            pace_s=None if halted else job.step_s * slow * chance.uniform(0.98, 1.02),
            position_at=position_at,
            output_at=position_at,
        ),
        telemetry=_compose_telemetry(node, slow, chance),
        stacks=_compose_stacks(job, node) if _halted_for(job, at) > _STACKS_S else (),
        warnings=("hang",) if _halted_for(job, at) > _WARNS_S else (),
        clock=node.clock,
    )


def compose_ended(job: SimulatedJob, node: SimulatedNode, at: float, sequence: int) -> Digest:
    """Return the last digest of a run, with its verdict."""
    assert node.ended_at is not None
    digest = compose_failing(job, node, min(at, node.ended_at), sequence)
    ended_at = node.ended_at + node.clock_offset_s
    template = make_template(node.ending)
    verdict = template.verdict
    assert verdict is not None
    return replace(
        digest,
        at=at + node.clock_offset_s,
        state=DigestState.ENDED,
        ended_at=ended_at,
        verdict=replace(
            verdict,
            headline=_put(verdict.headline, node),
            details={
                name: node.ending_rank if value == RANK else _put(value, node)
                for name, value in verdict.details.items()
            },
        ),
        observations=_place_observations(node, template.observations, verdict.cause),
    )


def compose_failing(job: SimulatedJob, node: SimulatedNode, at: float, sequence: int) -> Digest:
    """Return the digest of a run whose ranks have ended, before its command ends."""
    assert node.ended_at is not None
    digest = compose_running(job, node, at, sequence)
    template = make_template(node.ending)
    ended_at = node.ended_at + node.clock_offset_s
    failed_at = (node.failed_at or node.ended_at) + node.clock_offset_s
    codes = {one.rank == RANK: one.code for one in template.ranks}
    ends = [one for one in template.observations if one.source == "processes"]
    return replace(
        digest,
        observations=_place_observations(node, ends, ""),
        ranks=tuple(
            replace(
                one,
                code=codes[one.rank == node.ending_rank],
                ended_at=min(ended_at, failed_at + (0.3 if one.rank == node.ending_rank else 0.9)),
            )
            for one in digest.ranks
        ),
    )


def _place_observations(
    node: SimulatedNode, observations: Iterable[DigestObservation], cause: str
) -> tuple[DigestObservation, ...]:
    """Return observations of an ending with the times and ranks of this node, the cause first.

    Without an index of its output, the lines of the log have the time of its end.
    """
    assert node.ended_at is not None
    ended_at = node.ended_at + node.clock_offset_s
    failed_at = (node.failed_at or node.ended_at) + node.clock_offset_s
    shift = node.ending_rank - RANK
    return tuple(
        replace(
            one,
            text=_put(one.text, node),
            at=None if one.at is None else min(ended_at, failed_at + 0.1 * place),
            rank=None if one.rank is None else _turn(node, one.rank, shift),
        )
        for place, one in enumerate(sorted(observations, key=lambda one: one.cause != cause))
    )


def _turn(node: SimulatedNode, rank: int, shift: int) -> int:
    """Return the rank of this node for one of an ending."""
    return node.ranks[(rank + shift - node.ranks.start) % len(node.ranks)]


def _put(value: Text, node: SimulatedNode) -> Text:
    """Return a text of an ending with the rank and the hosts of this node."""
    if isinstance(value, str):
        return value.replace(str(RANK), str(node.ending_rank)).replace(LOST_HOST, node.lost_host)
    return value


def _loss(job: SimulatedJob, at: float, position: int) -> float:
    if job.fault == "nan_loss" and at > job.fault_at - 300:
        return math.nan
    return 2.0 + 8.0 * math.exp(-position / 20000)


def _compose_ranks(
    job: SimulatedJob, node: SimulatedNode, at: float, slow: float, chance: Random
) -> list[RankDigest]:
    """Return the ranks; their collectives are known only while they stand still."""
    halted_for = _halted_for(job, at)
    is_stalled = halted_for > _STALL_S
    entered = job.position(at) * 49
    ranks = []
    for rank in node.ranks:
        load = chance.uniform(92, 99)
        waits = is_stalled and rank not in node.late_ranks
        if halted_for > 0:
            load = 0.0 if rank in node.late_ranks else 99.0
        elif slow > 1:
            load = _load_of_straggler(node, rank, chance)
        ranks.append(
            RankDigest(
                rank=rank,
                sequence=entered + (1 if waits else 0) if is_stalled else None,
                completed=entered if waits else None,
                pending="all_reduce of 25000000 elements" if waits else "",
                gpu_percent=load,
                waits=_count_waits(node, rank, slow, chance),
            )
        )
    return ranks


def _halted_for(job: SimulatedJob, at: float) -> float:
    return 0.0 if job.halted_at is None else max(0.0, at - job.halted_at)


def _load_of_straggler(node: SimulatedNode, rank: int, chance: Random) -> float:
    if node.slow_sign == "loader" and rank in node.slow_ranks:
        return chance.uniform(25, 45)
    return chance.uniform(95, 100)


def _count_waits(node: SimulatedNode, rank: int, slow: float, chance: Random) -> tuple[int, ...]:
    """Return the waits of a rank for others in samples of its stack, where gloo shows them."""
    if slow <= 1 or node.slow_sign != "waits":
        return ()
    own = slow if rank in node.slow_ranks else 1.0
    share = max(0.05, 1.0 - own * chance.uniform(0.9, 1.0) / slow)
    return tuple(
        sum(chance.random() < share for _sample in range(_STACK_SAMPLES)) for _part in range(PARTS)
    )


def _compose_telemetry(node: SimulatedNode, slow: float, chance: Random) -> TelemetryDigest:
    is_throttled = slow > 1 and node.slow_sign == "clock" and bool(node.slow_ranks)
    return TelemetryDigest(
        gpus=len(node.ranks),
        gpu_percent=chance.uniform(94, 99),
        gpu_bytes=560 * _GIB * chance.uniform(0.97, 1.0),
        gpu_total_bytes=640.0 * _GIB,
        clock_ratio=chance.uniform(0.35, 0.55) if is_throttled else chance.uniform(0.93, 1.0),
        host_bytes=300 * _GIB * chance.uniform(0.9, 1.1),
        cpu_cores=chance.uniform(8, 24),
        stack_samples=(_STACK_SAMPLES,) * PARTS if slow > 1 and node.slow_sign == "waits" else (),
    )


def _compose_stacks(job: SimulatedJob, node: SimulatedNode) -> tuple[StackGroupDigest, ...]:
    waiting = tuple(rank for rank in node.ranks if rank not in node.late_ranks)
    groups = [
        StackGroupDigest(
            ranks=waiting,
            key="all_reduce:train.py:backward:141",
            activity=StackActivity.COLLECTIVE,
            place="backward (train.py:141)",
            waits_for="waits in all_reduce for other ranks",
        )
    ]
    if node.late_ranks:
        groups.append(
            StackGroupDigest(
                ranks=tuple(sorted(node.late_ranks)),
                key="next_batch:loader.py:fetch:77",
                activity=StackActivity.DATA,
                place="fetch (loader.py:77)",
                waits_for="waits for the next batch of its data loader",
            )
        )
    return tuple(one for one in groups if one.ranks)
