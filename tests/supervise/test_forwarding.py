"""The reader of our stdout gets all output once, and a message about any loss."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.supervised import PROGRAM, Lab, python, shell, until


def test_new_recorder_repeats_nothing(lab: Lab) -> None:
    """Another recorder continues after the killed one: the reader gets each line once."""
    run = lab.launch(
        *shell("echo one; echo two; until [ -e go ]; do sleep 0.01; done; echo three; exit 3"),
        stdout=subprocess.PIPE,
    )
    assert run.process.stdout is not None
    assert [run.process.stdout.readline() for _ in range(2)] == [b"one\n", b"two\n"]
    (recorder,) = [
        pid
        for pid, command in lab.living().items()
        if "gpualert_common" in command and pid != run.process.pid
    ]
    os.kill(recorder, signal.SIGKILL)
    (lab.home / "go").touch()
    assert run.process.stdout.read() == b"three\n"
    assert run.wait() == 3


def test_a_second_recorder_takes_requests(lab: Lab) -> None:
    """After the death of its recorder a run still obeys ``stop``."""
    run = lab.launch("sleep", "60")
    (recorder,) = [
        pid
        for pid, command in lab.living().items()
        if "gpualert_common" in command and pid != run.process.pid
    ]
    os.kill(recorder, signal.SIGKILL)
    done = lab.gpualert("stop", run.record.run_id)
    assert (done.returncode, run.wait()) == (0, 128 + signal.SIGTERM)


def test_a_signal_in_the_first_moment_leaves_the_recorder(lab: Lab) -> None:
    """An early signal does not prevent the start of the recorder: output and events arrive."""
    child = python(
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
        "os.kill(os.getppid(), signal.SIGUSR1)\n"
        "print('alive')\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
    )
    run = lab.launch(*child, stdout=subprocess.PIPE)
    assert run.process.stdout is not None
    assert run.process.stdout.readline() == b"alive\n"
    (lab.home / "go").touch()
    assert run.wait() == 0


def test_a_non_blocking_pipe_gets_every_byte(lab: Lab) -> None:
    """A parent that made our stdout non-blocking, as node does, still gets all output."""
    size = 1_000_000
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    process = lab.start(
        (*PROGRAM, "run", "-q", "--", *python(f"print('x' * {size})")), stdout=writer
    )
    os.close(writer)
    time.sleep(0.3)  # a reader that is late: the pipe is full by then
    with open(reader, "rb") as stream:
        assert len(stream.read()) == size + 1
    assert process.wait(30) == 0


def test_output_that_cannot_be_written_is_reported(lab: Lab) -> None:
    """A full disk behind our stdout changes no status, and is reported on stderr and in the
    record."""
    with open("/dev/full", "wb") as full:
        done = lab.run("echo", "hello", stdout=full)
    assert done.returncode == 0
    assert b"output not passed on: [Errno 28]" in done.stderr
    assert lab.record().event("output_lost") is not None
    assert lab.log() == b"hello\n"


def test_our_messages_begin_on_a_new_line(lab: Lab) -> None:
    """After output without a final newline our last message is on the next line."""
    done = lab.gpualert("run", "--", "printf", "no newline", stderr=subprocess.STDOUT)
    assert done.stdout.startswith(b"no newline\ngpualert: ")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_separate_streams(lab: Lab, stream: str) -> None:
    """stdout and stderr arrive where the caller sent them."""
    done = lab.run(*shell("echo out; echo err >&2"))
    assert getattr(done, stream).splitlines()[0] == stream[3:].encode()


def test_follow_after_a_truncation(lab: Lab) -> None:
    """``follow`` continues at the start of a log that was truncated."""
    run = lab.launch(
        *shell("echo a long first line; until [ -e go ]; do sleep 0.01; done; echo after")
    )
    follower = lab.start((*PROGRAM, "follow", run.record.run_id), stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"a long first line\n"
    index = Path(run.record.path) / "output.idx"
    until(lambda: index.exists() and b" 18" in index.read_bytes(), "the log to be looked at")
    os.truncate(run.record.log_path(run.record.logs[0]), 0)
    until(lambda: run.record.event("log_truncated"), "the event of the truncation")
    time.sleep(0.3)  # the follower has no event to wait for
    (lab.home / "go").touch()
    assert follower.communicate(timeout=30)[0] == b"after\n"
