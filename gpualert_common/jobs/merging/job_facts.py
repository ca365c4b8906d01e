"""Facts about one attempt of a job from all its digests: nodes, root, losses, stragglers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.causes import SLOW_CAUSES
from gpualert_common.jobs.job_report import JobState, NodeState
from gpualert_common.jobs.merging.attempts import count_nodes
from gpualert_common.jobs.merging.failures import FailureKind
from gpualert_common.jobs.merging.job_nodes import JobNode, group_nodes, map_ranks
from gpualert_common.jobs.merging.lost_peers import Loss, explain_losses, find_silent
from gpualert_common.jobs.merging.node_faults import NodeFault, find_node_fault
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.jobs.merging.rank_stalls import RankStall, find_stall
from gpualert_common.jobs.merging.roots import Root, find_root
from gpualert_common.jobs.merging.stragglers import Straggler, find_straggler
from gpualert_common.structs import Struct

_HANGS = frozenset(("idle_hang", "time_limit"))
"""Causes of an end that the ranks which the others wait for may explain."""


_HANG_WARNINGS = frozenset(("hung", "log_silent", "gpu_idle"))
"""Warnings of a run in progress that its stacks may explain."""


class JobFacts(Struct, frozen=True, kw_only=True):
    """One attempt of a job.

    ``missing`` are the indexes of expected nodes without a digest, ``missing_count`` their number.
    ``loss`` explains nodes that lost a peer, where there is no ``root``; ``silent`` are those whose
    digests are overdue.
    """

    nodes: tuple[JobNode, ...]
    ranks: Mapping[int, JobNode]
    state: JobState
    expected: int | None
    missing: tuple[int, ...]
    missing_count: int
    silent: tuple[JobNode, ...]
    root: Root | None
    fault: NodeFault
    loss: Loss | None
    stall: RankStall | None
    straggler: Straggler | None

    @property
    def failed(self) -> tuple[JobNode, ...]:
        """Nodes with a failure."""
        return tuple(node for node in self.nodes if node.failures)

    @property
    def node_count(self) -> int:
        """Number of nodes, as far as it is known."""
        return max(self.expected or 0, len(self.nodes))


def collect_facts(runs: Sequence[NodeRun], now: float) -> JobFacts:
    """Return the facts about the attempt that has these runs, at the time ``now``."""
    nodes = tuple(group_nodes(runs, now))
    ranks = map_ranks(nodes)
    expected = count_nodes(runs)
    indexes = {run.node for run in runs} - {None}
    missing = tuple(one for one in range(expected or 0) if one not in indexes) if indexes else ()
    missing_count = max(0, (expected or 0) - len(nodes))
    missing = missing if len(missing) == missing_count else ()
    root = find_root(nodes)
    losses = [one for node in nodes for one in node.failures if one.kind is FailureKind.LOST_PEER]
    loss: Loss | None = None
    if root is None and losses:
        found = explain_losses(nodes, ranks, missing_count)
        root, loss = (found, None) if isinstance(found, Root) else (None, found)
    is_hang = root is not None and root.failure.cause in _HANGS
    is_raised = any(not _HANG_WARNINGS.isdisjoint(run.warnings) for run in runs)
    since = 0.0 if is_raised and root is None and not losses else None
    return JobFacts(
        nodes=nodes,
        ranks=ranks,
        state=_find_state(nodes),
        expected=expected,
        missing=missing,
        missing_count=missing_count,
        silent=find_silent(nodes, ()),
        root=root,
        fault=NodeFault.NONE if root is None else find_node_fault(root, nodes),
        loss=loss,
        stall=find_stall(nodes, since)
        if is_hang or is_raised
        else None
        if loss is None
        else loss.stall,
        straggler=find_straggler(nodes) if _has_no_failure(nodes) else None,
    )


def _has_no_failure(nodes: Sequence[JobNode]) -> bool:
    """Return whether all nodes run, completed, or were stopped: all ranks worked to the end."""
    return all(one.kind is FailureKind.STOPPED for node in nodes for one in node.failures)


def _find_state(nodes: Sequence[JobNode]) -> JobState:
    has_failed = any(node.failures for node in nodes)
    if any(node.state is NodeState.RUNNING for node in nodes):
        return JobState.FAILING if has_failed else JobState.RUNNING
    if any(node.state is NodeState.ENDED for node in nodes):
        return JobState.ENDED
    return JobState.FAILING if has_failed else JobState.RUNNING


def find_slow_cause(nodes: Sequence[JobNode]) -> JobNode | None:
    """Return the first node whose own verdict names the cause of a slow training."""
    for node in nodes:
        verdict = node.runs[0].verdict
        if verdict is not None and verdict.cause in SLOW_CAUSES:
            return node
    return None
