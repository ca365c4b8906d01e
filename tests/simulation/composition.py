"""Digests of a simulated node: those of the running training, and the last one with its verdict."""

from __future__ import annotations

import functools
import math
from random import Random

from gpualert_common.codec import encode
from gpualert_common.jobs.digest import (
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    ProgressDigest,
    RankDigest,
    StackGroupDigest,
    TelemetryDigest,
)
from gpualert_common.model import Disposition
from gpualert_common.stacks.activities import StackActivity
from gpualert_common.structs import replace
from tests.simulation.endings import LOST_HOST, RANK, make_verdict
from tests.simulation.job import TOTAL_STEPS, SimulatedJob, SimulatedNode

_GIB = 1 << 30
_CASCADES = frozenset({"peer_closed", "watchdog", "rendezvous_lost"})
"""Endings whose lines the rules call cascades or communication."""
_LONG_TEXT = "NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7, via NET/IB/0/GDRDMA; " * 3


def compose_running(
    job: SimulatedJob, node: SimulatedNode, at: float, sequence: int
) -> Digest:
    """Return the digest of a run that goes on, at a true time."""
    local = at + node.clock_offset_s
    position = job.position(at, node.started_at)
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
        ranks=tuple(_compose_ranks(job, node, position, halted, slow, chance)),
        progress=ProgressDigest(
            position=position,
            total=TOTAL_STEPS,
            loss=_loss(job, at, position),
            pace_s=None if halted else job.step_s * slow * chance.uniform(0.98, 1.02),
            position_at=position_at,
            output_at=position_at,
        ),
        telemetry=_compose_telemetry(node, at, halted, slow, chance),
        stacks=_compose_stacks(job, node) if halted and at > (job.halted_at or at) + 120 else (),
        warnings=("hang",) if halted and at > (job.halted_at or at) + 300 else (),
        clock=node.clock,
    )


def compose_ended(job: SimulatedJob, node: SimulatedNode, at: float, sequence: int) -> Digest:
    """Return the last digest of a run, with its verdict."""
    assert node.ended_at is not None
    digest = compose_running(job, node, min(at, node.ended_at), sequence)
    ended_at = node.ended_at + node.clock_offset_s
    failed_at = (node.failed_at or node.ended_at) + node.clock_offset_s
    verdict = _verdict_of(node.ending)
    details = {name: _put(value, node) for name, value in verdict.details.items()}
    own = replace(verdict, headline=str(_put(verdict.headline, node)), details=details)
    ranks = tuple(
        replace(
            one,
            code=_code_of(verdict, one.rank == node.ending_rank),
            ended_at=failed_at + 0.2 if one.rank == node.ending_rank else ended_at - 0.1,
        )
        for one in digest.ranks
    )
    return replace(
        digest,
        at=at + node.clock_offset_s,
        state=DigestState.ENDED,
        ended_at=ended_at,
        verdict=own,
        observations=_compose_observations(node, own, failed_at, ended_at),
        ranks=ranks,
    )


@functools.cache
def _verdict_of(ending: str) -> DigestVerdict:
    found = make_verdict(ending)
    return DigestVerdict(
        cause=found.cause,
        disposition=found.disposition,
        attribution=found.attribution,
        retry=found.retry,
        confidence=found.confidence,
        headline=found.headline,
        family=found.family,
        fault_class=found.fault_class,
        paper_class=found.paper_class,
        exit_code=found.exit_code,
        signal=found.signal,
        secondary=tuple(one.cause for one in found.secondary),
        details={
            name: value
            for name, value in encode(found)["details"].items()
            if isinstance(value, (str, int, float, bool))
        },
        implies=found.implies,
        cannot_decide=found.cannot_decide,
        do=found.do,
    )


def _put(value: object, node: SimulatedNode) -> str | int | float | bool:
    """Return a value of an ending with the rank and the hosts of this node."""
    if value == RANK and not isinstance(value, bool):
        return node.ending_rank
    if isinstance(value, str):
        return value.replace(str(RANK), str(node.ending_rank)).replace(LOST_HOST, node.lost_host)
    assert isinstance(value, (int, float))
    return value


def _code_of(verdict: DigestVerdict, is_first: bool) -> int | None:
    if verdict.disposition is Disposition.COMPLETED:
        return 0
    if not is_first:
        return -15
    return -9 if verdict.cause == "oom_killer" else 1


def _compose_observations(
    node: SimulatedNode, verdict: DigestVerdict, failed_at: float, ended_at: float
) -> tuple[DigestObservation, ...]:
    if verdict.cause == "none":
        return ()
    first = DigestObservation(
        cause=verdict.cause,
        text=verdict.headline,
        at=failed_at,
        rank=node.ending_rank if node.ending not in ("time_limit", "preempted") else None,
        is_cascade=node.ending in _CASCADES,
    )
    more = (
        DigestObservation(
            cause="collective",
            text=f"[rank{rank}]: {_LONG_TEXT}",
            at=min(ended_at, failed_at + 0.5),
            rank=rank,
            is_cascade=True,
        )
        for rank in node.ranks
        if rank != node.ending_rank
    )
    return (first, *more)


def _loss(job: SimulatedJob, at: float, position: int) -> float:
    if job.fault == "nan_loss" and at > job.fault_at - 300:
        return math.nan
    return 2.0 + 8.0 * math.exp(-position / 20000)


def _compose_ranks(
    job: SimulatedJob,
    node: SimulatedNode,
    position: int,
    halted: bool,
    slow: float,
    chance: Random,
) -> list[RankDigest]:
    entered = position * 49
    shows_calls = halted or node.slow_sign == "collectives"
    ranks = []
    for rank in node.ranks:
        late = rank in node.late_ranks or (slow > 1 and rank in node.slow_ranks)
        waits = (halted and not late) or (shows_calls and slow > 1 and not late)
        load = 99.0 if halted and not late else 0.0 if halted else chance.uniform(92, 99)
        if slow > 1 and job.fault == "straggler":
            load = _load_of_straggler(node, rank, chance)
        ranks.append(
            RankDigest(
                rank=rank,
                sequence=entered + (1 if waits else 0),
                completed=entered,
                pending="all_reduce, 25000000 elements of BFloat16" if waits else "",
                gpu_percent=load,
                step_s=_step_of(job, node, rank, slow, chance),
            )
        )
    return ranks


def _load_of_straggler(node: SimulatedNode, rank: int, chance: Random) -> float:
    if node.slow_sign == "loader" and rank in node.slow_ranks:
        return chance.uniform(25, 45)
    return chance.uniform(95, 100)


def _step_of(
    job: SimulatedJob, node: SimulatedNode, rank: int, slow: float, chance: Random
) -> float | None:
    """Return the time of a step without the waits for others, where the ranks' logs have it."""
    if job.fault != "straggler" or not node.slow_sign.startswith("step"):
        return None
    own = slow if rank in node.slow_ranks else 1.0
    return job.step_s * own * chance.uniform(0.97, 1.03)


def _compose_telemetry(
    node: SimulatedNode, at: float, halted: bool, slow: float, chance: Random
) -> TelemetryDigest:
    is_throttled = slow > 1 and node.slow_sign == "clock" and bool(node.slow_ranks)
    return TelemetryDigest(
        gpus=len(node.ranks),
        gpu_percent=chance.uniform(94, 99),
        gpu_bytes=560 * _GIB * chance.uniform(0.97, 1.0),
        gpu_total_bytes=640.0 * _GIB,
        clock_ratio=chance.uniform(0.35, 0.55) if is_throttled else chance.uniform(0.93, 1.0),
        host_bytes=300 * _GIB * chance.uniform(0.9, 1.1),
        cpu_cores=chance.uniform(8, 24),
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
