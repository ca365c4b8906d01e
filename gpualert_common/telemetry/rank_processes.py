"""Which processes of a run do its work: the ranks, and what the leader runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.processes.procfs import ProcessStat, parse_environment, read
from gpualert_common.shells import SHELLS
from gpualert_common.telemetry.cgroups import MEMBERSHIP, cgroup_location

MOST_RANKS = 64

_YOUNG_LOOKS = 6
"""A launcher sets the rank between fork and exec, a script some time after it began."""
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK")
_TOLD = {
    "rank": ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
    "local_rank": ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    "world_size": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    "visible_gpus": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "slurm_job": ("SLURM_JOB_ID",),
    "slurm_step": ("SLURM_STEP_ID",),
}
_MOST_TOLD_CHARS = 200
_WRAPPERS = SHELLS | frozenset(
    (
        "conda", "dumb-init", "env", "mamba", "ncu", "nice", "nsys", "numactl", "perf", "poetry",
        "stdbuf", "strace", "tee", "time", "timeout", "tini", "uv",
    )
)  # fmt: skip
"""By the names of their processes: what starts the program that works, and does nothing else."""


class RankProcesses:
    """Tells, look after look, which process is which rank.

    All that a rank starts inherits its variables: the rank is the first of them that is no wrapper.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], tuple[str, str, int]] = {}

    def among(self, members: Mapping[int, ProcessStat]) -> dict[str, ProcessStat]:
        """Live processes by what they are: "rank:0", or "local_rank:0" where that is all."""
        live = [one for one in members.values() if one.is_live]
        names = {one.pid: self._name_of(one) for one in live}
        self._names = {
            (one.pid, one.start_ticks): self._names[one.pid, one.start_ticks] for one in live
        }
        found: dict[str, ProcessStat] = {}
        for one in live:
            name = names[one.pid]
            above = members.get(one.parent)
            inner = above is not None and names.get(above.pid) == name and not _is_wrapper(above)
            if not name or inner or _is_wrapper(one):
                continue
            if name not in found or found[name].rss_bytes < one.rss_bytes:
                found[name] = one
        ordered = sorted(found, key=lambda name: (len(name), name))
        return {name: found[name] for name in ordered[:MOST_RANKS]}

    def _name_of(self, one: ProcessStat) -> str:
        """What rank it carries, "" of none; looked up while it is young, and after an exec."""
        name, command, looks = self._names.get((one.pid, one.start_ticks), ("", "", 0))
        if looks < _YOUNG_LOOKS or command != one.name:
            name = _rank_in(parse_environment(read(f"/proc/{one.pid}/environ")))
        self._names[one.pid, one.start_ticks] = (name, one.name, looks + 1)
        return name


def worker_of(leader: int, members: Mapping[int, ProcessStat]) -> ProcessStat | None:
    """The leader, or what it runs where it is a shell or the like; None once it has ended."""
    found = members.get(leader)
    while found is not None and _is_wrapper(found):
        below = [one for one in members.values() if one.parent == found.pid and one.is_live]
        if not below:
            break
        found = max(below, key=lambda one: one.rss_bytes)
    return found if found is not None and found.is_live else None


def identity(one: ProcessStat) -> dict[str, Any]:
    """Who a process is: number, name, rank, GPUs it may see, container, pod, job."""
    given = parse_environment(read(f"/proc/{one.pid}/environ"))
    told: dict[str, Any] = {"pid": one.pid, "name": one.name}
    for name, sources in _TOLD.items():
        value = next((given[source] for source in sources if source in given), None)
        if value is not None:
            value = value[:_MOST_TOLD_CHARS]
            told[name] = int(value) if _is_number(value) and name != "visible_gpus" else value
    groups = read(MEMBERSHIP.format(one.pid)).decode("utf-8", "replace")
    return {**told, **cgroup_location(line.split(":", 2)[-1] for line in groups.splitlines())}


def _rank_in(given: Mapping[str, str]) -> str:
    for name in _RANK:
        if _is_number(given.get(name, "")):
            return f"{'local_rank' if name == 'LOCAL_RANK' else 'rank'}:{int(given[name])}"
    return ""


def _is_number(value: str) -> bool:
    return value.isdecimal() and len(value) < 10


def _is_wrapper(one: ProcessStat) -> bool:
    return one.name in _WRAPPERS
