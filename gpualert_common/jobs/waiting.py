"""The time to wait for the digests of other nodes, before the cause of a job's failure is final."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.jobs.failures import FailureKind
from gpualert_common.jobs.job_nodes import JobNode
from gpualert_common.jobs.job_report import NodeState
from gpualert_common.jobs.roots import Root

MOST_WAIT_S = 300.0
"""People wait for the alert.  A node that vanished is silent by then: its digest is renewed every
two minutes at most."""
_ROOT_S = 5.0
"""A node that failed at the same moment has its verdict, and its digest stored, within seconds."""
_WEAK_ROOT_S = 20.0
"""An error that may be the answer to a lost peer: the node that was lost may need longer, for the
log of a large traceback or a core dump."""
_STOPPED_S = 30.0
"""Launchers stop the remaining ranks within 30 seconds; after that, all nodes have ended."""
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
        return now if is_complete else last_heard + _ROOT_S
    if all(node.state is NodeState.ENDED for node in nodes) and is_complete:
        return now
    bound = min(failed) + MOST_WAIT_S
    if root is not None and not root.failure.is_provisional:
        kind = root.failure.kind
        wait_s = _STOPPED_S if root.rivals else _OF_KIND.get(kind, _STOPPED_S)
        bound = min(bound, root.failure.run.heard_at + wait_s)
    if is_over:
        is_missing = expected is not None and len(nodes) < expected
        bound = min(bound, last_heard + (_MISSING_S if is_missing else _ROOT_S))
    return bound
