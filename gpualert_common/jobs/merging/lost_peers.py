"""The nodes that the others lost, where every node that failed only reports a lost peer.

A node that was last heard of before the first report is the lost one.  Else the ranks that the
reports name, the collectives, and the stacks show it, or it is the only rank of the job that
reported nothing.  A node that ended before all reports is the root, also if nothing explains its
end.  Several silent nodes at once may also be the fault of the network or of the store, which the
digests cannot tell apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from gpualert_common.jobs.job_report import NodeState
from gpualert_common.jobs.merging.failures import Failure, FailureKind, has_good_end
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.jobs.merging.rank_stalls import RankStall, find_stall
from gpualert_common.jobs.merging.roots import SAME_TIME_S, Root, order_by_time
from gpualert_common.processes.rank_names import read_ranges
from gpualert_common.structs import Struct

REPORTING_RANKS = "reporting_ranks"
"""Detail of the verdict of a node: its ranks that reported a lost peer."""

_SLACK_S = 2.0
_FEW_NODES, _FEW_SHARE = 4, 0.1
"""Machines fail one by one: where more nodes are silent at once, the store most probably failed for
them, and what the others report explains more."""


class LossKind(StrEnum):
    """Explanation of losses that no node's own failure explains."""

    SILENT_NODE = "silent_node"
    SILENT_NODES = "silent_nodes"
    MANY_SILENT = "many_silent"
    NEVER_STARTED = "never_started"
    SPLIT = "split"
    STALL = "stall"
    NO_REPORT = "no_report"
    NAMED_RANK = "named_rank"
    STILL_RUNNING = "still_running"
    COMPLETED = "completed"
    NONE = "none"


class Loss(Struct, frozen=True):
    """The explanation: nodes and ranks that the others lost, and how sure that is.

    ``parts`` are the two groups of nodes that lost each other.
    """

    kind: LossKind
    confidence: float
    nodes: tuple[JobNode, ...] = ()
    ranks: tuple[int, ...] = ()
    accusers: tuple[Failure, ...] = ()
    parts: tuple[tuple[JobNode, ...], ...] = ()
    stall: RankStall | None = None


def explain_losses(
    nodes: Sequence[JobNode], ranks: Mapping[int, JobNode], missing: int
) -> Loss | Root:
    """Return the explanation of the losses that the nodes report; ``missing`` nodes never did.

    It is a root where a node was the first to end, and in a job of one node whose ranks show no
    other one.
    """
    losses = [one for node in nodes for one in node.failures if one.kind is FailureKind.LOST_PEER]
    first = min((one.at for one in losses), default=None)
    named = [
        (one, ranks[one.lost_rank])
        for one in losses
        if one.lost_rank is not None and one.lost_rank in ranks
    ]
    stall = find_stall(nodes, first)
    silent = find_silent(nodes, losses)
    if silent and len(silent) <= max(_FEW_NODES, _FEW_SHARE * len(nodes)):
        return _explain_silence(silent, named)
    split = _find_split(named)
    if split is not None:
        return split
    if stall is not None and stall.ranks:
        culprits = _nodes_of(stall.ranks, ranks)
        confidence = 0.85 if stall.is_certain else 0.6
        return Loss(LossKind.STALL, confidence, culprits, stall.ranks, stall=stall)
    if silent:
        return Loss(LossKind.MANY_SILENT, 0.5, silent)
    if len(nodes) == 1 and not missing:
        return Root(losses[0])
    unexplained = _find_first_unexplained(losses)
    if unexplained is not None:
        return Root(unexplained)
    reports = [one for one in losses if not one.is_unexplained]
    found: Loss | None = None
    if reports:
        found = _find_unreported(reports, ranks) or _find_in_reports(reports, named, nodes, missing)
    return found or Loss(LossKind.NONE, 0.6, stall=stall)


def _find_in_reports(
    losses: Sequence[Failure],
    named: Sequence[tuple[Failure, JobNode]],
    nodes: Sequence[JobNode],
    missing: int,
) -> Loss | None:
    """Return the explanation by the ranks that are named, or by the nodes that did not fail."""
    if missing and any(one.cause == "rendezvous" for one in losses):
        return Loss(LossKind.NEVER_STARTED, 0.8)
    votes = Counter(node.title for _, node in named)
    if votes:
        title, count = max(votes.items(), key=lambda one: (one[1], one[0]))
        accusers = tuple(one for one, node in named if node.title == title)
        if 2 * count > len(named):
            found = next(node for _, node in named if node.title == title)
            lost = {one.lost_rank for one in accusers if one.lost_rank is not None}
            return Loss(LossKind.NAMED_RANK, 0.7, (found,), tuple(sorted(lost)), accusers)
    without = [one for one in nodes if not one.failures and one.state is not NodeState.ENDED]
    if len(without) == 1 and len(nodes) > 2:
        return Loss(LossKind.STILL_RUNNING, 0.6, tuple(without))
    completed = _find_completed(nodes, losses)
    if completed:
        return Loss(LossKind.COMPLETED, 0.6, completed)
    return Loss(LossKind.NEVER_STARTED, 0.5) if missing else None


def find_silent(nodes: Sequence[JobNode], losses: Sequence[Failure]) -> tuple[JobNode, ...]:
    """Return the nodes without an end or a failure that were last heard of before the others lost
    a peer."""
    if not losses:
        return tuple(node for node in nodes if node.state is NodeState.SILENT)
    limit = min(one.ends for one in losses) + _SLACK_S
    return tuple(
        node
        for node in nodes
        if not node.failures
        and (node.state is NodeState.SILENT or node.is_overdue)
        and node.heard_at <= limit + max(run.interval_s for run in node.runs)
    )


def _explain_silence(silent: tuple[JobNode, ...], named: Sequence[tuple[Failure, JobNode]]) -> Loss:
    titles = {node.title for node in silent}
    accusers = tuple(one for one, node in named if node.title in titles)
    accused = {node.title for _, node in named if node.title in titles}
    if len(silent) == 1:
        is_sure = silent[0].state is NodeState.SILENT
        confidence = 0.92 if is_sure and accusers else 0.85 if is_sure else 0.7
        return Loss(LossKind.SILENT_NODE, confidence, silent, silent[0].ranks, accusers)
    if len(accused) == 1:
        one = tuple(node for node in silent if node.title in accused)
        return Loss(LossKind.SILENT_NODE, 0.7, one, one[0].ranks, accusers)
    ranks = tuple(sorted(rank for node in silent for rank in node.ranks))
    return Loss(LossKind.SILENT_NODES, 0.6, silent, ranks, accusers)


def _find_split(named: Sequence[tuple[Failure, JobNode]]) -> Loss | None:
    """Return the split of the network: nodes of two parts that each name ranks of the other."""
    pairs = {(one.run.place, node.runs[0].place) for one, node in named}
    mutual = {pair for pair in pairs if pair[::-1] in pairs and pair[0] != pair[1]}
    if not mutual:
        return None
    nodes = {node.runs[0].place: node for _, node in named}
    first = min((pair for pair in mutual), key=str)[0]
    others = {accused for accuser, accused in pairs if accuser == first}
    mine = {accuser for accuser, accused in pairs if accused in others} - others
    parts = tuple(
        tuple(nodes[place] for place in sorted(part, key=str) if place in nodes)
        for part in (mine, others)
    )
    if not all(parts):
        return None
    accusers = tuple(one for one, _ in named)
    return Loss(LossKind.SPLIT, 0.7, accusers=accusers, parts=parts)


def _find_first_unexplained(losses: Sequence[Failure]) -> Failure | None:
    """Return the first end of a node, if nothing explains it and it comes before all others."""
    first = order_by_time(losses)[0]
    others = [one for one in losses if one.run.place != first.run.place]
    is_first = all(first.ends + SAME_TIME_S < one.begins for one in others)
    return first if first.is_unexplained and is_first else None


def _find_completed(nodes: Sequence[JobNode], losses: Sequence[Failure]) -> tuple[JobNode, ...]:
    """Return the nodes that had completed before the others lost a peer."""
    limit = min(one.ends for one in losses) + SAME_TIME_S
    return tuple(
        node
        for node in nodes
        if all(has_good_end(run) and (run.ended_at or run.at) <= limit for run in node.runs)
    )


def _find_unreported(losses: Sequence[Failure], ranks: Mapping[int, JobNode]) -> Loss | None:
    """Return the only rank of the job that reported no lost peer."""
    sizes = {one.run.world_size for one in losses}
    reported = {rank for one in losses for rank in _list_reported(one.run)}
    size = next(iter(sizes)) if len(sizes) == 1 else None
    if size is None or len(reported) != size - 1:
        return None
    silent = [rank for rank in range(size) if rank not in reported]
    if len(silent) != 1 or silent[0] not in ranks:
        return None
    return Loss(LossKind.NO_REPORT, 0.75, (ranks[silent[0]],), (silent[0],))


def _list_reported(run: NodeRun) -> list[int]:
    """Return the ranks of a run that reported a lost peer, as far as that is known of each."""
    text = run.verdict.details.get(REPORTING_RANKS) if run.verdict is not None else None
    ranges = read_ranges(text) if isinstance(text, str) else None
    return [
        one.rank for one in run.ranks if any(low <= one.rank <= high for low, high in ranges or ())
    ]


def _nodes_of(found: Sequence[int], ranks: Mapping[int, JobNode]) -> tuple[JobNode, ...]:
    nodes = {ranks[rank].title: ranks[rank] for rank in found if rank in ranks}
    return tuple(nodes.values())
