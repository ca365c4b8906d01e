"""The root of the failure of a job: the earliest failure that needs no other one to explain it.

Clocks and times of log lines are only known within an error.  Of failures that may have happened
at the same time, the one with the better known reason is the root, and the others are its rivals.
A bare kill or a stop after the first report of a lost peer is a consequence: launchers stop what is
left.  The same error of the program on most of the nodes is no failure of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpualert_common.causes import GENERIC_CAUSES
from gpualert_common.jobs.digests.digest import DigestVerdict
from gpualert_common.jobs.merging.failures import (
    SCHEDULED_CAUSES,
    TRAINING_CAUSES,
    Failure,
    FailureKind,
)
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.structs import Struct, replace

SAME_TIME_S = 0.5
"""Times of log lines are those of the arrival of their blocks: two are ordered from here on."""
_MOST_ONE_CAUSE_S = 600.0
"""Time within which one cause on many nodes is one event, such as a stop by the scheduler."""
_STOP_SPREAD_S = 30.0
"""Time within which a stop by the scheduler reaches all nodes, and those that ignore SIGTERM."""
_SHARED_PART = 0.5
"""From this part of the failed nodes on, one cause is not the fault of one of them."""


class Root(Struct, frozen=True):
    """The first failure of a job.

    ``same`` are failures of other runs by the same cause.  ``is_shared`` says that most nodes have
    it.  ``rivals`` are those of other nodes that may have happened earlier.
    """

    failure: Failure
    same: tuple[Failure, ...] = ()
    is_shared: bool = False
    rivals: tuple[Failure, ...] = ()


def find_root(nodes: Sequence[JobNode]) -> Root | None:
    """Return the root; None where no node failed, or where all only lost a peer."""
    failures = _choose_losses([one for node in nodes for one in node.failures], nodes)
    causes = [one for one in failures if one.kind > FailureKind.LOST_PEER]
    losses = [one for one in failures if one.kind is FailureKind.LOST_PEER]
    losses.sort(key=lambda one: one.ends)
    causes = [one for one in causes if not _follows_loss(one, losses)]
    if not causes:
        return None
    # A node cannot be first because its clock is badly known: the limit is the earliest end.
    limit = min(one.ends for one in causes) + SAME_TIME_S
    at_once = [one for one in causes if one.begins <= limit]
    chosen = min(at_once, key=lambda one: (-one.kind, one.at, one.run.run_id))
    chosen = _find_stop(chosen, causes, failures)
    same = {one for one in failures if one.run is not chosen.run and _is_same(one, chosen)}
    places = {one.run.place for one in (*same, chosen)}
    failed = [node for node in nodes if node.failures]
    is_shared = len(places) > 1 and len(places) >= _SHARED_PART * len(failed)
    is_shared |= chosen.is_recorded_stop and len(failed) > 1
    mine = chosen.run.place
    rivals = [
        one
        for one in at_once
        if one.run.place != mine and one not in same and one.kind >= FailureKind.KILLED
    ]
    rivals = [] if is_shared else rivals
    return Root(chosen, tuple(order_by_time(same)), is_shared, tuple(rivals))


def _find_stop(chosen: Failure, causes: Iterable[Failure], failures: Iterable[Failure]) -> Failure:
    """Return the stop by the scheduler that a node reports as a signal from an unknown sender.

    Slurm may send the signal minutes before it ends the job: only the nodes that end last find the
    reason in its records.
    """
    if chosen.kind is not FailureKind.STOPPED or chosen.is_recorded_stop:
        return chosen
    recorded = [
        one for one in failures if one.is_recorded_stop and one.at <= chosen.at + _MOST_ONE_CAUSE_S
    ]
    if recorded:
        known = min(recorded, key=lambda one: (one.at, one.run.run_id))
        return replace(known, at=min(chosen.at, known.at), error_s=chosen.error_s)
    if chosen.cause in SCHEDULED_CAUSES:
        return chosen
    named = [
        one
        for one in causes
        if one.cause in SCHEDULED_CAUSES and one.at <= chosen.at + _STOP_SPREAD_S
    ]
    return min(named, key=lambda one: (one.at, one.run.run_id), default=chosen)


def order_by_time(failures: Iterable[Failure]) -> list[Failure]:
    """Return failures, the earliest first."""
    return sorted(failures, key=lambda one: (one.at, one.run.run_id))


def _choose_losses(failures: list[Failure], nodes: Sequence[JobNode]) -> list[Failure]:
    """Return the failures without verdicts on the training by nodes that do not print its losses.

    The node of rank 0 does.  Where it prints none, the first node that has losses counts.
    """
    if not any(one.cause in TRAINING_CAUSES for one in failures):
        return failures
    order = sorted(nodes, key=_distance_to_rank_0)
    witness = next((node for node in order if any(run.has_loss for run in node.runs)), order[0])
    places = {run.run_id for run in witness.runs}
    seen_there = {one.cause for one in failures if one.run.run_id in places}
    return [
        one
        for one in failures
        if one.cause not in TRAINING_CAUSES or one.run.run_id in places or one.cause in seen_there
    ]


def _distance_to_rank_0(node: JobNode) -> tuple[int, int]:
    index = node.runs[0].node
    lowest = min(node.ranks, default=None)
    return (1 << 40 if lowest is None else lowest, 1 << 40 if index is None else index)


def _follows_loss(one: Failure, losses: Sequence[Failure]) -> bool:
    """Return whether a kill or a stop came after another node had reported a lost peer.

    The losses are in the order of their ends.
    """
    if one.kind > FailureKind.KILLED:
        return False
    first = next((loss for loss in losses if loss.run.place != one.run.place), None)
    return first is not None and first.ends + SAME_TIME_S < one.begins


def _is_same(one: Failure, chosen: Failure) -> bool:
    """Return whether a failure has the cause of the chosen one, and is none of its consequences.

    A program may report a lost peer by the same type of exception: its text has to agree, too.
    """
    if chosen.is_recorded_stop and one.is_doubted_stop:
        return one.at <= chosen.at + _MOST_ONE_CAUSE_S
    if one.cause != chosen.cause or abs(one.at - chosen.at) > _MOST_ONE_CAUSE_S:
        return False
    if one.cause in GENERIC_CAUSES:
        return _reason_of(one.run.verdict) == _reason_of(chosen.run.verdict)
    return one.kind is not FailureKind.LOST_PEER


def _reason_of(verdict: DigestVerdict | None) -> str:
    """Return the reason that a verdict gives, without numbers: ranks and addresses differ."""
    if verdict is None:
        return ""
    message = verdict.details.get("message")
    text = message if isinstance(message, str) and message else verdict.headline
    return "".join(char for char in text if not char.isdigit())
