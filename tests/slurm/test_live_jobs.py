"""Jobs are read from the text of Slurm's commands, also from a damaged one."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.live_jobs import (
    BatchTask,
    find_job,
    is_slurm_id,
    list_states,
    read_accounted_tasks,
    read_tasks,
)

MARK = "gpualert:20261128-101112-123456-abcd"
SHOWN = """JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=my train
   UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=7:0
   SubmitTime=1790000000 EligibleTime=1790000000
   StartTime=1790000010 EndTime=1790000020 Deadline=N/A
   NodeList=node[1-2]
   BatchHost=node1.cluster
   WorkDir=/home/ann/my work
   Comment=JobState=COMPLETED gpualert:x
   StdErr=/home/ann/my work/%N.err
   StdIn=/dev/null
   StdOut=/home/ann/my work/5_2.out

"""

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Write a stand-in for one of Slurm's commands, which is a shell script."""

    def write(name: str, body: str) -> None:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return write


def test_task_of_an_array(program: Program, tmp_path: Path) -> None:
    """Paths with blanks are whole, a comment changes no other field, and %N is the node."""
    (tmp_path / "shown").write_text(SHOWN)
    program("scontrol", f"cat {tmp_path}/shown")
    [task] = read_tasks("5")
    assert (task.shown_id, task.state, task.exit_status) == ("5_2", "FAILED", 7)
    assert task.stdout == "/home/ann/my work/5_2.out"
    assert task.stderr == "/home/ann/my work/node1.err"
    assert (task.started_at, task.ended_at) == (1790000010.0, 1790000020.0)
    assert (task.restarts, task.user, task.uid) == (1, "ann", 1000)


def test_name_of_a_job_changes_no_other_field(program: Program, tmp_path: Path) -> None:
    """A user who names a job like a field does not end it for others."""
    text = SHOWN.replace("my train", "x JobState=COMPLETED StdOut=/root/key")
    (tmp_path / "shown").write_text(text)
    program("scontrol", f"cat {tmp_path}/shown")
    [task] = read_tasks("5")
    assert (task.state, task.stdout) == ("FAILED", "/home/ann/my work/5_2.out")
    assert task.name == "x JobState=COMPLETED StdOut=/root/key"


DAMAGE = ["", "JobId=", "JobId=x JobState=FAILED", "\\0\\377", "JobId=999999999999999"]


@pytest.mark.parametrize("text", DAMAGE)
def test_damaged_text_is_no_job(program: Program, text: str) -> None:
    """Text without a valid id is no job."""
    program("scontrol", f"printf '{text}'")
    assert read_tasks("5") == []


def test_forgotten_job(program: Program) -> None:
    """A job that the controller does not know is none; any other error is raised."""
    program("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert read_tasks("5") == []
    program("scontrol", "echo 'slurm_load_jobs error: Access/permission denied' >&2; exit 1")
    with pytest.raises(SlurmError, match="permission denied"):
        read_tasks("5")


STATUSES = {
    ("COMPLETED", 0, 0): 0,
    ("FAILED", 3, 0): 3,
    ("FAILED", 0, 11): 139,
    ("FAILED", 0, 0): 1,
    ("FAILED", 0, 53): 1,
    ("TIMEOUT", 0, 15): 124,
    ("DEADLINE", 0, 0): 124,
    ("OUT_OF_MEMORY", 0, 125): 137,
    ("CANCELLED", 0, 15): 143,
    ("PREEMPTED", 0, 0): 143,
    ("NODE_FAIL", 0, 0): 1,
    ("FAILED", 999, 0): 255,
}


@pytest.mark.parametrize("end", STATUSES)
def test_exit_status(end: tuple[str, int, int]) -> None:
    """The status is that of the script, or the stand-in of the state, which decides."""
    state, code, number = end
    task = BatchTask("5", "5", state, exit_code=code, exit_signal=number)
    assert task.exit_status == STATUSES[end]
    assert task.is_over


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING", "REQUEUED", "NEW_STATE"])
def test_job_that_may_go_on(state: str) -> None:
    """A state that is not known to be an end is none."""
    assert not BatchTask("5", "5", state).is_over


def test_accounted_tasks(program: Program) -> None:
    """Short lines and groups of tasks are left out; the state is the first word."""
    lines = "5|5|CANCELLED by 0|0:15|1790000010|Unknown|ann|node1|a|b\\n5_[1-2]|5|PENDING\\nx\\n"
    program("sacct", f"printf '{lines}'")
    [task] = read_accounted_tasks("5")
    assert (task.state, task.name, task.ended_at) == ("CANCELLED", "a|b", None)


def test_marked_job_is_found(program: Program) -> None:
    """The first of several jobs with the mark counts, whoever knows it."""
    program("squeue", f"printf '12|x\\n11|a {MARK}\\n9|{MARK}\\n'")
    assert find_job(MARK, time.time()) == "9"
    program("squeue", "printf '12|x\\n'")
    program("sacct", f"printf '31_4||sbatch --comment={MARK} a.sh\\n'")
    assert find_job(MARK, time.time()) == "31"
    program("sacct", "true")
    assert find_job(MARK, time.time()) is None


def test_marked_job_with_a_command_of_several_lines(program: Program) -> None:
    """The mark behind a command of several lines is that of its job, not of a later one."""
    program("squeue", "true")
    lines = f"30||sbatch a.sh\\n31||sbatch --wrap set -e\\nsrun a | tee b --comment={MARK}\\n"
    program("sacct", f"printf '{lines}32||sbatch b.sh\\n'")
    assert find_job(MARK, time.time()) == "31"


def test_search_on_another_cluster(program: Program) -> None:
    """The commands are asked about the cluster of the submission, and a missing answer of its
    accounting decides nothing."""
    program("squeue", f"[ \"$1\" = --clusters=lab ] && printf 'CLUSTER: lab\\n7|{MARK}\\n'")
    assert find_job(MARK, time.time(), "lab") == "7"
    program("squeue", "true")
    program("sacct", "exit 1")
    with pytest.raises(SlurmError, match="cannot decide"):
        find_job(MARK, time.time(), "lab")


def test_search_without_accounting(program: Program) -> None:
    """Without accounting a job is missing only while the controller would still have it."""
    program("squeue", "true")
    program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    program("scontrol", "echo 'MinJobAge               = 300 sec'")
    assert find_job(MARK, time.time() - 10) is None
    with pytest.raises(SlurmError, match="cannot decide"):
        find_job(MARK, time.time() - 1000)


def test_states_of_a_user(program: Program) -> None:
    """A comment may have any character; damaged lines are left out."""
    program("squeue", "printf '5|RUNNING|a|b\\n6_1|FAILED|\\n7_[1-3]|PENDING|\\nx\\n|||\\n'")
    assert list_states("ann") == {"5": ("RUNNING", "a|b"), "6_1": ("FAILED", "")}


@pytest.mark.parametrize("text", ["", "-1", "5;rm", "5_", "\u0665", "1" * 20, "5 6", "_"])
def test_invalid_ids(text: str) -> None:
    """Only numbers are ids."""
    assert not is_slurm_id(text)
