"""Nodes of a job: the runs of one attempt by the node that they are on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.jobs.job_report import NodeState
from gpualert_common.jobs.merging.failures import Failure, find_failure, has_good_end
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.jobs.merging.silence import LOST_INTERVALS, is_silent
from gpualert_common.structs import Struct, replace


class JobNode(Struct, frozen=True, eq=False):
    """One node with its runs: one for the whole node, or one for each of its tasks.

    ``failures`` are those of its runs, the earliest first.  ``is_overdue`` says that its digest is
    late; it may not yet be late enough to be silent.
    """

    title: str
    runs: tuple[NodeRun, ...]
    failures: tuple[Failure, ...]
    state: NodeState
    is_overdue: bool

    @property
    def main_run(self) -> NodeRun:
        """The run that stands for the node: the one that failed first, else the first one."""
        return self.failures[0].run if self.failures else self.runs[0]

    @property
    def ranks(self) -> tuple[int, ...]:
        """World ranks on the node, as far as its digests name them."""
        return tuple(sorted({one.rank for run in self.runs for one in run.ranks}))

    @property
    def heard_at(self) -> float:
        """Time of its last sign of life by the clock of the store."""
        return max(run.heard_at for run in self.runs)

    @property
    def is_well(self) -> bool:
        """True for a node without a failure: it completed, or still runs."""
        done = all(map(has_good_end, self.runs))
        return not self.failures and (done or self.state is NodeState.RUNNING)


def group_nodes(runs: Iterable[NodeRun], now: float) -> list[JobNode]:
    """Return the nodes of an attempt, in the order of their indexes and names."""
    by_place: dict[int | str, list[NodeRun]] = defaultdict(list)
    for run in _drop_shared_indexes(list(runs)):
        by_place[run.place].append(run)
    hosts = Counter(members[0].host for members in by_place.values())
    places = sorted(by_place, key=lambda one: (isinstance(one, str), one))
    return [
        _make_node(by_place[place], now, is_unique=hosts[by_place[place][0].host] == 1)
        for place in places
    ]


def _drop_shared_indexes(runs: Sequence[NodeRun]) -> Iterator[NodeRun]:
    """Yield runs without indexes that several hosts have, as the parts of separate allocations."""
    hosts: dict[int | None, set[str]] = defaultdict(set)
    for run in runs:
        hosts[run.node].add(run.host)
    for run in runs:
        is_shared = run.node is not None and len(hosts[run.node]) > 1
        yield replace(run, node=None) if is_shared else run


def map_ranks(nodes: Sequence[JobNode]) -> Mapping[int, JobNode]:
    """Return the node of each world rank.

    Where only some nodes name their ranks, the others follow from equal numbers of ranks on all.
    """
    found = {rank: node for node in nodes for rank in node.ranks}
    sizes = {run.world_size for node in nodes for run in node.runs} - {None}
    counts = {run.nodes for node in nodes for run in node.runs} - {None}
    if len(sizes) == 1 and len(counts) == 1:
        size, count = sizes.pop() or 0, counts.pop() or 0
        each = size // count if count and size % count == 0 else 0
        for node in nodes:
            index = node.runs[0].node
            if index is not None and not node.ranks:
                for rank in range(index * each, min(size, (index + 1) * each)):
                    found.setdefault(rank, node)
    return found


def _make_node(runs: Sequence[NodeRun], now: float, *, is_unique: bool) -> JobNode:
    failures = [one for run in runs if (one := find_failure(run)) is not None]
    open_runs = [run for run in runs if not run.is_ended]
    if not open_runs:
        state = NodeState.ENDED
    elif all(is_silent(run, now) for run in open_runs):
        state = NodeState.SILENT
    else:
        state = NodeState.RUNNING
    first = runs[0]
    title = first.host if is_unique or first.node is None else f"{first.host} (node {first.node})"
    return JobNode(
        title,
        tuple(runs),
        tuple(sorted(failures, key=lambda one: (one.at, -one.kind, one.run.run_id))),
        state,
        bool(open_runs) and all(is_silent(run, now, LOST_INTERVALS) for run in open_runs),
    )
