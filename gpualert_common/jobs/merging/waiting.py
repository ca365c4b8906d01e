"""The time to wait for the digests of other nodes, before the cause of a job's failure is final."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.jobs.job_report import NodeState
from gpualert_common.jobs.merging.failures import FailureKind
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.roots import Root

MOST_WAIT_S = 300.0
"""People wait for the alert.  A node that vanished is silent by then: its digest is renewed every
two minutes at most."""
_ROOT_S = 4.0
"""A node that failed at the same moment has its verdict, and its digest stored, within seconds."""
_WEAK_ROOT_S = 20.0
"""An error that may be the answer to a lost peer: the node that was lost may need longer, for the
log of a large traceback or a core dump."""
_START_S = 10.0
"""Before the training, the same mistake shows on all nodes, each as soon as it has loaded its
modules: while it shows on one node after the other, it is not the fault of the first one."""
_STOPPED_S = 30.0
"""Launchers stop the remaining ranks within 30 seconds; after that, all nodes have ended."""
_SEVERAL_S = 120.0
"""Of several absent nodes, those that only cannot reach the store are heard of within minutes."""
_MISSING_S = 30.0
"""A node without a digest at the time of the failure, but started with the others, has one then."""
_OF_KIND = {
    FailureKind.SPECIFIC: _ROOT_S,
    FailureKind.WEAK: _WEAK_ROOT_S,
    FailureKind.OWN_RANK: _WEAK_ROOT_S,
}


def find_due_time(
    nodes: Sequence[JobNode], expected: int | None, root: Root | None, now: float
) -> float:
    """Return the time from which no digest is expected to change the cause; 0 while all is well.

    A past time, also ``now``, says that the cause is final.
    """
    is_complete = expected is not None and len(nodes) >= expected
    is_over = all(node.state is not NodeState.RUNNING or node.is_overdue for node in nodes)
    last_heard = max(node.heard_at for node in nodes)
    failed = [run.heard_at for node in nodes for run in (one.run for one in node.failures)]
    if not failed:
        if not is_over or (all(node.state is NodeState.SILENT for node in nodes)):
            return 0.0
        is_complete = is_complete and all(node.state is NodeState.ENDED for node in nodes)
        return now if is_complete else last_heard + MOST_WAIT_S
    if all(node.state is NodeState.ENDED for node in nodes) and is_complete:
        return now
    bound = min(failed) + MOST_WAIT_S
    silent = [node for node in nodes if node.state is not NodeState.ENDED and node.is_overdue]
    is_weak = root is None or root.failure.kind < FailureKind.HUNG
    is_stop = root is not None and _is_stop_from_elsewhere(root)
    if is_weak and len(silent) > (0 if is_stop else 1):
        return bound  # these nodes had reached the store before: one of them may have the cause
    if len(silent) > len(nodes) / 2:  # the store failed, and its nodes come back one by one
        return min(bound, min(failed) + _SEVERAL_S)
    absent = len(silent) + max(0, (expected or 0) - len(nodes))
    may_return = is_weak and absent > 1
    if root is not None and not root.failure.is_provisional:
        kind = root.failure.kind
        wait_s = _STOPPED_S if root.rivals else _OF_KIND.get(kind, _STOPPED_S)
        wait_s = _SEVERAL_S if may_return else wait_s
        if is_stop:  # a node that ends later may know the reason
            wait_s = MOST_WAIT_S
        heard_at = root.failure.run.heard_at
        if kind is FailureKind.SPECIFIC and not _has_trained(nodes):
            wait_s = _START_S
            heard_at = max(one.run.heard_at for one in (root.failure, *root.same))
        bound = min(bound, heard_at + wait_s)
    if is_over:
        least = 2 if root is None else 1  # a node that only lost a peer had one
        is_missing = len(nodes) < (expected or least)
        wait_s = _MISSING_S if is_missing else _ROOT_S
        wait_s = _SEVERAL_S if may_return else wait_s
        bound = min(bound, last_heard + wait_s)
    return bound


def _is_stop_from_elsewhere(root: Root) -> bool:
    """Return whether several nodes were stopped or killed, or one was, and nothing says why."""
    failure = root.failure
    is_stop = failure.kind in (FailureKind.STOPPED, FailureKind.KILLED)
    is_known = failure.is_recorded_stop or not (root.same or failure.is_doubted_stop)
    return is_stop and not is_known


def _has_trained(nodes: Sequence[JobNode]) -> bool:
    """Return whether a node has made a step."""
    return any(run.position for node in nodes for run in node.runs)
