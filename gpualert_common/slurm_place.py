"""The place of a run in Slurm: its job and its step, by the variables of its environment.

Plain functions, because the child waits for this import.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpualert_common.launch_record import SlurmPlace

_MOST_DIGITS = 15
_MOST_NAME_CHARS = 200
SPECIAL_STEPS = 0xFFFFFFF0
"""Slurm numbers the steps of batch scripts and interactive shells from here on."""


def find_slurm_place(environment: Mapping[str, str]) -> SlurmPlace | None:
    """Return the place of this process and the command that it starts; None outside of a job."""
    job = environment.get("SLURM_JOB_ID", "")
    if not is_number(job):
        return None
    found: SlurmPlace = {"job": job}
    step = environment.get("SLURM_STEP_ID") or environment.get("SLURM_STEPID") or ""
    if is_number(step) and int(step) < SPECIAL_STEPS:
        found["step"] = step
        found["is_task"] = environment.get("SLURM_TASK_PID") == str(os.getpid())
        index = environment.get("SLURM_NODEID", "")
        found["index"] = int(index) if is_number(index) else 0
    for field, variable in (("cluster", "SLURM_CLUSTER_NAME"), ("node", "SLURMD_NODENAME")):
        name = environment.get(variable, "")
        if name.isprintable() and 0 < len(name) <= _MOST_NAME_CHARS:
            found[field] = name  # type: ignore[literal-required]
    return found


def is_number(text: str) -> bool:
    """True for a number in decimal digits, as Slurm has it in its variables."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
