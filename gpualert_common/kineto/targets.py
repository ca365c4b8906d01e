"""Processes of a run that are to record a trace."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from gpualert_common.processes.launchers import find_launcher
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.procfs import ProcessStat, read, read_command
from gpualert_common.processes.ranks import RankProcesses, find_leader_worker
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.structs import Struct, field

MOST_TARGETS = 256
_TORCH_LIBRARY = b"/libtorch"


class Targets(Struct, frozen=True):
    """Processes by their ranks, "rank:0", each pinned by a pidfd that :meth:`close` gives back.

    ``without_torch`` are the numbers of those that have not loaded PyTorch, ``missing`` the ranks
    that were chosen and are not there.
    """

    processes: dict[str, Process] = field(default_factory=dict)
    without_torch: frozenset[int] = frozenset()
    missing: tuple[int, ...] = ()

    def close(self) -> None:
        """Close the pidfds."""
        for process in self.processes.values():
            process.close()


def find_targets(
    leader: int | None, marker: str, ranks: Sequence[int], askers: Container[int] = ()
) -> Targets:
    """Return the chosen ranks of a run; ``askers`` are the processes that ask for a configuration.

    Without ranks it is the program that the leader runs, as "leader"; a worker of a data loader is
    no rank.  ``leader`` is None once it has ended.  Raises OSError when descriptors ran out.
    """
    members = SampledTree(leader, marker).members()
    workers = RankProcesses().find_workers(members, most=MOST_TARGETS)
    if not workers:
        worker = _find_program(leader, members, askers)
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
    numbers = {_read_number(name) for name in found}
    missing = [one for one in ranks if one not in numbers][:MOST_TARGETS]
    return Targets(found, frozenset(without), tuple(missing))


def _find_program(
    leader: int | None, members: Mapping[int, ProcessStat], askers: Container[int]
) -> ProcessStat | None:
    """Return the program of a run without ranks: the leader's, or one that a launcher started.

    A launcher may ask, too, as it may import PyTorch.  Of those that ask, the first that is no
    launcher is no worker of a data loader, which its program starts.
    """
    worker = None if leader is None else find_leader_worker(leader, members)
    programs = [
        one
        for one in members.values()
        if one.is_live and one.pid in askers and not find_launcher(read_command(one.pid))
    ]
    if worker in programs:
        return worker
    return min(programs, key=lambda one: (one.start_ticks, one.pid), default=worker)


def has_torch(pid: int) -> bool | None:
    """True for a process that has loaded PyTorch; None where that cannot be seen."""
    libraries = read(f"/proc/{pid}/maps")
    return _TORCH_LIBRARY in libraries if libraries else None


def _read_number(name: str) -> int:
    """Return the number of a rank; 0 for a run without ranks."""
    return int(name.rpartition(":")[2]) if ":" in name else 0
