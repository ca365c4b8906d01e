"""Many runs that end at once: each has its status, its verdict and one alert."""

from __future__ import annotations

import subprocess

import pytest

from gpualert_common.record import VERDICT
from tests.notify.alerting import mails
from tests.supervised import PROGRAM, Lab, shell, until

PATIENCE_S = 900.0
"""Some four times the need of two hundred runs on two cores that other work uses, too."""


@pytest.mark.nightly
@pytest.mark.parametrize("count", [60, 200])
def test_many_runs_at_once(lab: Lab, count: int) -> None:
    """Every run returns its status and gets its verdict; the mailbox has one alert for each."""
    command = (*PROGRAM, "run", "--notify", "mailbox", "--")
    child = shell("echo RuntimeError: broken; exit 3")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    tasks = [lab.start((*command, *child), **quiet) for _run in range(count)]
    assert [task.wait(PATIENCE_S) for task in tasks] == [3] * count
    new = lab.state / "mailbox" / "new"
    until(lambda: len(list(new.glob("*"))) >= count, "the alerts", PATIENCE_S, poll_s=1.0)
    until(lab.is_empty, "nothing to be left of the runs", PATIENCE_S, poll_s=1.0)
    assert len(lab.records()) == count
    assert all((path / VERDICT).exists() for path in lab.records())
    assert len({mail["Message-ID"] for mail in mails(lab)}) == len(mails(lab)) == count
