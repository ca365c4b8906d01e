"""Processes of a run that are to record a trace."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.procfs import read
from gpualert_common.processes.ranks import RankProcesses, find_leader_worker
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.structs import Struct, field

MOST_TARGETS = 256
_TORCH_LIBRARY = b"/libtorch"


class Targets(Struct, frozen=True):
    """Processes by their ranks, "rank:0", each pinned by a pidfd that :meth:`close` gives back.

    ``without_torch`` are the numbers of those that have not loaded PyTorch.
    """

    processes: dict[str, Process] = field(default_factory=dict)
    without_torch: frozenset[int] = frozenset()

    def close(self) -> None:
        """Close the pidfds."""
        for process in self.processes.values():
            process.close()


def find_targets(leader: int, marker: str, ranks: Sequence[int]) -> Targets:
    """Return the chosen ranks of a run.

    Without ranks it is the program that the leader runs, as "leader"; a worker of a data loader is
    no rank.  Raises OSError when descriptors ran out.
    """
    members = SampledTree(leader, marker).members()
    workers = RankProcesses().find_workers(members, most=MOST_TARGETS)
    if not workers:
        worker = find_leader_worker(leader, members)
        workers = {} if worker is None else {"leader": worker}
    found = {}
    for name, stat in workers.items():
        is_chosen = not ranks or _read_number(name) in ranks
        process = Process.open(stat.pid) if is_chosen else None
        if process is None:
            continue
        if process.start_ticks == stat.start_ticks:
            found[name] = process
        else:
            process.close()
    without = [one.pid for one in found.values() if has_torch(one.pid) is False]
    return Targets(found, frozenset(without))


def has_torch(pid: int) -> bool | None:
    """True for a process that has loaded PyTorch; None where that cannot be seen."""
    libraries = read(f"/proc/{pid}/maps")
    return _TORCH_LIBRARY in libraries if libraries else None


def _read_number(name: str) -> int:
    """Return the number of a rank; 0 for a run without ranks."""
    return int(name.rpartition(":")[2]) if ":" in name else 0
