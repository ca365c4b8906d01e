"""Helper processes of a run: the start, and the start again of one that was killed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from gpualert_common.supervise.helper_process import HelperProcess, StartedBefore

KILLED, FINISHED = "kill -KILL $$", "exit 0"


def run_helper(command: str, pauses_s: tuple[float, ...]) -> tuple[list[float], HelperProcess]:
    """Return the ages of a run at which a helper with this command was started, up to 100 s."""
    ages: list[float] = []
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sh", "-c", command]))
        return started[-1]

    helper = HelperProcess("digest", start, 2.0, restart_pauses_s=pauses_s)
    for age in range(100):
        count = len(started)
        assert helper.update(float(age)) == ""
        if len(started) > count:
            ages.append(float(age))
            started[-1].wait()
    return ages, helper


@pytest.mark.parametrize(
    ("command", "pauses_s", "ages"),
    [
        pytest.param(KILLED, (), [2.0], id="without-a-restart"),
        pytest.param(KILLED, (1.0, 5.0, 30.0), [2.0, 4.0, 10.0, 41.0], id="killed"),
        pytest.param(FINISHED, (1.0, 5.0, 30.0), [2.0], id="finished"),
    ],
)
def test_restarts(command: str, pauses_s: tuple[float, ...], ages: list[float]) -> None:
    """A helper that was killed is started again after each pause; one that finished is not."""
    started, helper = run_helper(command, pauses_s)
    assert started == ages
    helper.stop()
    helper.reap()


def test_failing_starts() -> None:
    """A helper that cannot be started is tried again after each pause, and each try is reported."""
    tries: list[float] = []
    helper = HelperProcess("digest", _failing(tries), 0.0, restart_pauses_s=(1.0, 5.0))
    problems = [problem for age in range(100) if (problem := helper.update(float(age)))]
    assert len(tries) == 3
    assert problems == ["no memory"] * 3


def test_helper_started_before() -> None:
    """A helper that was started before is started again once it is gone, and never killed."""
    first = subprocess.Popen(["sleep", "600"])
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    helper = HelperProcess(
        "tracing",
        start,
        restart_pauses_s=(1.0,),
        running=StartedBefore(first.pid),
        ends_itself=True,
    )
    assert helper.update(5.0) == ""
    assert started == []
    first.kill()
    first.wait()
    helper.update(6.0)
    helper.update(8.0)
    (second,) = started
    helper.stop()
    helper.reap()
    assert second.poll() is None
    second.kill()
    second.wait()


def test_pidfd_of_a_helper_started_before() -> None:
    """The end of a run leaves no descriptor of its helper open."""
    before = len(os.listdir("/proc/self/fd"))
    running = StartedBefore(os.getpid())
    helper = HelperProcess("tracing", _failing([]), running=running, ends_itself=True)
    assert helper.update(1.0) == ""
    helper.stop()
    helper.reap()
    assert len(os.listdir("/proc/self/fd")) == before


def _failing(tries: list[float]) -> Callable[[], subprocess.Popen[bytes]]:
    def start() -> subprocess.Popen[bytes]:
        tries.append(1.0)
        raise OSError("no memory")

    return start
