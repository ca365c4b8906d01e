"""Failures that only one node of a job has, although all run the same program.

A module or a driver that is missing on one node only is the fault of that node, if the others got
past the same place: they trained, or waited for their peers.  Others that were stopped before may
have failed in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gpualert_common.jobs.merging.failures import FailureKind
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.roots import Root

_OF_NODE = frozenset(("missing_module", "dependency", "command_not_found", "cuda_environment"))
"""Causes in the software of a node: all ranks need the same modules, programs and drivers."""
_OF_FILES = frozenset(("file_not_found", "permission", "asset", "data", "filesystem_io"))
"""Causes in files: a rank may also have asked for another file than the others."""
_OF_LOAD = frozenset(("oom_killer", "host_oom", "disk_full", "shared_memory", "too_many_files"))
"""Causes in what the node has left: other programs on it use it, too."""


class NodeFault(StrEnum):
    """Relation of the root cause to the node that has it."""

    NONE = "none"
    NODE = "node"
    """The node lacks what the others have."""
    FILES = "files"
    """The node, or the file that this rank asked for."""
    LOAD = "load"
    """The node has less left than the others, or its ranks need more."""
    NOT_COMPARED = "not_compared"
    """The other nodes were stopped before they got to that place."""


def find_node_fault(root: Root, nodes: Sequence[JobNode]) -> NodeFault:
    """Return whether the root cause may be the fault of the one node that has it."""
    cause = root.failure.cause
    if root.is_shared or root.same or not cause:
        return NodeFault.NONE
    fault = (
        NodeFault.NODE
        if cause in _OF_NODE
        else NodeFault.FILES
        if cause in _OF_FILES
        else NodeFault.LOAD
        if cause in _OF_LOAD
        else NodeFault.NONE
    )
    others = [node for node in nodes if node.runs[0].place != root.failure.run.place]
    if fault is NodeFault.NONE or not others:
        return NodeFault.NONE
    if not any(_got_past(node, root.failure.at) for node in others):
        return NodeFault.NOT_COMPARED
    return fault


def _got_past(node: JobNode, at: float) -> bool:
    """Return whether a node passed the start of the program: it trained, or waited for peers."""
    if any((run.position or 0) > 0 for run in node.runs):
        return True
    if any(one.kind is FailureKind.LOST_PEER and one.cause != "unknown" for one in node.failures):
        return True
    return node.is_well and any(run.heard_at > at + 60 for run in node.runs)
