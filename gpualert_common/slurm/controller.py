"""Slurm's controller: its settings, its answer for an unknown job, and the option for a cluster."""

from __future__ import annotations

from gpualert_common.slurm.commands import DEADLINE_S, run_command
from gpualert_common.slurm.fields import clean_text

UNKNOWN_JOB = "Invalid job id"
"""Message about a job that the controller does not know, or has forgotten."""


def read_setting(name: str, *, deadline_s: float = DEADLINE_S) -> str:
    """Return a setting of the controller of this machine; empty if it is not shown.

    Raises SlurmError.
    """
    for line in run_command("scontrol", "show", "config", deadline_s=deadline_s).splitlines():
        key, _equals, value = line.partition("=")
        if key.strip() == name:
            return clean_text(value)
    return ""


def select_cluster(cluster: str | None) -> list[str]:
    """Return the option by which a command asks a cluster; none for that of this machine."""
    return [f"--clusters={cluster}"] if cluster else []
