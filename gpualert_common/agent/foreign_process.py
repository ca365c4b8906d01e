"""A process that gpualert did not start: its identity, its user, and its command."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from gpualert_common.errors import UsageError
from gpualert_common.listing.run_summary import name_user
from gpualert_common.processes.marker import find_marked_runs, is_any_helper, is_kernel_thread
from gpualert_common.processes.process_user import ProcessUser, read_user
from gpualert_common.processes.procfs import (
    TICKS_PER_S,
    await_environment,
    parse_environment,
    read_command,
    read_cwd,
    read_stat,
)
from gpualert_common.structs import Struct, field
from gpualert_common.telemetry.cgroups import read_container_group, read_location

_KNOWN_VARIABLES = frozenset(
    {
        *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"),
        *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"),
        *("TORCHELASTIC_RUN_ID", "CUDA_VISIBLE_DEVICES"),
        *("SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NUM_NODES", "SLURM_CLUSTER_NAME"),
        *("SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_NODES", "SLURM_NODEID"),
        *("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_HET_JOB_ID"),
        *("SLURM_RESTART_COUNT", "SLURMD_NODENAME"),
    }
)
"""Variables of ranks and of Slurm.  Nothing else of an environment is kept: it may hold secrets."""
_MOST_VALUE_CHARS = 200
_MOST_COMMAND_CHARS = 16 << 10


class ForeignProcess(Struct, frozen=True):
    """One process; ``uid`` and ``groups`` are those by which the kernel checks its access to files.

    ``started_at`` is in seconds since the epoch.  ``variables`` are those of ranks and of Slurm;
    ``marked_runs`` the runs of gpualert that it belongs to; ``location`` its container, pod and
    Slurm job (:func:`gpualert_common.telemetry.cgroups.read_location`), ``container_group`` the
    control groups of the container.
    """

    pid: int
    start_ticks: int
    uid: int
    groups: tuple[int, ...]
    started_at: float
    command: tuple[str, ...]
    cwd: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    marked_runs: tuple[str, ...] = ()
    is_helper: bool = False
    location: Mapping[str, str] = field(default_factory=dict)
    container_group: str = ""

    @property
    def user(self) -> ProcessUser:
        """The user and the groups that count for files."""
        return ProcessUser(self.uid, self.groups)

    @property
    def is_alive(self) -> bool:
        """True while the process of this number is this one, and has not exited."""
        found = read_stat(self.pid)
        return found is not None and found.start_ticks == self.start_ticks and found.is_live


def read_foreign_process(pid: int) -> ForeignProcess:
    """Return what is known of a live process.

    Raises UsageError if it does not exist, has exited, or is a thread of the kernel.
    """
    stat = read_stat(pid)
    if stat is None or not stat.is_live:
        raise UsageError(f"no process has the number {pid}, or it has exited")
    if is_kernel_thread(stat):
        raise UsageError(f"process {pid} ({stat.name}) is a thread of the kernel")
    environment = await_environment(pid)
    user = read_user(pid)
    values = parse_environment(environment)
    process = ForeignProcess(
        pid,
        stat.start_ticks,
        user.uid,
        user.groups,
        _read_start(stat.start_ticks),
        _cut_command(read_command(pid)) or (stat.name,),
        read_cwd(pid).removesuffix(" (deleted)") or None,
        {name: values[name][:_MOST_VALUE_CHARS] for name in _KNOWN_VARIABLES & values.keys()},
        tuple(find_marked_runs(environment)),
        is_any_helper(environment),
        read_location(pid),
        read_container_group(pid),
    )
    if not process.is_alive:  # else its number may have been another's while it was read
        raise UsageError(f"process {pid} has exited just now")
    return process


def require_access(process: ForeignProcess) -> None:
    """Raise UsageError unless the process belongs to this user, or this user is root."""
    own = os.geteuid()
    if own not in (0, process.uid):
        owner = name_user(process.uid)
        who = owner if process.uid == 0 else f"{owner}, or as root"
        raise UsageError(f"process {process.pid} belongs to {owner}: run gpualert as {who}")


def _read_start(start_ticks: int) -> float:
    """Return the start of a process by the clock of this moment."""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / TICKS_PER_S
    return time.time() - max(0.0, age_s)


def _cut_command(words: list[str]) -> tuple[str, ...]:
    """Return a command, of a very long one the first words."""
    kept, size = [], 0
    for word in words:
        size += len(word) + 1
        if size > _MOST_COMMAND_CHARS:
            break
        kept.append(word)
    return tuple(kept)
