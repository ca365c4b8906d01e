"""The working processes of a run: its ranks, and the program that the leader runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpualert_common.processes.launchers import find_launcher
from gpualert_common.processes.procfs import (
    ProcessStat,
    await_environment,
    parse_environment,
    read_command,
)
from gpualert_common.processes.rank_variables import (
    is_count,
    read_rank_arguments,
    read_rank_variables,
)
from gpualert_common.shells import SHELLS
from gpualert_common.structs import Struct

MOST_RANKS = 64

_YOUNG_SAMPLES = 6
"""A launcher sets the rank between fork and exec, a script some time after its start."""
_LOCAL = "LOCAL_RANK"
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JAX_PROCESS_ID", _LOCAL)
_IDENTITY_VARIABLES = {
    "rank": ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JAX_PROCESS_ID"),
    "local_rank": ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    "local_world_size": ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
    "world_size": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "JAX_NUM_PROCESSES"),
    "visible_gpus": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "slurm_job": ("SLURM_JOB_ID",),
    "slurm_step": ("SLURM_STEP_ID",),
}
_MOST_VALUE_CHARS = 200
_WRAPPERS = SHELLS | frozenset(
    (
        "conda", "dumb-init", "env", "mamba", "ncu", "nice", "nsys", "numactl", "perf", "poetry",
        "stdbuf", "strace", "tee", "time", "timeout", "tini", "uv",
    )
)  # fmt: skip
"""Names of processes that only start the program that works."""


class _RankNames(Struct, frozen=True):
    """Names of the rank of a process, as "rank:0"; "" for none.

    ``has_local_rank`` says that a launcher gave it its number on this machine.
    """

    by_variable: str = ""
    by_argument: str = ""
    has_local_rank: bool = False


class RankProcesses:
    """Maps processes to ranks, sample after sample.

    All processes that a rank starts inherit its variables.  The rank is the first of them that is
    no wrapper; those that outlive it are none.  A launcher is no rank, although a scheduler may
    have given it the number of its machine as ``RANK``: those that it starts have ``LOCAL_RANK``.
    If no process has such variables, the arguments of the programs count.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], tuple[_RankNames, str, int]] = {}
        self._inner: set[tuple[tuple[int, int], str]] = set()

    def find_workers(
        self, members: Mapping[int, ProcessStat], most: int = MOST_RANKS
    ) -> dict[str, ProcessStat]:
        """Return the live working processes by rank: "rank:0", or "local_rank:0" if only that is
        known; the first *most* of them."""
        live = [one for one in members.values() if one.is_live]
        read_names = {one.pid: self._find_names(one) for one in live}
        names = {pid: one.by_variable for pid, one in read_names.items()}
        if not any(names.values()):
            names = {pid: one.by_argument for pid, one in read_names.items()}
        self._names = {
            (one.pid, one.start_ticks): self._names[one.pid, one.start_ticks] for one in live
        }
        for pid in _find_launchers(live, read_names):
            names[pid] = ""
        self._inner = {
            key
            for one in live
            if (key := (one.identity, names[one.pid])) in self._inner
            or _is_started_by_rank(one, members, names)
        }
        found: dict[str, ProcessStat] = {}
        for one in live:
            name = names[one.pid]
            if not name or (one.identity, name) in self._inner or _is_wrapper(one):
                continue
            if name not in found or found[name].rss_bytes < one.rss_bytes:
                found[name] = one
        ordered = sorted(found, key=lambda name: (len(name), name))
        return {name: found[name] for name in ordered[:most]}

    def _find_names(self, one: ProcessStat) -> _RankNames:
        """Return the rank of a process; read while it is young, and after an exec."""
        names, command, samples = self._names.get(one.identity, (_RankNames(), "", 0))
        if samples < _YOUNG_SAMPLES or command != one.name:
            given = _read_variables(one.pid)
            variables = read_rank_variables(given)
            program = read_command(one.pid)
            arguments = read_rank_arguments(program)
            names = (
                _RankNames()
                if find_launcher(program)
                else _RankNames(_parse_rank(variables), _parse_rank(arguments), _LOCAL in given)
            )
        self._names[one.identity] = (names, one.name, samples + 1)
        return names


def find_leader_worker(leader: int, members: Mapping[int, ProcessStat]) -> ProcessStat | None:
    """Return the leader, or the program that it runs if it is a wrapper; None once it has ended."""
    found = members.get(leader)
    while found is not None and _is_wrapper(found):
        below = [one for one in members.values() if one.parent == found.pid and one.is_live]
        if not below:
            break
        found = max(below, key=lambda one: one.rss_bytes)
    return found if found is not None and found.is_live else None


def read_identity(one: ProcessStat) -> dict[str, int | str]:
    """Return the identity of a process by its environment: number, name, ranks, visible GPUs, Slurm
    job."""
    environment = read_rank_variables(_read_variables(one.pid))
    if not _parse_rank(environment):
        environment |= read_rank_arguments(read_command(one.pid))
    identity: dict[str, int | str] = {"pid": one.pid, "name": one.name}
    for name, sources in _IDENTITY_VARIABLES.items():
        value = next((environment[source] for source in sources if source in environment), None)
        if value is not None:
            value = value[:_MOST_VALUE_CHARS]
            identity[name] = int(value) if is_count(value) and name != "visible_gpus" else value
    return identity


def _parse_rank(environment: Mapping[str, str]) -> str:
    for name in _RANK_VARIABLES:
        if is_count(environment.get(name, "")):
            return f"{'local_rank' if name == _LOCAL else 'rank'}:{int(environment[name])}"
    return ""


def _read_variables(pid: int) -> dict[str, str]:
    return parse_environment(await_environment(pid))


def _find_launchers(live: Sequence[ProcessStat], names: Mapping[int, _RankNames]) -> set[int]:
    """Return the processes without a local rank that have started one with it, and those that help
    them."""
    local = {one.pid for one in live if names[one.pid].has_local_rank}
    found = ({one.parent for one in live if one.pid in local} & names.keys()) - local
    return found | {one.pid for one in live if one.parent in found and one.pid not in local}


def _is_started_by_rank(
    one: ProcessStat, members: Mapping[int, ProcessStat], names: Mapping[int, str]
) -> bool:
    """Return whether a live process of the same rank, other than a wrapper, started a process."""
    above = members.get(one.parent)
    return above is not None and names.get(above.pid) == names[one.pid] and not _is_wrapper(above)


def _is_wrapper(one: ProcessStat) -> bool:
    return one.name in _WRAPPERS
