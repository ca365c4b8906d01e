"""A function in a separate process returns an answer, or the reason why there is none."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.isolation import NoAnswerError, run_isolated


def test_answer() -> None:
    """The result, small or large, comes back from another process."""
    pid, data = run_isolated(lambda: (os.getpid(), b"x" * 3_000_000), 30.0)
    assert pid != os.getpid()
    assert len(data) == 3_000_000


def test_error() -> None:
    """An exception comes back unchanged, with its attributes."""

    def fail() -> None:
        raise DeliveryError("the server said 421", transient=True)

    with pytest.raises(DeliveryError, match="421") as caught:
        run_isolated(fail, 30.0)
    assert caught.value.transient


class Unpicklable(Exception):  # noqa: N818 - named for what it is
    """Cannot travel between processes."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def test_error_that_cannot_travel() -> None:
    """An exception that does not pickle is replaced by its text."""

    def fail() -> None:
        raise Unpicklable("these ", "words")

    with pytest.raises(RuntimeError, match="these words"):
        run_isolated(fail, 30.0)


def test_exit_is_an_answer() -> None:
    """``sys.exit`` reaches the caller as an exception, and does not end it."""
    with pytest.raises(SystemExit):
        run_isolated(lambda: sys.exit(3), 30.0)


def crash() -> None:
    """Crash as a broken extension does, without pytest's report of it."""
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


def test_answer_of_a_process_that_left_a_child(tmp_path: Path) -> None:
    """An answer is returned at once, even if a background process is left."""
    ended = tmp_path / "ended"

    def answer() -> str:
        if os.fork() == 0:
            time.sleep(5)
            ended.touch()
            os._exit(0)
        return "done"

    assert run_isolated(answer, 30.0) == "done"
    assert not ended.exists()


@pytest.mark.parametrize(
    ("die", "words"),
    [
        pytest.param(lambda: os._exit(7), "status 7", id="_exit"),
        pytest.param(lambda: os._exit(0), "status 0", id="_exit-0"),
        pytest.param(crash, "signal 11", id="crash"),
        pytest.param(lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9", id="killed"),
    ],
)
def test_death(die: Callable[[], None], words: str) -> None:
    """The death of a process is reported with its signal or status."""
    with pytest.raises(NoAnswerError, match=words):
        run_isolated(die, 30.0)


def loop() -> None:
    """Run for ever."""
    while True:
        pass


def lock_the_interpreter() -> int:
    """Stay in C, where Python does not handle a signal."""
    big: int = 7
    return len(str(big ** (10**9)))


def ignore_signals() -> None:
    """Ignore every signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


@pytest.mark.parametrize(
    "hang", [loop, lock_the_interpreter, ignore_signals], ids=lambda f: f.__name__
)
def test_hang(hang: Callable[[], object], tmp_path: Path) -> None:
    """A function without an answer in time is killed."""
    written = tmp_path / "pid"

    def hang_by_name() -> object:
        written.write_text(str(os.getpid()))
        return hang()

    with pytest.raises(NoAnswerError, match=r"no answer within 0\.5 s"):
        run_isolated(hang_by_name, 0.5)
    pid = int(written.read_text())
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rsplit(") ", 1)[1][0] in "ZX"


def test_memory() -> None:
    """A function that allocates all memory fails."""
    with pytest.raises(MemoryError):
        run_isolated(lambda: len(b"x" * (1 << 40)), 30.0)
