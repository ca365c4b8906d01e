"""Failures of the runs of a job: the cause of each, its time, and its kind.

A run that only lost a peer, that was stopped, or that was killed without a known reason may have
failed because another one did.  The other kinds are reasons of their own.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from enum import IntEnum

from gpualert_common.causes import CAUSES, GENERIC_CAUSES, NO_CAUSES, SLOW_CAUSES
from gpualert_common.jobs.digests.digest import DigestVerdict, RankDigest
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.model import Disposition
from gpualert_common.structs import Struct

TRAINING_CAUSES = frozenset(("nan_loss", "not_learning", "resume_from_scratch", "undertrained"))
"""Causes that the losses of the whole training show: rank 0 prints them."""
SCHEDULED_CAUSES = frozenset(("preempted", "requeued", "time_limit"))
STOPPED_CAUSES = SCHEDULED_CAUSES | {"cancelled"}
_LOST = frozenset(("collective", "rendezvous"))
_WEAK = GENERIC_CAUSES | {"cuda_runtime", "segfault", "network"}
"""Causes by which a program may also report a lost peer in words that no rule knows."""
_OWN_ENDS = frozenset(("left", "closed", "failed", "killed", "unknown"))
"""Ends of a rank before its peers lost it, as the verdict of its node names them."""
_BY_SIGNAL: dict[int, str] = {
    signal.SIGKILL: "killed_unknown",
    signal.SIGSEGV: "segfault",
    signal.SIGBUS: "segfault",
    signal.SIGILL: "segfault",
    signal.SIGFPE: "segfault",
}
_DOUBTED = 0.7
"""A stop that no record of Slurm explained when the run ended has less confidence than that."""
_AFTER_END_S = 5.0
"""A line may be printed, or its time noted, a little after the end of the run."""


class FailureKind(IntEnum):
    """Kind of a failure; of several at one time, the highest is the root cause."""

    LOST_PEER = 0
    """It reports that a peer is gone, or did not come."""
    STOPPED = 1
    """It was told to stop."""
    KILLED = 2
    """It was killed, and nothing says why."""
    HUNG = 3
    """It made no progress, and waited for no peer."""
    OWN_RANK = 4
    """One of its own ranks was the first to end."""
    WEAK = 5
    """An error that may be the answer of the program to a lost peer."""
    SPECIFIC = 6
    """An error with a known reason."""


class Failure(Struct, frozen=True, eq=False):
    """The failure of one run.

    ``at`` is its time by the common clock, ``error_s`` wrong at most.  ``rank`` is the rank of this
    run that failed, ``lost_rank`` the rank elsewhere that it names as lost.
    """

    run: NodeRun
    cause: str
    kind: FailureKind
    at: float
    error_s: float
    rank: int | None = None
    lost_rank: int | None = None
    is_provisional: bool = False

    @property
    def is_unexplained(self) -> bool:
        """True for an end that nothing explains: the node may also have lost a peer."""
        return self.cause in NO_CAUSES

    @property
    def is_recorded_stop(self) -> bool:
        """True for an end of the whole job in the records of Slurm, which its verdict names."""
        verdict = self.run.verdict
        is_named = verdict is not None and isinstance(verdict.details.get("job"), str)
        return is_named and self.cause in SCHEDULED_CAUSES

    @property
    def is_doubted_stop(self) -> bool:
        """True for a stop whose reason was not known when the run ended, as in a long grace."""
        verdict = self.run.verdict
        is_stop = self.kind is FailureKind.STOPPED and not self.is_recorded_stop
        return is_stop and verdict is not None and verdict.confidence < _DOUBTED

    @property
    def begins(self) -> float:
        """Earliest time at which it may have happened."""
        return self.at - self.error_s

    @property
    def ends(self) -> float:
        """Latest time at which it may have happened."""
        return self.at + self.error_s


def find_failure(run: NodeRun) -> Failure | None:
    """Return the failure of a run, None of one that is well as far as its digest shows."""
    verdict = run.verdict
    if run.is_ended and verdict is not None:
        return _find_in_verdict(run, verdict)
    return _find_in_ranks(run)


def has_good_end(run: NodeRun) -> bool:
    """Return whether a run completed, also if it was slow."""
    return (
        run.is_ended
        and run.verdict is not None
        and run.verdict.disposition is Disposition.COMPLETED
        and run.verdict.cause in NO_CAUSES | SLOW_CAUSES
    )


def _find_in_verdict(run: NodeRun, verdict: DigestVerdict) -> Failure | None:
    if has_good_end(run) or verdict.disposition is Disposition.RUNNING:
        return None
    named = _number(verdict.details.get("failed_rank"))
    own = {one.rank for one in run.ranks}
    is_own = named is not None and named in own
    kind = _kind_of(verdict, is_own=is_own)
    at, rank = _find_moment(run, verdict.cause, kind)
    if is_own or (named is not None and not own and kind > FailureKind.LOST_PEER):
        rank = named
    if rank is None and kind > FailureKind.HUNG:
        rank = _find_first_rank(run)
    lost = named if named is not None and own and not is_own else None
    return Failure(run, verdict.cause, kind, at, run.error_s, rank, lost)


def _kind_of(verdict: DigestVerdict, *, is_own: bool) -> FailureKind:
    cause = verdict.cause
    end = verdict.details.get("rank_end")
    if cause in _LOST and is_own and end in _OWN_ENDS:
        return FailureKind.OWN_RANK
    return _kind_of_cause(cause)


def _kind_of_cause(cause: str) -> FailureKind:
    if cause in _LOST or cause in NO_CAUSES:
        return FailureKind.LOST_PEER
    if cause in STOPPED_CAUSES:
        return FailureKind.STOPPED
    if cause == "killed_unknown":
        return FailureKind.KILLED
    if cause == "idle_hang":
        return FailureKind.HUNG
    return FailureKind.WEAK if cause in _WEAK else FailureKind.SPECIFIC


def _find_moment(run: NodeRun, cause: str, kind: FailureKind) -> tuple[float, int | None]:
    """Return time and rank of the first observation of a cause, else of the first bad end."""
    end = (run.ended_at or run.at) + _AFTER_END_S
    seen = [
        (one.at, one.rank)
        for one in run.observations
        if one.cause == cause
        and one.at is not None
        and one.at <= end
        and (kind is FailureKind.LOST_PEER or not one.is_cascade)
    ]
    if seen:
        at, rank = min(seen, key=lambda one: one[0])
        return at, rank
    bad = first_bad_end(run.ranks)
    if bad is not None and bad.ended_at is not None and kind is not FailureKind.STOPPED:
        return bad.ended_at, None if kind is FailureKind.LOST_PEER else bad.rank
    return run.ended_at or run.at, None


def _find_first_rank(run: NodeRun) -> int | None:
    """Return the rank that failed before all others of its node; None where two may have."""
    bad = first_bad_end(run.ranks)
    if bad is None or bad.ended_at is None:
        return None
    later = first_bad_end(one for one in run.ranks if one.rank != bad.rank)
    is_first = later is None or (later.ended_at or bad.ended_at) > bad.ended_at
    return bad.rank if is_first else None


def first_bad_end(ranks: Iterable[RankDigest]) -> RankDigest | None:
    """Return the rank that failed first; one that SIGTERM ended was stopped because of another."""
    bad = [one for one in ranks if one.code not in (None, 0, -signal.SIGTERM)]
    return min(bad, key=lambda one: (one.ended_at or float("inf"), one.rank), default=None)


def _find_in_ranks(run: NodeRun) -> Failure | None:
    """Return the failure that a digest without a verdict shows: a rank that ended badly."""
    bad = first_bad_end(run.ranks)
    if bad is None:
        return None
    at = bad.ended_at or run.at
    before = [
        (one.at, one)
        for one in run.observations
        if one.cause in CAUSES
        and not one.is_cascade
        and one.at is not None
        and one.at <= at + _AFTER_END_S
    ]
    if before:
        seen_at, first = min(before, key=lambda one: one[0])
        kind = _kind_of_cause(first.cause)
        rank = bad.rank if first.rank is None else first.rank
        return Failure(run, first.cause, kind, seen_at, run.error_s, rank, None, True)
    cause = _BY_SIGNAL.get(-(bad.code or 0), "unknown")
    kind = _kind_of_cause(cause)
    return Failure(run, cause, kind, at, run.error_s, bad.rank, None, True)


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 8:
        return int(value)
    return value if isinstance(value, int) and 0 <= value < 10_000_000 else None
