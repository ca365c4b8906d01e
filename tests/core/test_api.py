"""``run()`` inside a caller's process: its exceptions, threads, signals and descriptors."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from gpualert_common import run
from gpualert_common.errors import GPUAlertError
from tests.supervised import Lab, exit_of, is_alive, listener, python, shell, until


class TaskTimeout(BaseException):
    """Exception that an engine raises in its task from a signal handler."""


@pytest.fixture
def throws() -> Iterator[Callable[[type[BaseException], float, int], None]]:
    """Return a function that raises an exception in ``run()``, after seconds, several times."""

    def arm(
        error: type[BaseException],
        after_s: float,
        times: int = 1,
        once: Callable[[], object] = lambda: True,
    ) -> None:
        thrown = 0

        def throw(_number: int, frame: FrameType | None) -> None:
            nonlocal thrown
            if not (_is_below(run, frame) and once()):  # not yet, or it has returned
                signal.setitimer(signal.ITIMER_REAL, 0 if thrown else 0.001)
                return
            thrown += 1
            if thrown >= times:
                signal.setitimer(signal.ITIMER_REAL, 0)
            raise error

        signal.signal(signal.SIGALRM, throw)
        signal.setitimer(signal.ITIMER_REAL, after_s, after_s if times > 1 else 0)

    before = signal.getsignal(signal.SIGALRM)
    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _is_below(function: Callable[..., object], frame: FrameType | None) -> bool:
    """True while the function is called, except in a finalizer, whose exceptions Python ignores."""
    while frame is not None and frame.f_code is not function.__code__:
        if frame.f_code.co_name == "__del__":
            return False
        frame = frame.f_back
    return frame is not None


Throws = Callable[..., None]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TaskTimeout, SystemExit, RuntimeError])
def test_exception_stops_the_child(lab: Lab, throws: Throws, error: type[BaseException]) -> None:
    """An exception of the caller stops the child, completes the record, and is raised again."""
    throws(error, 0.3, once=lambda: lab.has_output(b"ready"))
    with pytest.raises(error):
        run(listener())
    assert lab.is_empty()
    received = "SIGINT" if error is KeyboardInterrupt else "SIGTERM"
    assert lab.log("output.log").decode() == f"ready\nreceived {received}\n"
    ending = exit_of(lab.record())
    assert (ending["code"], ending["signal"]) == (0, getattr(signal, received))
    assert ending["sender"] == {"command": error.__name__, "pid": os.getpid()}


def test_exception_lets_the_child_save(lab: Lab, throws: Throws) -> None:
    """The child has its grace also after an exception."""
    throws(TaskTimeout, 0.3)
    code = "trap 'sleep 0.5; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    with pytest.raises(TaskTimeout):
        run(shell(code))
    assert lab.log("output.log").endswith(b"saved\n")


@pytest.mark.parametrize("times", [2, 3, 5])
def test_exception_that_comes_again(lab: Lab, throws: Throws, times: int) -> None:
    """A second exception during the grace kills the child, and the run is still completed."""
    throws(KeyboardInterrupt, 0.3, times)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(listener("SIGUSR1", "SIGINT,SIGTERM"), grace="1h")
    assert time.monotonic() - begin < 15
    assert lab.is_empty()
    assert exit_of(lab.record())["code"] == -signal.SIGKILL


def test_exception_at_any_moment(lab: Lab, throws: Throws) -> None:
    """After an exception at any moment from the launch on, no child is left.

    A run that ended before its record was complete is recovered by a process of the next one.
    """
    command = shell("exec sleep 1000")
    run(["true"])  # imports the modules that are loaded late
    for step in range(40):
        throws(KeyboardInterrupt, 0.0002 + step * 0.0003)
        with pytest.raises((KeyboardInterrupt, GPUAlertError)):
            run(command, sync=False)
        assert not any(map(_sleeps, lab.living())), f"left behind by an exception at step {step}"
    until(lab.is_empty, "the recoveries to end")


def _sleeps(pid: int) -> bool:
    """True while the process is the child of a run."""
    try:
        return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_handlers_of_the_caller_are_unchanged(lab: Lab) -> None:
    """``run()`` changes no signal handler, mask, working directory or environment."""
    assert lab.is_empty()

    def state() -> object:
        handlers = [signal.getsignal(number) for number in signal.valid_signals()]
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        return handlers, mask, os.getcwd(), dict(os.environ), threading.active_count()

    before = state()
    run(shell("sleep 0.1"))
    until(lambda: state() == before, "everything to be as it was")


def test_no_descriptor_is_leaked(lab: Lab) -> None:
    """A run whose result is dropped keeps no descriptor open."""
    assert lab.is_empty()

    def open_descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    run(["true"])
    before = open_descriptors()
    for _run in range(5):
        run(["true"])
        run(shell("sleep 0.05"))
        run(["no-such-program"])
    until(lambda: open_descriptors() <= before, "the descriptors to be given back", 5)


def test_record_is_free_when_the_run_is_over(lab: Lab) -> None:
    """After ``run()`` nothing holds the record, although the result can still read it."""
    result = run(["true"])
    again = type(result.record).open(result.record.path)
    assert not again.is_held
    assert again.take()
    assert result.record.read_json("exit.json")
    assert lab.is_empty()


def test_in_a_thread(lab: Lab) -> None:
    """``run()`` works in a thread other than the main one."""
    assert lab.is_empty()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, shell("sleep 0.1; exit 3")).result(30).exit_code == 3


def test_in_eight_threads_at_once(lab: Lab) -> None:
    """Eight runs at once do not mix up their statuses, logs or verdicts."""
    assert lab.is_empty()
    with ThreadPoolExecutor(8) as pool:
        runs = [
            pool.submit(run, shell(f"echo {n}; sleep 0.0{n % 10}; exit {n}")) for n in range(40)
        ]
        results = [future.result(60) for future in runs]
    assert [result.exit_code for result in results] == list(range(40))
    for number, result in enumerate(results):
        assert Path(result.log_path).read_text() == f"{number}\n"
        assert result.verdict is not None
        assert result.verdict.exit_code == number


CALLER = """
import os, signal, sys, threading
{before}
from gpualert_common import run
for command, expected in [
    (["sh", "-c", "exit 3"], 3),
    (["sh", "-c", "sleep 0.1; exit 4"], 4),
    (["sh", "-c", "sleep 0.05; kill -9 $$"], -9),
    (["true"], 0),
] * 5:
    code = run(command).exit_code
    assert code in (expected, {allowed}), (command, code)
os._exit(77)
"""


def test_caller_that_ignores_sigchld(lab: Lab) -> None:
    """If the kernel reaps children by itself the status is right or unknown, never wrong."""
    before = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    done = lab.call(python(CALLER.format(before=before, allowed=None)))
    assert done.returncode == 77, done.stderr.decode()


def test_caller_that_reaps_everything(lab: Lab) -> None:
    """If another thread reaps our child the status is right or unknown, never wrong."""
    before = """
def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            pass
threading.Thread(target=reap, daemon=True).start()
"""
    done = lab.call(python(CALLER.format(before=before, allowed=None)))
    assert done.returncode == 77, done.stderr.decode()


def test_caller_with_blocked_signals(lab: Lab) -> None:
    """A caller that blocks every signal still gets the right status."""
    before = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
    done = lab.call(python(CALLER.format(before=before, allowed=0)))
    assert done.returncode == 77, done.stderr.decode()


def test_caller_without_descriptors_to_spare(lab: Lab) -> None:
    """Near the limit of descriptors a run raises before the launch or has the right status."""
    code = (
        "import os, resource\n"
        "from gpualert_common import run\n"
        "from gpualert_common.errors import GPUAlertError\n"
        "run(['true'])\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
        "taken = []\n"
        "try:\n"
        "    while True: taken.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError: pass\n"
        "for free in range(16):\n"
        "    if free: os.close(taken.pop())\n"
        "    try:\n"
        "        assert run(['sh', '-c', 'sleep 0.02; exit 3']).exit_code == 3, free\n"
        "    except GPUAlertError as error:\n"
        "        print(free, error)\n"
        "os._exit(77)\n"
    )
    done = lab.call(python(code))
    assert done.returncode == 77, done.stdout.decode() + done.stderr.decode()
    until(lab.is_empty, "nothing to be left")


def test_caller_that_was_forked(lab: Lab) -> None:
    """A child that the caller forked can run, as engines fork their task runners."""
    code = (
        "import os\n"
        "from gpualert_common import run\n"
        "run(['true'])\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(run(['sh', '-c', 'sleep 0.05; exit 3']).exit_code)\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert lab.call(python(code)).returncode == 3


def test_caller_that_is_killed(lab: Lab) -> None:
    """If the caller is killed the child continues, and the record is lost."""
    code = "from gpualert_common import run; run(['sh', '-c', 'echo ready; sleep 3; echo end'])"
    caller = lab.start(python(code))
    until(lambda: any(lab.state.glob("runs/*/events.jsonl")), "the launch")
    caller.kill()
    caller.wait()
    until(lab.is_empty, "the child to end by itself")
    assert lab.log("output.log") == b"ready\nend\n"
    assert lab.record().state == "lost"


def test_stop_of_a_run_of_the_api(lab: Lab) -> None:
    """``gpualert stop`` ends a run of the API too, and records the sender."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run, listener())
        until(lambda: lab.has_output(b"ready\n"), "the child")
        assert lab.gpualert("stop").returncode == 0
        result = future.result(30)
    assert result.exit_code == 0
    assert exit_of(result.record)["sender"]["command"] == "gpualert stop"


def test_result_of_a_run(lab: Lab) -> None:
    """A result has the status, the log's path, the record and the verdict."""
    result = run(
        shell("echo 'RuntimeError: x' >&2; exit 1"), name="mnist", state_dir=lab.home / "s"
    )
    assert result.exit_code == 1
    assert Path(result.log_path).read_text() == "RuntimeError: x\n"
    assert Path(result.log_path).is_relative_to(lab.home / "s")
    assert result.record.spec.name == "mnist"
    assert result.verdict is not None
    assert result.verdict.run_id == result.record.run_id
    assert result.verdict.disposition == "failed"


def test_result_names_every_log(lab: Lab) -> None:
    """A result names all logs: one, or those of stdout and stderr; the main one has the error."""
    command = shell("echo out; echo err >&2")
    apart, merged = (run(command, streams=streams) for streams in ("apart", "merged"))
    assert [Path(path).read_text() for path in apart.log_paths] == ["out\n", "err\n"]
    assert apart.log_path == apart.log_paths[-1]
    assert merged.log_paths == (merged.log_path,)
    failed = run(shell("echo 'MemoryError: no room'; echo err >&2; exit 1"), streams="apart")
    assert failed.log_path == failed.log_paths[0]


def test_environment_and_directory_of_the_child(lab: Lab) -> None:
    """``env`` replaces the environment, ``cwd`` may be a path object."""
    result = run(["/bin/sh", "-c", "pwd; echo $ONLY$HOME"], cwd=lab.home, env={"ONLY": "this"})
    assert Path(result.log_path).read_text() == f"{lab.home}\nthis\n"


def test_child_has_its_own_session(lab: Lab) -> None:
    """The child leads its own session, out of reach of signals to the caller's group."""
    assert lab.is_empty()
    result = run(python("import os; print(os.getpid() == os.getsid(0) == os.getpgrp())"))
    assert Path(result.log_path).read_text() == "True\n"


@pytest.mark.parametrize("lasts_s", [0.1, 1.5], ids=["alone", "observed"])
@pytest.mark.parametrize("options", [{}, {"log_full": "drop"}, {"pty": True}])
def test_no_zombie_is_left(lab: Lab, options: dict[str, Any], lasts_s: float) -> None:
    """After ``run()`` the caller has no child of ours, dead or alive."""
    assert lab.is_empty()
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text().split()  # a test before this one may have left one of its own
    run(shell(f"sleep {lasts_s}"), **options)
    assert set(children.read_text().split()) <= set(before)


def test_leader_is_dead_when_the_run_is_over(lab: Lab) -> None:
    """A status is given only once the child is dead."""
    result = run(shell("echo $$; sleep 0.1; exit 3"))
    assert not is_alive(int(Path(result.log_path).read_text()))
    assert lab.is_empty()


def test_a_slow_classifier_still_concludes(lab: Lab) -> None:
    """For a slow log the middle is skipped; the verdict is made, and the caller returns in time."""
    script = lab.script("train.py", "print('loss: nan\\n' * 8_000_000)\n1/0\n")
    program = (
        "from gpualert_common import run\n"
        f"result = run(['python3', {script!r}])\n"
        "print(result.exit_code, [one.cause for one in result.verdict.secondary])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 ['div_zero']\n"), done.stderr
