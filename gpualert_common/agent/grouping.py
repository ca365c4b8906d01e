"""Groups of processes that use GPUs: a Slurm job, a container, or a tree of processes.

The control groups of a process name its job and its container.  A user can make groups in a part of
the tree that is delegated to them, under any name: so a job is one of a user, and a container is
known by its whole path.  Outside of both, the group is the tree below the shell, server or
scheduler that started it: all ranks of a launcher are one group, and two trainings of one terminal
are two.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.agent.foreign_process import ForeignProcess, read_foreign_process
from gpualert_common.errors import UsageError
from gpualert_common.listing.run_summary import name_user
from gpualert_common.processes.procfs import ProcessStat, read_stat
from gpualert_common.shells import names_shell
from gpualert_common.structs import Struct
from gpualert_common.telemetry.cgroups import read_location

_STARTERS = frozenset(
    {
        *("systemd", "init", "sshd", "sshd-session", "login", "su", "sudo", "cron", "crond", "atd"),
        *("tmux: server", "screen", "code-server", "node", "slurmstepd", "slurmd"),
        *("containerd-shim", "conmon", "dockerd", "containerd", "crun", "runc", "supervisord"),
    }
)
"""Names of processes that start the work of others, and are no part of it."""
_STARTER_PREFIXES = ("containerd-shim", "jupyter", "tmux", "ray::", "raylet", "(sd-pam")
_MOST_ANCESTORS = 64
_SHOWN_ID_CHARS = 12


class GroupKind(StrEnum):
    """The thing that a group of processes is."""

    SLURM = "slurm"
    CONTAINER = "container"
    TREE = "tree"


class GroupKey(Struct, frozen=True):
    """A group: its kind, and its name among those of the kind.

    The name of a Slurm job has its user, that of a container its path, that of a tree its leader.
    """

    kind: GroupKind
    name: str


class FoundGroup(Struct, frozen=True):
    """The group of a process, and the process of the group that stands above it."""

    key: GroupKey
    leader: ForeignProcess

    @property
    def place(self) -> str:
        """The place of the group in words, such as "slurm job 17"."""
        location = self.leader.location
        match self.key.kind:
            case GroupKind.SLURM:
                return f"slurm job {location['slurm_job']}"
            case GroupKind.CONTAINER:
                container = f"container {location['container'][:_SHOWN_ID_CHARS]}"
                pod = location.get("pod", "")[:_SHOWN_ID_CHARS].rstrip("-")
                return f"pod {pod}, {container}" if pod else container
            case GroupKind.TREE:
                return f"process {self.leader.pid}"

    @property
    def user(self) -> str:
        """The login name of the user of the leader."""
        return name_user(self.leader.uid)


def find_group(pid: int) -> FoundGroup | None:
    """Return the group of a process; None if it belongs to a run of gpualert, or has ended."""
    try:
        process = read_foreign_process(pid)
        if process.marked_runs or process.is_helper:
            return None
        leader = _find_leader(process)
    except UsageError:
        return None
    return FoundGroup(_make_key(leader), leader)


def _make_key(leader: ForeignProcess) -> GroupKey:
    location = leader.location
    if "slurm_job" in location:
        return GroupKey(GroupKind.SLURM, f"{location['slurm_job']} of {leader.uid}")
    if "container" in location:
        return GroupKey(GroupKind.CONTAINER, leader.container_group)
    return GroupKey(GroupKind.TREE, f"{leader.pid} {leader.start_ticks}")


def _find_leader(process: ForeignProcess) -> ForeignProcess:
    """Return the topmost ancestor that is a part of the same work."""
    leader = process
    below = read_stat(process.pid)
    for _ancestor in range(_MOST_ANCESTORS):
        above = None if below is None else read_stat(below.parent)
        if below is None or above is None or not _is_part(below, above, leader):
            return leader
        try:
            found = read_foreign_process(above.pid)
        except UsageError:
            return leader
        if found.uid != leader.uid or found.marked_runs:
            return leader
        leader, below = found, above
    return leader


def _is_part(below: ProcessStat, above: ProcessStat, leader: ForeignProcess) -> bool:
    """Return whether the parent of a process is a part of the same work as this."""
    if read_location(above.pid) != leader.location:
        return False
    if "container" in leader.location:
        return True  # all of a container is one work
    if above.pid == 1 or above.name in _STARTERS or above.name.startswith(_STARTER_PREFIXES):
        return False
    is_interactive = names_shell(above.name) and above.group != below.group
    return not is_interactive
