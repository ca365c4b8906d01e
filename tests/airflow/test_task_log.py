"""The end of a task's log: the verdict as a block, and a short traceback."""

from __future__ import annotations

import signal

import pytest

from tests.airflow.conftest import Trials
from tests.airflow.test_ending import When, is_training, send, trainer
from tests.supervised import Lab

FAILED = "Task failed with exception"
FAILURE = "import torch_of_nobody\n"


def failed_log(trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], more: str = "") -> str:
    """Return the log of a task whose training fails."""
    script = lab.script("train.py", FAILURE)
    assert trials.train(f"bash_command='sleep 1; python3 {script}'{more}").state == "failed"
    return capfd.readouterr()[0]


@pytest.mark.parametrize("more", ["", ", deferrable=True"])
def test_block(trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], more: str) -> None:
    """Before Airflow's report of the error, the log has headline, Do, Shows, log and record."""
    before = failed_log(trials, lab, capfd, more).split(FAILED)[0]
    block = before[before.rindex("Verdict") :].splitlines()[:-1]
    titles = ("Do ", "Shows ", "Log ", "Record ")
    found = [title for line in block for title in titles if f"] {title}" in line]
    record = lab.record()
    assert "torch_of_nobody" in block[1]
    assert found == list(titles)
    assert any(record.log_path("output.log") in line for line in block)
    assert any(f"gpualert show {record.run_id}" in line for line in block)
    assert all("[error" in line for line in block[1:])


@pytest.mark.parametrize("more", ["", ", deferrable=True"])
def test_short_traceback(
    trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], more: str
) -> None:
    """The traceback of a failed training has at most two frames of this package."""
    report = failed_log(trials, lab, capfd, more).split(FAILED)[1]
    assert 1 <= report.count("gpualert_provider/") <= 2
    assert "to_bash_result" not in report


def test_short_traceback_of_a_timeout(
    trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    """The traceback of a timeout does not show where this package waited; the block has the log."""
    trials.train("bash_command='sleep 60', execution_timeout=datetime.timedelta(seconds=2)")
    log, _ = capfd.readouterr()
    assert log.split(FAILED)[1].count("gpualert_provider/") <= 2
    assert lab.record().log_path("output.log") in log.split(FAILED)[0].rpartition("Verdict")[2]


@pytest.mark.parametrize("is_killed", [True, False])
def test_block_and_alerts(
    trials: Trials, lab: Lab, when: When, capfd: pytest.CaptureFixture[str], is_killed: bool
) -> None:
    """The block is the last part of the log; a killed task logs it before the wait for alerts."""
    if is_killed:
        when(lambda: is_training(lab), send(signal.SIGTERM))
        trials.train(trainer("plain", notify="mailbox"))
    else:
        trials.train("bash_command='exit 3', notify='mailbox'")
    log, _ = capfd.readouterr()
    assert (log.index("Verdict") < log.index("alert to mailbox")) == is_killed


def test_traceback_of_the_authors_code(
    trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    """The traceback of an error in the DAG's own code is whole, and there is no block."""
    trials.train("bash_command='echo none', output_processor=lambda line: int(line)")
    log, _ = capfd.readouterr()
    assert "in <lambda>" in log.split(FAILED)[1]
    assert "Verdict" not in log.split(FAILED)[0]


@pytest.mark.parametrize("command", ["true", "exit 99"])
def test_no_block(
    trials: Trials, lab: Lab, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    """The log of a task that succeeds, or that its exit status skips, has no block."""
    trials.train(f"bash_command={command!r}")
    log, _ = capfd.readouterr()
    assert "Command exited with return code" in log
    assert "Verdict" not in log
