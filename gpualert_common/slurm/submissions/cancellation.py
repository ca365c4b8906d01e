"""Cancellation of a job, with a grace: SIGTERM first, and then Slurm's own end."""

from __future__ import annotations

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.controller import select_cluster
from gpualert_common.slurm.invocation import ask

_TERM = "--signal=TERM"
_SCRIPT_STEPS = ("batch", "extern", "interactive")


def terminate(job_id: str, cluster: str = "") -> None:
    """Send SIGTERM to the steps of a running job, so that a training can store a checkpoint.

    A shell that gets SIGTERM exits at once, and Slurm then kills what it started.  So the batch
    script gets it only where it started no step with srun; it may have a trap.  Raises SlurmError.
    """
    scope = [] if _has_steps(job_id, cluster) else ["--full"]
    ask("scancel", *select_cluster(cluster), *scope, _TERM, job_id)


def cancel(job_id: str, cluster: str = "") -> None:
    """Cancel a job: SIGTERM to all of it, SIGKILL after Slurm's KillWait.  Raises SlurmError."""
    ask("scancel", *select_cluster(cluster), job_id)


def _has_steps(job_id: str, cluster: str) -> bool:
    """Return True if the job has a step that srun started; False also if that is not known."""
    options = (*select_cluster(cluster), "--steps", "--noheader", "--format=%i")
    try:
        listed = ask("squeue", *options, f"--jobs={job_id}")
    except SlurmError:
        return False
    steps = (line.rpartition(".")[2] for line in listed.splitlines() if "." in line)
    return any(step not in _SCRIPT_STEPS for step in steps)
