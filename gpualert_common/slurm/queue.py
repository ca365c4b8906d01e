"""Queue of Slurm's controller, by ``squeue``: jobs that wait, run, or ended a short time ago.

The controller forgets a job some minutes after its end (MinJobAge).
"""

from __future__ import annotations

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.commands import DEADLINE_S, run_command
from gpualert_common.slurm.controller import UNKNOWN_JOB, read_setting
from gpualert_common.slurm.fields import clean_text, parse_time
from gpualert_common.slurm.states import SlurmState, StateText, parse_state
from gpualert_common.structs import Struct

_FORMAT = "%A|%T|%S|%e|%N"
_ACTIVE = frozenset(
    (
        *(SlurmState.RUNNING, SlurmState.COMPLETING, SlurmState.CONFIGURING, SlurmState.SUSPENDED),
        *(SlurmState.STOPPED, SlurmState.SIGNALING, SlurmState.RESIZING, SlurmState.STAGE_OUT),
    )
)


class QueuedJob(Struct, frozen=True):
    """A job as the controller has it.

    ``ends_at`` is its end: of a job that runs, the time at which its limit is reached.
    """

    job_id: str
    status: StateText
    started_at: float | None = None
    ends_at: float | None = None
    nodes: str = ""

    @property
    def may_have_processes(self) -> bool:
        """True while its processes run or are being ended."""
        return self.status.state in _ACTIVE or self.status.state is None


def read_cluster_name(*, deadline_s: float = DEADLINE_S) -> str:
    """Return the name of the cluster of this machine; empty if it is not shown.

    Raises SlurmError.
    """
    return read_setting("ClusterName", deadline_s=deadline_s)


def read_queued_job(
    job_id: str, *, cluster: str | None = None, deadline_s: float = DEADLINE_S
) -> QueuedJob | None:
    """Return a job of the cluster of this machine; None for one that its controller does not know.

    Raises SlurmError, also where this machine belongs to another *cluster*.
    """
    if cluster and read_cluster_name(deadline_s=deadline_s) != cluster:
        raise SlurmError(f"this machine does not belong to the cluster {cluster}")
    listed = ("--noheader", "--states=all", f"--jobs={job_id}", f"--format={_FORMAT}")
    try:
        output = run_command("squeue", *listed, deadline_s=deadline_s)
    except SlurmError as error:
        if UNKNOWN_JOB in error.said:
            return None
        raise
    found = (parse_queued_job(line) for line in output.splitlines())
    return next((one for one in found if one is not None and one.job_id == job_id), None)


def parse_queued_job(line: str) -> QueuedJob | None:
    """Return a job from a line of ``squeue``; None for a damaged one."""
    words = line.split("|", 4)
    if len(words) != 5:
        return None
    job_id, state, start, end, nodes = words
    times = parse_time(start), parse_time(end)
    return QueuedJob(job_id, parse_state(state), *times, clean_text(nodes))
