"""The part of a digest that the merging of a job keeps: a few KB for each run.

All times are corrected by the offset of the clock of the node, so that those of different nodes
can be compared; ``error_s`` says how well.  A digest is a file that anybody may have written:
numbers out of range count as unknown, and lists and texts are bounded.
"""

from __future__ import annotations

import sys

from gpualert_common.jobs.digests.digest import (
    MOST_RANKS,
    ClockBasis,
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    RankDigest,
    StackGroupDigest,
    StoredDigest,
)
from gpualert_common.structs import Struct, replace

MOST_NODES = 20_000
"""Nodes of a job; a larger number in a digest is damage."""
_UNKNOWN_CLOCK_ERROR_S = 2.0
"""Error of a clock that was not compared: nodes of a cluster are synchronized to well below it."""
_MOST_ERROR_S = 3600.0
_MOST_OFFSET_S = 10 * 365 * 86400.0
_MOST_TIME = 1e11
_MOST_OBSERVATIONS = 12
_MOST_RANKS_OF_NODE = 256
_MOST_GROUPS = 64
_MOST_PARTS, _MOST_COUNT = 8, 1_000_000
_TEXT, _SHORT = 400, 120


class NodeRun(Struct, frozen=True, kw_only=True, eq=False):
    """One run of a job: the facts of its newest digest that the verdict of the job needs.

    ``heard_at`` is the time of its last sign of life.  ``has_stamps`` says that the stamps of its
    files are such signs: those of a store that stamps files with the clock of their writer count
    for nothing.  ``has_loss`` says that its log has the losses of the training.
    """

    run_id: str
    host: str
    is_ended: bool
    sequence: int
    at: float
    heard_at: float
    has_stamps: bool
    started_at: float
    ended_at: float | None
    interval_s: float
    offset_s: float
    error_s: float
    name: str | None = None
    launch: str = ""
    record_path: str = ""
    attempt: int | None = None
    node: int | None = None
    nodes: int | None = None
    world_size: int | None = None
    verdict: DigestVerdict | None = None
    observations: tuple[DigestObservation, ...] = ()
    warnings: tuple[str, ...] = ()
    ranks: tuple[RankDigest, ...] = ()
    stacks: tuple[StackGroupDigest, ...] = ()
    position: float | None = None
    pace_s: float | None = None
    has_loss: bool = False
    gpu_percent: float | None = None
    clock_ratio: float | None = None
    stack_samples: tuple[int, ...] = ()

    @property
    def place(self) -> int | str:
        """The node that the run is on: its index, else its host."""
        return self.host if self.node is None else self.node


def summarize_digest(stored: StoredDigest) -> NodeRun:
    """Return the facts of a digest with corrected times; never fails on its content."""
    digest = stored.digest
    clock = digest.clock
    offset_s = _keep_bounded(stored.offset_s, _MOST_OFFSET_S) or 0.0
    error_s = min(abs(_keep_bounded(clock.error_s, _MOST_TIME) or 0.0), _MOST_ERROR_S)
    stamp = _shift(stored.modified_at, 0.0)
    if clock.basis is ClockBasis.NONE:
        ahead_s = _keep_bounded(stored.ahead_s, _MOST_OFFSET_S) or 0.0
        error_s = min(max(_UNKNOWN_CLOCK_ERROR_S, abs(ahead_s)), _MOST_ERROR_S)
    at = _shift(digest.at, offset_s) or stamp or 0.0
    has_stamps = clock.basis is not ClockBasis.PEERS
    progress, telemetry = digest.progress, digest.telemetry
    return NodeRun(
        run_id=digest.run_id[:_TEXT],
        host=sys.intern(digest.host[:_SHORT]) or digest.run_id[:_SHORT],
        is_ended=digest.state is DigestState.ENDED,
        sequence=digest.sequence,
        at=at,
        heard_at=stamp or at if has_stamps else at,
        has_stamps=has_stamps,
        started_at=_shift(digest.started_at, offset_s) or at,
        ended_at=_shift(digest.ended_at, offset_s),
        interval_s=max(0.0, _keep_bounded(digest.interval_s, 86400.0) or 0.0),
        offset_s=offset_s,
        error_s=error_s,
        name=digest.name[:_TEXT] if digest.name else None,
        launch=sys.intern(digest.launch[:_TEXT]),
        record_path=digest.record_path[:1000],
        attempt=_index(digest.attempt, MOST_RANKS),
        node=_index(digest.node, MOST_NODES),
        nodes=_index(digest.nodes, MOST_NODES) or None,
        world_size=_index(digest.world_size, MOST_RANKS) or None,
        verdict=None if digest.verdict is None else _shorten_verdict(digest.verdict),
        observations=_correct_observations(digest, offset_s),
        warnings=tuple(sys.intern(one[:_SHORT]) for one in digest.warnings[:_MOST_OBSERVATIONS]),
        ranks=_correct_ranks(digest, offset_s),
        stacks=_shorten_stacks(digest),
        position=None if progress is None else _keep_bounded(progress.position, 1e18),
        pace_s=None if progress is None else _positive(progress.pace_s),
        has_loss=progress is not None and progress.loss is not None,
        gpu_percent=None if telemetry is None else _keep_bounded(telemetry.gpu_percent, 1e4),
        clock_ratio=None if telemetry is None else _positive(telemetry.clock_ratio),
        stack_samples=() if telemetry is None else _shorten_counts(telemetry.stack_samples),
    )


def note_stamp(run: NodeRun, modified_at: float) -> NodeRun:
    """Return a run that lived when it wrote a digest, of which only the stamp is known."""
    stamp = _shift(modified_at, 0.0)
    is_later = run.has_stamps and stamp is not None and stamp > run.heard_at
    return replace(run, heard_at=stamp) if is_later else run


def _shorten_verdict(verdict: DigestVerdict) -> DigestVerdict:
    """Return a verdict with bounded texts; equal ones of many nodes take the memory of one."""
    confidence = _keep_bounded(verdict.confidence, 1.0)
    return replace(
        verdict,
        cause=sys.intern(verdict.cause[:_SHORT]),
        headline=sys.intern(verdict.headline[:_TEXT]),
        confidence=0.5 if confidence is None else max(0.0, confidence),
        secondary=tuple(sys.intern(one[:_SHORT]) for one in verdict.secondary[:8]),
        details=dict(list(verdict.details.items())[:40]),
        implies=sys.intern(verdict.implies[:1000]),
        cannot_decide=tuple(sys.intern(one[:_TEXT]) for one in verdict.cannot_decide[:4]),
        do=tuple(sys.intern(one[:_TEXT]) for one in verdict.do[:6]),
    )


def _correct_observations(digest: Digest, offset_s: float) -> tuple[DigestObservation, ...]:
    return tuple(
        replace(
            one,
            at=_shift(one.at, offset_s),
            cause=sys.intern(one.cause[:_SHORT]),
            text=sys.intern(one.text[:_TEXT]),
            source=sys.intern(one.source[:_SHORT]),
            rank=_index(one.rank, MOST_RANKS),
        )
        for one in digest.observations[:_MOST_OBSERVATIONS]
    )


def _correct_ranks(digest: Digest, offset_s: float) -> tuple[RankDigest, ...]:
    return tuple(
        replace(
            one,
            ended_at=_shift(one.ended_at, offset_s),
            sequence=_index(one.sequence, 1 << 62),
            completed=_index(one.completed, 1 << 62),
            pending=sys.intern(one.pending[:_SHORT]),
            gpu_percent=_keep_bounded(one.gpu_percent, 1e4),
            waits=_shorten_counts(one.waits),
        )
        for one in digest.ranks[:_MOST_RANKS_OF_NODE]
        if 0 <= one.rank < MOST_RANKS
    )


def _shorten_counts(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the counts of the parts of a time; none where one of them is absurd."""
    is_sound = len(counts) <= _MOST_PARTS and all(0 <= one <= _MOST_COUNT for one in counts)
    return counts if is_sound else ()


def _shorten_stacks(digest: Digest) -> tuple[StackGroupDigest, ...]:
    return tuple(
        StackGroupDigest(
            one.ranks[:_MOST_RANKS_OF_NODE],
            sys.intern(one.key[:_SHORT]),
            sys.intern(one.activity[:_SHORT]),
            sys.intern(one.place[:_TEXT]),
            sys.intern(one.waits_for[:_TEXT]),
        )
        for one in digest.stacks[:_MOST_GROUPS]
    )


def _shift(at: float | None, offset_s: float) -> float | None:
    """Return a time by the common clock, None for one that is not known, or no time."""
    found = _keep_bounded(at, _MOST_TIME)
    return None if found is None or found <= 0 else found - offset_s


def _keep_bounded(value: float | None, most: float) -> float | None:
    """Return a number, None for NaN and for one that is out of range."""
    return float(value) if value is not None and -most <= value <= most else None


def _positive(value: float | None) -> float | None:
    found = _keep_bounded(value, 1e9)
    return found if found is not None and found > 0 else None


def _index(value: int | None, most: int) -> int | None:
    return value if value is not None and 0 <= value <= most else None
