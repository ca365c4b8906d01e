"""A job of composed digests: what its nodes would have written, for the tests of the merging."""

from __future__ import annotations

from typing import Any

from gpualert_common.classify.details import Scalar
from gpualert_common.jobs.digests.digest import (
    ClockBasis,
    ClockOffset,
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    ProgressDigest,
    RankDigest,
    StackGroupDigest,
    StoredDigest,
    TelemetryDigest,
)
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.model import Attribution, Disposition, Retry
from gpualert_common.structs import replace

KEY = "slurm-17"
START = 1_790_000_000.0
END = START + 1000.0
"""Time at which a job of these tests fails."""
INTERVAL_S = 10.0
GPUS = 8

_DISPOSITIONS = {
    "none": Disposition.COMPLETED,
    "nan_loss": Disposition.COMPLETED,
    "cancelled": Disposition.CANCELLED,
    "preempted": Disposition.PREEMPTED,
    "time_limit": Disposition.TIMEOUT,
    "killed_unknown": Disposition.KILLED,
    "oom_killer": Disposition.KILLED,
}
_OF_INFRASTRUCTURE = ("gpu_hardware", "collective", "node_failure", "disk_full")


def compose(
    node: int,
    nodes: int = 8,
    *,
    host: str | None = None,
    at: float = END + 5.0,
    offset_s: float = 0.0,
    error_s: float = 0.05,
    position: float = 500.0,
    **changes: Any,
) -> Digest:
    """Return the digest of a node that runs; all its times are by its own, wrong clock."""
    digest = Digest(
        job=KEY,
        run_id=f"run-{node}",
        host=f"gpu{node}" if host is None else host,
        at=at,
        state=DigestState.RUNNING,
        name="llama",
        node=node,
        nodes=nodes,
        world_size=nodes * GPUS,
        sequence=100,
        interval_s=INTERVAL_S,
        launch="torchrun train.py",
        record_path=f"/var/lib/gpualert/runs/run-{node}",
        started_at=START,
        ranks=tuple(RankDigest(node * GPUS + gpu) for gpu in range(GPUS)),
        progress=ProgressDigest(position=position, total=1000.0, loss=2.5, pace_s=1.0),
        telemetry=TelemetryDigest(gpus=GPUS, gpu_percent=95.0, clock_ratio=0.95),
        clock=ClockOffset(0.0, error_s, ClockBasis.STORE),
    )
    return shift(replace(digest, **changes), offset_s)


def end(
    digest: Digest,
    cause: str,
    at: float = END,
    *,
    rank: int | None = None,
    headline: str = "",
    text: str = "",
    lasts_s: float = 1.0,
    confidence: float = 0.95,
    **details: Scalar,
) -> Digest:
    """Return the final digest of a node whose cause was observed at the time *at*."""
    verdict = DigestVerdict(
        cause,
        _DISPOSITIONS.get(cause, Disposition.FAILED),
        Attribution.INFRASTRUCTURE if cause in _OF_INFRASTRUCTURE else Attribution.JOB,
        Retry.AFTER_FIX,
        confidence,
        headline or cause.replace("_", " ").capitalize(),
        exit_code=0 if cause == "none" else 1,
        details=dict(details),
    )
    seen = DigestObservation(
        cause, text or verdict.headline, at, rank, is_cascade=cause == "collective"
    )
    return replace(
        digest,
        state=DigestState.ENDED,
        sequence=digest.sequence + 1,
        at=at + lasts_s + 1.0,
        ended_at=at + lasts_s,
        verdict=verdict,
        observations=() if cause == "none" else (seen,),
    )


def lose(node: int, at: float = END + 1.0, nodes: int = 8, lost_rank: int | None = None) -> Digest:
    """Return the final digest of a node that lost a peer at the time *at*."""
    named: dict[str, Any] = {} if lost_rank is None else {"failed_rank": lost_rank}
    headline = "Communication between ranks failed: Connection closed by peer"
    return end(compose(node, nodes), "collective", at, headline=headline, **named)


def shift(digest: Digest, offset_s: float) -> Digest:
    """Return a digest by a clock that is *offset_s* ahead, which its node knows."""
    if not offset_s:
        return digest

    def later(at: float | None) -> float | None:
        return None if at is None else at + offset_s

    return replace(
        digest,
        at=digest.at + offset_s,
        started_at=digest.started_at + offset_s,
        ended_at=later(digest.ended_at),
        observations=tuple(replace(one, at=later(one.at)) for one in digest.observations),
        ranks=tuple(replace(one, ended_at=later(one.ended_at)) for one in digest.ranks),
        clock=replace(digest.clock, offset_s=digest.clock.offset_s + offset_s),
    )


def store(digest: Digest, delay_s: float = 0.1) -> StoredDigest:
    """Return a digest as it lies in a store with a right clock."""
    return StoredDigest(digest, digest.at - digest.clock.offset_s + delay_s)


def stall(digest: Digest, sequence: int, *, behind: tuple[int, ...] = ()) -> Digest:
    """Return a digest of ranks that wait in a collective; those *behind* did not enter it."""
    ranks = tuple(
        replace(one, sequence=sequence - 1, completed=sequence - 1)
        if one.rank in behind
        else replace(one, sequence=sequence, completed=sequence - 1, pending="all_reduce")
        for one in digest.ranks
    )
    return replace(digest, ranks=ranks)


def stand(digest: Digest, *groups: tuple[tuple[int, ...], str, str]) -> Digest:
    """Return a digest with stacks: ranks, activity and place of each group."""
    stacks = tuple(
        StackGroupDigest(ranks, f"{activity}-{place}", activity, place)
        for ranks, activity, place in groups
    )
    return replace(digest, stacks=stacks)


def merge(*digests: Digest, now: float = END + 20.0) -> JobReport:
    """Return the report of a job of these digests."""
    merger = JobMerger(KEY)
    for one in digests:
        merger.add(store(one))
    report = merger.conclude(now)
    assert report is not None
    return report
