"""Slurm's answers about the job of a run, with stand-ins for its commands."""

from __future__ import annotations

import time

import pytest

from gpualert_common.launch_record import SlurmPlace
from gpualert_common.slurm.ended_runs import find_slurm_end
from gpualert_common.slurm.job_status import ask_slurm
from gpualert_common.slurm.nodes import parse_node_states
from gpualert_common.slurm.states import SlurmState
from tests.slurm.conftest import Install

BATCH: SlurmPlace = {"job": "7", "node": "node1"}
TASK: SlurmPlace = {"job": "7", "node": "node1", "step": "0", "is_task": True, "index": 0}
BEGAN = float(int(time.time()) - 7200)
ENDED = int(BEGAN) + 3600
OLD = ENDED + 60.0


def _sacct(state: str, *steps: str, end: int | str = ENDED) -> str:
    start = int(BEGAN) - 1
    lines = [f"7|{state}|0:0|{start}|{end}|60||node[1-2]"]
    lines += [f"7.{step.format(start=start, end=end)}" for step in steps]
    return "\n".join(lines) + "\n"


def _squeue(state: str, start: int = int(BEGAN) - 1) -> str:
    return f"7|{state}|{start}|{ENDED}|node[1-2]\n"


def test_the_accounting_decides(install: Install) -> None:
    """The state of the accounting counts, where the queue knows only that the job is ending."""
    install("sacct", _sacct("TIMEOUT"))
    install("squeue", _squeue("COMPLETING"))
    report = ask_slurm(BATCH, BEGAN)
    assert report.status is not None
    assert report.status.state is SlurmState.TIMEOUT
    assert report.ended_at == ENDED


def test_without_accounting_the_queue_answers(install: Install) -> None:
    """A cluster without slurmdbd shows the state for some minutes."""
    install("sacct", script='echo "Slurm accounting storage is disabled" >&2; exit 1')
    install("squeue", _squeue("PREEMPTED"))
    report = ask_slurm(BATCH, BEGAN)
    assert report.status is not None
    assert report.status.state is SlurmState.PREEMPTED
    assert "accounting storage is disabled" in report.problems[0]


def test_a_rerun_is_not_the_run(install: Install) -> None:
    """While a job runs again, the state is that of the start in which the run was."""
    again = f"7|RUNNING|0:0|{ENDED + 120}|Unknown|60||node1\n"
    install("sacct", _sacct("PREEMPTED") + again)
    install("squeue", _squeue("RUNNING", start=ENDED + 120))
    report = ask_slurm(BATCH, BEGAN)
    assert report.status is not None
    assert report.status.state is SlurmState.PREEMPTED
    assert report.queued is None
    assert report.next_start is not None
    assert report.next_start.status.state is SlurmState.RUNNING


def test_a_late_record_is_waited_for(install: Install, tmp_path: object) -> None:
    """The accounting is asked again while the queue has the job as ending."""
    late = (
        f'if [ -e {tmp_path}/asked ]; then printf "{_sacct("TIMEOUT")}"; fi; touch {tmp_path}/asked'
    )
    install("sacct", script=late)
    install("squeue", _squeue("COMPLETING"))
    assert not ask_slurm(BATCH, BEGAN).has_ended
    (report,) = [ask_slurm(BATCH, BEGAN, patience_s=5.0)]
    assert report.has_ended


def test_no_command_at_all(install: Install) -> None:
    """Each command that fails is named, and nothing is concluded."""
    report = ask_slurm(BATCH, BEGAN)
    assert report.status is None
    assert [one.partition(":")[0] for one in report.problems[:2]] == ["accounting", "queue"]


def test_another_cluster_is_not_asked(install: Install) -> None:
    """The queue of another cluster may have another job of this number."""
    install("scontrol", "ClusterName             = other\n")
    install("squeue", _squeue("TIMEOUT"))
    report = ask_slurm({"job": "7", "cluster": "lab"}, BEGAN)
    assert report.status is None
    assert "does not belong to the cluster lab" in " ".join(report.problems)


@pytest.mark.parametrize(
    ("accounting", "queue", "changed_s", "is_ended"),
    [
        ("TIMEOUT", "TIMEOUT", 600, True),
        ("TIMEOUT", "", 600, True),
        ("TIMEOUT", "COMPLETING", 600, False),
        ("TIMEOUT", "NEWSTATE", 600, False),
        ("TIMEOUT", "TIMEOUT", 30, False),
        ("NODE_FAIL", "NODE_FAIL", 100, False),
        ("NODE_FAIL", "NODE_FAIL", 700, True),
        ("RUNNING", "RUNNING", 600, False),
        ("NEWSTATE", "NEWSTATE", 600, False),
    ],
)
def test_the_end_of_a_run_is_proven(
    install: Install, accounting: str, queue: str, changed_s: float, is_ended: bool
) -> None:
    """Only Slurm's end of the job, with no process left, and quiet files prove it."""
    end = ENDED if accounting not in ("RUNNING", "NEWSTATE") else "Unknown"
    install("sacct", _sacct(accounting, end=end))
    install("squeue", _squeue(queue) if queue else "")
    found = find_slurm_end(BATCH, BEGAN, time.time() - changed_s)
    assert (found is not None) is is_ended
    if found is not None:
        assert (found.ended_at, found.code) == (ENDED, None)


@pytest.mark.parametrize(
    ("step", "place", "code"),
    [
        ("0|COMPLETED|0:0|{start}|{end}||1|node1", TASK, 0),
        ("0|FAILED|7:0|{start}|{end}||1|node1", TASK, 7),
        ("0|FAILED|7:0|{start}|{end}||2|node[1-2]", TASK, None),
        ("0|FAILED|137:0|{start}|{end}||1|node1", TASK, None),
        ("0|FAILED|0:9|{start}|{end}||1|node1", TASK, None),
        ("0|CANCELLED|0:0|{start}|{end}||1|node1", TASK, None),
        ("0|COMPLETED|0:0|{start}|{end}||1|node1", {**TASK, "is_task": False}, None),
    ],
)
def test_an_exit_status_is_believed_only_from_the_task_itself(
    install: Install, step: str, place: SlurmPlace, code: int | None
) -> None:
    """The status of several tasks, of a shell, or of a killed supervisor is not that of the run."""
    install("sacct", _sacct("COMPLETED", step))
    install("squeue", "")
    found = find_slurm_end(place, BEGAN, OLD)
    assert found is not None
    assert (found.name, found.code) == ("7.0", code)


def test_run_on_a_login_node_does_not_end_with_its_job(install: Install) -> None:
    """The shell of salloc has the number of the job, but Slurm does not end its processes."""
    install("sacct", _sacct("TIMEOUT"))
    install("squeue", _squeue("TIMEOUT"))
    assert find_slurm_end(BATCH, BEGAN, OLD) is not None
    assert find_slurm_end({"job": "7"}, BEGAN, OLD) is None


@pytest.mark.parametrize(("age_s", "lost"), [(3600.0, ()), (0.0, ("node1",))])
def test_present_state_of_a_node_is_no_evidence_about_the_past(
    install: Install, age_s: float, lost: tuple[str, ...]
) -> None:
    """A node that does not answer now, since an unknown time, was not lost in a job of an hour
    ago."""
    end = int(time.time() - age_s)
    install("sacct", _sacct("CANCELLED", end=end))
    install("squeue", "")
    install("sacctmgr", "")
    install("sinfo", "node1|down*|Unknown||\n")
    report = ask_slurm(BATCH, BEGAN)
    assert tuple(one.node for one in report.lost_nodes) == lost


def test_node_that_may_fail_is_not_lost() -> None:
    """The states FAIL and FAILING are those of a node that still runs its jobs."""
    lines = [
        f"{state}|{state}|1|root|" for state in ("down", "idle*", "fail", "failing", "drained")
    ]
    assert [one.node for one in parse_node_states(lines) if one.is_lost] == ["down", "idle*"]
