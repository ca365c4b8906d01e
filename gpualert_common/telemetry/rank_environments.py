"""Environments of the ranks of a run on this machine, found again from time to time."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpualert_common.processes.procfs import await_environment, parse_environment, read_cwd
from gpualert_common.processes.ranks import RankProcesses
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.structs import Struct, field
from gpualert_common.telemetry.source import ObservedRun

_MOST_RANKS = 256
_SEARCHED_FIRST = 12
"""Samples of the first minute, in which a launcher starts its ranks."""
_SEARCHED_EVERY = 12
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class RankEnvironment(Struct, frozen=True):
    """One rank: its process, the user of it, its working directory and its variables."""

    rank: int
    pid: int
    uid: int
    cwd: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def world_size(self) -> int | None:
        """Number of ranks of the job; None where no variable has it."""
        return _find_number(self.variables, _SIZE_VARIABLES)

    @property
    def local_ranks(self) -> frozenset[int]:
        """The ranks of this machine, as the launcher announced them; at least this one."""
        local = _find_number(self.variables, ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"))
        size = _find_number(self.variables, ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"))
        if local is None or size is None or size > _MOST_RANKS:
            return frozenset((self.rank,))
        return frozenset(range(self.rank - local, self.rank - local + size))


class RankEnvironments:
    """Finds the ranks of a run.  A rank that has ended stays known."""

    def __init__(self, run: ObservedRun) -> None:
        self._tree = SampledTree(run.pid, run.marker)
        self._processes = RankProcesses()
        self._found: dict[int, RankEnvironment] = {}
        self._samples = 0

    def update(self) -> Mapping[int, RankEnvironment]:
        """Return all ranks that are known by now: cheap in most samples."""
        self._samples += 1
        is_early = self._samples <= _SEARCHED_FIRST
        if is_early or self._samples % _SEARCHED_EVERY == 0:
            self._search()
        return self._found

    def _search(self) -> None:
        workers = self._processes.find_workers(self._tree.members(), _MOST_RANKS)
        for one in workers.values():
            if any(known.pid == one.pid for known in self._found.values()):
                continue
            variables = parse_environment(await_environment(one.pid))
            rank = _find_number(variables, _RANK_VARIABLES)
            if rank is not None:
                uid = _read_uid(one.pid)
                self._found[rank] = RankEnvironment(
                    rank, one.pid, uid, read_cwd(one.pid), variables
                )


def _find_number(variables: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    value = next((variables[name] for name in names if name in variables), "")
    return int(value) if value.isdecimal() and len(value) < 10 else None


def _read_uid(pid: int) -> int:
    """Return the user of a process; the own one if it has just ended."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return os.getuid()
