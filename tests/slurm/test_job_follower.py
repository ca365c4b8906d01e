"""A job is followed to its end, and its output copied, with stand-ins for Slurm's commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common.slurm.submissions import job_follower
from gpualert_common.slurm.submissions.job_follower import JobEnd, JobFollower
from gpualert_common.slurm.submissions.submission import SubmissionStep, SubmittedJob
from tests.slurm.conftest import Install

FIELDS = "NodeList=node1\nBatchHost=node1\n"


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late output is awaited for a moment only."""
    monkeypatch.setattr(job_follower, "_LATE_OUTPUT_S", 0.1)
    monkeypatch.setattr(job_follower, "_QUIET_S", 0.1)


def _show(output: str | Path, state: str, job: str = "JobId=7 JobName=a") -> str:
    user = f"UserId=me({os.getuid()})"
    return f"{job}\n{user}\nJobState={state}\n{FIELDS}StdErr={output}\nStdOut={output}\n\n"


def _follow(notes: list[str], *, stops: int = 0) -> JobEnd:
    return JobFollower(
        SubmittedJob(SubmissionStep.SUBMITTED, job_id="7"),
        grace_s=60.0,
        interval_s=1.0,
        stops=lambda: stops,
        note=notes.append,
    ).follow()


def test_array_without_accounting(
    install: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The end of an array is known, and its output copied, where Slurm has no accounting."""
    output = tmp_path / "7_2.out"
    output.write_text("out\n")
    task = "JobId=7 ArrayJobId=7 ArrayTaskId=2 JobName=a"
    install("scontrol", _show(output, "FAILED ExitCode=3:0", task))
    install("sacct", script="echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert _follow([]) == JobEnd("FAILED", 3)
    assert capfd.readouterr().out == "out\n"


def test_array_is_none_of_its_own_tasks(install: Install) -> None:
    """A record of the accounting that does not have the number of its task yet is no task."""
    task = "JobId=7 ArrayJobId=7 ArrayTaskId=2 JobName=a"
    install("scontrol", _show("/dev/null", "COMPLETED ExitCode=0:0", task))
    install("sacct", "7|7|FAILED|2:0|1790000010|1790000020|ann|node1|a\n")
    assert _follow([]) == JobEnd("COMPLETED", 0)


def test_missing_output_is_named(install: Install, tmp_path: Path) -> None:
    """An output that never appears, as on a disk of the node, is named."""
    install("scontrol", _show(tmp_path / "no.out", "FAILED ExitCode=3:0"))
    notes: list[str] = []
    assert _follow(notes) == JobEnd("FAILED", 3)
    assert f"the output {tmp_path}/no.out did not appear on this machine" in notes


def test_script_that_could_not_start(install: Install, tmp_path: Path) -> None:
    """A job whose output could not be opened failed by itself, and no signal killed it."""
    install("scontrol", _show(tmp_path / "no" / "7.out", "FAILED ExitCode=0:53"))
    notes: list[str] = []
    assert _follow(notes) == JobEnd("FAILED", 1)
    assert len(notes) == 1
    assert notes[0].startswith("job 7 is FAILED: Slurm could not start its script")


def test_stop_of_a_running_job_that_a_new_follower_finds(install: Install, tmp_path: Path) -> None:
    """A follower that begins in the middle of a stop gives the job its grace, too."""
    signals = tmp_path / "signals"
    (tmp_path / "running").write_text(_show("/dev/null", "RUNNING"))
    (tmp_path / "ended").write_text(_show("/dev/null", "COMPLETED ExitCode=0:0"))
    install("scontrol", script=f"cat {tmp_path}/$([ -e {signals} ] && echo ended || echo running)")
    install("scancel", script=f'echo "$*" >> {signals}')
    assert _follow([], stops=1) == JobEnd("COMPLETED", 0)
    assert signals.read_text() == "--full --signal=TERM 7\n"
