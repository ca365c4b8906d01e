"""``gpualert attach``: a process that gpualert did not start gets a record like any other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.agent.foreign_process import read_foreign_process
from gpualert_common.agent.output_files import open_outputs
from gpualert_common.telemetry.series import Telemetry
from tests.agent.foreign import CRASH, TRAINING, Watch, hold, release, start_training
from tests.supervised import Lab, exit_of, is_alive, python, until
from tests.telemetry.standin import Scenario, environment

UNKNOWN = "Exit status unknown: this process was not started by gpualert"


def test_crash_is_explained(lab: Lab) -> None:
    """A process that crashes has its status, its cause by its log, and a closing message."""
    training = start_training(lab, CRASH)
    watch = Watch(lab, training.pid)
    release(lab)
    assert watch.wait() == training.wait() == 1
    assert exit_of(watch.record)["code"] == 1
    verdict = watch.record.verdict
    assert verdict is not None
    assert verdict.cause == "cuda_runtime"
    assert b"step 1" in watch.log
    assert b"illegal memory access" in watch.log
    assert "illegal memory access" in watch.errors.read_text()


def test_record_is_like_any_other(lab: Lab) -> None:
    """The record names the process, its user and its command, and no value of its environment."""
    training = start_training(lab, env={**os.environ, "HF_TOKEN": "hf_secret", "RANK": "3"})
    watch = Watch(lab, training.pid, "--name", "night run")
    spec = watch.record.spec
    assert (spec.supervised, spec.name, spec.uid) == (False, "night run", os.getuid())
    assert spec.command[:2] == (sys.executable, "-c")
    assert (watch.record.leader_pid, spec.cwd) == (training.pid, str(lab.home))
    assert "hf_secret" not in (Path(watch.record.path) / "spec.json").read_text()
    (live,) = lab.json("top")["runs"]
    assert (live["condition"], live["pid"]) == ("running", training.pid)
    release(lab)
    assert watch.wait() == 0
    (row,) = lab.json("runs")["runs"]
    assert (row["condition"], row["name"]) == ("completed", "night run")
    assert lab.gpualert("follow", watch.record.run_id).stdout == watch.log


def test_signal_is_the_status(lab: Lab) -> None:
    """The signal that killed the process is in the end record, and the cause follows from it."""
    training = start_training(lab)
    watch = Watch(lab, training.pid)
    training.kill()
    assert watch.wait() == 128 + signal.SIGKILL
    assert exit_of(watch.record)["code"] == -signal.SIGKILL
    verdict = watch.record.verdict
    assert verdict is not None
    assert verdict.cause == "killed_unknown"


def test_interrupt_leaves_the_process_alone(lab: Lab) -> None:
    """Ctrl-C ends the watch and not the process; the record says so, and no alert is sent."""
    training = start_training(lab)
    alert = lab.script("alert", f"#!/bin/sh\ncat > {lab.home}/alert.json\n")
    watch = Watch(lab, training.pid, "--notify", f"command:{alert}", "--notify-on", "always")
    assert watch.interrupt() == 130
    assert is_alive(training.pid)
    assert "no longer watched; it goes on" in watch.errors.read_text()
    verdict = watch.record.verdict
    assert verdict is not None
    assert verdict.headline.startswith("No longer watched")
    assert verdict.disposition == "unknown"
    assert exit_of(watch.record)["code"] is None
    assert lab.gpualert("recover").returncode == 0
    assert not (lab.home / "alert.json").exists()
    again = Watch(lab, training.pid)
    assert again.record.path != watch.record.path


@pytest.mark.e2e
def test_alert_at_the_end(lab: Lab) -> None:
    """The end of the process is an alert by the channels of the settings."""
    training = start_training(lab, CRASH)
    alert = lab.script("alert", f"#!/bin/sh\ncat > {lab.home}/alert.json\n")
    watch = Watch(lab, training.pid, "--notify", f"command:{alert}")
    release(lab)
    assert watch.wait() == 1
    assert "illegal memory access" in (lab.home / "alert.json").read_text()
    assert not watch.record.has("baseline.json")  # the folder of the process is not searched


@pytest.mark.e2e
def test_death_of_the_watch(lab: Lab) -> None:
    """A killed watch harms nothing: another one takes up its record and its copy; without one,
    recovery completes the record with an unknown status."""
    training = start_training(lab)
    watch = Watch(lab, training.pid)
    until(lambda: b"step 1" in watch.log, "the copy of the output")
    watch.process.kill()
    watch.wait()
    until(lambda: not watch.record.is_held, "the recorder to follow the watch")
    again = Watch(lab, training.pid)
    assert again.record.path == watch.record.path
    again.process.kill()
    again.wait()
    assert is_alive(training.pid)
    until(lambda: not again.record.is_held, "the recorder to follow the watch")
    release(lab)
    training.wait()
    assert lab.gpualert("recover").returncode == 0
    verdict = until(lambda: watch.record.verdict, "the verdict of the recovery")
    assert verdict.headline == UNKNOWN
    assert watch.log == b"step 1 loss 0.5\n"


def test_one_watch_at_a_time(lab: Lab) -> None:
    """A second watch of the same process says which record the first one has."""
    training = start_training(lab)
    watch = Watch(lab, training.pid)
    second = lab.gpualert("attach", str(training.pid))
    assert second.returncode == 125
    assert f"already watched, as {watch.record.run_id}" in second.stderr.decode()


def test_stop_on_request(lab: Lab) -> None:
    """``gpualert stop`` ends the process, which its user may signal anyway, and is named for it."""
    training = start_training(lab)
    watch = Watch(lab, training.pid)
    assert lab.gpualert("stop", watch.record.run_id).returncode == 0
    assert watch.wait() == 128 + signal.SIGTERM
    assert training.wait() == -signal.SIGTERM
    verdict = watch.record.verdict
    assert verdict is not None
    assert verdict.cause == "cancelled"


def test_supervised_process_is_refused(lab: Lab) -> None:
    """A process of a run that gpualert supervises is left to its supervisor."""
    supervised = lab.launch(*python("import time; time.sleep(60)"))
    refused = lab.gpualert("attach", str(supervised.leader))
    assert refused.returncode == 125
    assert supervised.record.run_id in refused.stderr.decode()


@pytest.mark.parametrize("pid", ["2147483647", "0", "-1", "x", "99999999999"])
def test_no_such_process(lab: Lab, pid: str) -> None:
    """A number that no process has is an error that names it, and makes no record."""
    refused = lab.gpualert("attach", pid)
    assert refused.returncode == 125
    assert pid in refused.stderr.decode()
    assert not lab.records()


def test_output_that_is_no_file(lab: Lab) -> None:
    """Output to a pipe is not touched: nothing is read, and the verdict says what is not known."""
    training = start_training(lab, output=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert training.stdout is not None
    training.stdout.readline()
    watch = Watch(lab, training.pid)
    release(lab)
    assert watch.wait() == 0
    assert training.stdout.read() == b"step 2 loss 0.4\n"
    assert watch.log == b""
    assert "its stdout is a pipe" in watch.errors.read_text()
    verdict = watch.record.verdict
    assert verdict is not None
    assert any("its stdout is a pipe" in one for one in verdict.cannot_decide)
    (source,) = (one for one in verdict.sources if one.name == "output")
    assert not source.available


def open_pipe(lab: Lab) -> int:
    """Return a named pipe, open for both sides."""
    os.mkfifo(lab.home / "fifo")
    return os.open(lab.home / "fifo", os.O_RDWR)


def open_terminal(_lab: Lab) -> int:
    """Return the side of a new terminal that programs write to."""
    return os.openpty()[1]


def open_null(_lab: Lab) -> int:
    """Return the null device."""
    return os.open(os.devnull, os.O_WRONLY)


def open_socket(_lab: Lab) -> int:
    """Return one end of a pair of sockets."""
    ours, theirs = socket.socketpair()
    theirs.close()
    return ours.detach()


def open_unreadable(lab: Lab) -> int:
    """Return a file that its user may write to, and not read."""
    path = lab.home / "write-only"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    path.chmod(0o200)
    return fd


@pytest.mark.parametrize(
    ("open_output", "problem"),
    [
        (open_pipe, "a pipe"),
        (open_terminal, "a terminal"),
        (open_null, "/dev/null"),
        (open_socket, "a socket"),
        (open_unreadable, None),
    ],
)
def test_kinds_of_output(lab: Lab, open_output: Callable[[Lab], int], problem: str | None) -> None:
    """Each thing that is no readable file is named; none of them is opened."""
    fd = open_output(lab)
    training = lab.start(("sleep", "600"), stdout=fd, stderr=fd)
    process = read_foreign_process(training.pid)
    outputs = open_outputs(process)
    if problem is None:
        assert (outputs.problem is None) == (os.getuid() == 0)
    else:
        assert outputs.problem == f"its stdout is {problem}; its stderr is {problem}"
    os.close(fd)


def test_log_option(lab: Lab) -> None:
    """The file of --log is read in place of a pipe; another thing than a file is an error."""
    training = start_training(lab, output=None, stdout=subprocess.DEVNULL)
    log = lab.home / "own.log"
    log.write_text("step 1 loss 0.1\nTraceback (most recent call last):\nMemoryError\n")
    fifo = lab.home / "fifo"
    os.mkfifo(fifo)
    for path, problem in ((fifo, "a pipe"), (lab.home, "a folder"), (lab.home / "no", "No such")):
        refused = lab.gpualert("attach", "--log", str(path), str(training.pid))
        assert refused.returncode == 125
        assert problem in refused.stderr.decode()
    watch = Watch(lab, training.pid, "--log", str(log))
    release(lab)
    assert watch.wait() == 0
    assert watch.log == log.read_bytes()


def test_streams_apart(lab: Lab) -> None:
    """Two files of stdout and stderr are two logs."""
    code = TRAINING + "print('to stderr', file=sys.stderr)"
    with open(lab.home / "err.log", "wb") as errors, open(lab.home / "out.log", "wb") as out:
        training = lab.start(python(code), stdout=out, stderr=errors)
    watch = Watch(lab, training.pid)
    release(lab)
    watch.wait()
    assert watch.record.logs == ["stdout.log", "stderr.log"]
    assert Path(watch.record.log_path("stderr.log")).read_bytes() == b"to stderr\n"


@pytest.mark.e2e
def test_deleted_and_truncated_output(lab: Lab) -> None:
    """A log that was deleted is read on; one that is truncated is read from its start again."""
    code = TRAINING + "os.truncate(1, 0)\nprint('after')\n"
    training = start_training(lab, code)
    os.unlink(lab.home / "train.log")
    watch = Watch(lab, training.pid)
    until(lambda: b"step 1" in watch.log, "the copy of a deleted file")
    release(lab)
    assert watch.wait() == 0
    assert watch.log.startswith(b"step 1 loss 0.5\n")
    assert watch.log.endswith(b"after\n")


@pytest.mark.e2e
def test_long_output_before_the_watch(lab: Lab) -> None:
    """Of output before the watch the last 8 MiB are copied, from the start of a line on."""
    code = "for number in range(200_000): print(f'{number:99d}')\n"
    training = start_training(lab, code + TRAINING)
    until(lambda: (lab.home / "train.log").read_bytes().endswith(b"0.5\n"), "the output")
    watch = Watch(lab, training.pid)
    release(lab)
    assert watch.wait() == 0
    whole = (lab.home / "train.log").read_bytes()
    assert 8 << 20 >= len(watch.log) - 20 > (8 << 20) - 200
    assert whole.endswith(watch.log)
    assert whole[-len(watch.log) - 1 : -len(watch.log)] == b"\n"


@pytest.mark.e2e
def test_samples(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process, its children and its GPU are sampled from the begin of the watch on."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    training = start_training(lab, "import os\nos.fork()\n" + TRAINING)
    for name, value in environment(Scenario((hold(training.pid),)), tmp_path / "machine").items():
        monkeypatch.setenv(name, value)
    watch = Watch(lab, training.pid)
    telemetry = Telemetry()

    def is_sampled() -> bool:
        telemetry.read(watch.record)
        has_gpu = telemetry.series(f"gpu:0/pid:{training.pid}", "memory_used_bytes").last > 0
        return has_gpu and telemetry.series("host:tree", "processes").last == 2

    until(is_sampled, "the samples")
    release(lab)
    assert watch.wait() == 0
    assert telemetry.sources["nvml"].available
