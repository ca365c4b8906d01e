"""Place of a run in Slurm, by its environment."""

from __future__ import annotations

import os

import pytest

from gpualert_common.slurm_place import find_slurm_place


def test_outside_of_slurm_there_is_none() -> None:
    """Without a job, or with a number that Slurm does not write, a run has no place."""
    for job in (None, "", "12; rm", "-1", "1" * 40, "१२"):
        assert find_slurm_place({} if job is None else {"SLURM_JOB_ID": job}) is None


def test_a_batch_script_has_no_step() -> None:
    """Slurm numbers the steps of scripts and shells from 0xfffffff0 on."""
    place = find_slurm_place({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967291"})
    assert place == {"job": "7"}


@pytest.mark.parametrize("pid", ["", "1", "x"])
def test_a_shell_may_stand_between_step_and_run(pid: str) -> None:
    """The supervisor is the task only if Slurm gave its process number."""
    environment = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NODEID": "3"}
    place = find_slurm_place({**environment, "SLURM_TASK_PID": pid})
    assert place == {"job": "7", "step": "0", "is_task": False, "index": 3}
    own = find_slurm_place({**environment, "SLURM_TASK_PID": str(os.getpid())})
    assert own is not None
    assert own["is_task"]
