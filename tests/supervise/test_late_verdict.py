"""A late verdict: the status does not wait for it, it is stored, and there is one alert.

A classifier that waits for a file stands for the overload: nothing here depends on the load.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from gpualert_common.history import History
from gpualert_common.record import VERDICT, Record
from tests.notify.alerting import alerts, body, mails, write_config
from tests.supervised import Lab, breaking, python, shell, status_of, until

FAILS = shell("echo RuntimeError: broken; sleep 2; exit 3")
"""A failed run that lasts long enough for the history."""
MISSING = "the verdict is still being made"


SLOW_DISK = (
    "import atexit, select, sys\n"
    "from gpualert_common.supervise.recorder import Recorder\n"
    "def finish(self, *a, real=Recorder._finish):\n"
    "    link = select.poll()\n"
    "    link.register(self._link.read_fd, 0)\n"
    "    link.poll()\n"
    "    real(self, *a)\n"
    "Recorder._finish = finish\n"
    "atexit.register(lambda: sys.stdin.read())\n"
)
"""The end is recorded once the supervisor has given up; the program exits once stdin is closed."""
LIMIT = (
    "import signal\n"
    "from gpualert_common.supervise import detachment\n"
    "detachment.LIMIT_S = 0.5\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGPROF])\n"
)
"""Little time for a late verdict, in a program that blocks the signals of the limits."""


class Gate:
    """A file that blocks every classifier until it is removed, by a ``patch`` of the program.

    Another ``reached`` file says that one waits.  ``more`` is added to the patch.
    """

    def __init__(self, lab: Lab, more: str = "") -> None:
        self._path = lab.home / "gate"
        self._path.touch()
        self.reached = lab.home / "reached"
        program = lab.home / "python"
        self.patch = (
            "import os, sys, time\n"
            "from gpualert_common.classifier import RunClassifier\n"
            "def conclude(self, *a, real=RunClassifier.conclude):\n"
            f"    open({str(self.reached)!r}, 'w').close()\n"
            f"    while os.path.exists({str(self._path)!r}): time.sleep(0.01)\n"
            "    return real(self, *a)\n"
            "RunClassifier.conclude = conclude\n"
            f"sys.executable = {str(program)!r}\n"
            f"{more}"
        )
        run = "import runpy\nsys.argv[:2] = []\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
        lab.script(program.name, f"#!{sys.executable}\n{self.patch}{run}")

    def open(self) -> None:
        """Let all classifiers go on."""
        self._path.unlink(missing_ok=True)


@pytest.fixture
def gate(lab: Lab) -> Gate:
    """A closed gate."""
    return Gate(lab)


def at_shell(patch: str, deadline_s: float, command: tuple[str, ...] = FAILS) -> tuple[str, ...]:
    """Return the command of a failing run at a shell."""
    options = ("--notify", "mailbox", "--notify-deadline", str(deadline_s))
    return (*breaking(patch), "run", *options, "--", *command)


def in_python(patch: str, deadline_s: float) -> tuple[str, ...]:
    """Return the command of a program that calls ``run()``."""
    return python(
        f"{patch}\n"
        "import os\n"
        "from gpualert_common import run\n"
        f"result = run({list(FAILS)}, notify='mailbox', notify_deadline={deadline_s})\n"
        "os._exit(result.exit_code)\n"
    )


def in_thread(patch: str, deadline_s: float) -> tuple[str, ...]:
    """Return the command of a program that calls ``run()`` in a thread."""
    return python(
        f"{patch}\n"
        "import sys, threading\n"
        "from gpualert_common import run\n"
        "codes = []\n"
        "def call():\n"
        f"    result = run({list(FAILS)}, notify='mailbox', notify_deadline={deadline_s})\n"
        "    codes.append(result.exit_code)\n"
        "thread = threading.Thread(target=call)\n"
        "thread.start()\n"
        "thread.join()\n"
        "sys.exit(codes[0])\n"
    )


def with_guardian(patch: str, deadline_s: float) -> tuple[str, ...]:
    """Return the command of an engine's task that follows its run."""
    return python(
        f"{patch}\n"
        "import os\n"
        "from gpualert_common.guardian import Attempt, RunHandle\n"
        "from gpualert_common.spec import RunSpec\n"
        "state_dir = os.environ['GPUALERT_STATE_DIR']\n"
        f"spec = RunSpec({list(FAILS)}, state_dir=state_dir, observe=False,\n"
        f"    alerts={alerts(deadline_s=deadline_s)})\n"
        "with RunHandle.launch(spec, Attempt(('task',))) as handle:\n"
        "    result = handle.wait()\n"
        "    handle.record_outcome('failed', final=True)\n"
        "    handle.await_alerts()\n"
        "os._exit(result.exit_code)\n"
    )


Way = Callable[[str, float], tuple[str, ...]]
WAYS = [at_shell, in_thread, with_guardian, pytest.param(in_python, marks=pytest.mark.e2e)]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def late_record(lab: Lab, known: int = 0) -> Record:
    """Wait until the verdict of a run is late, and return the record."""
    until(lambda: len(lab.records()) > known, "the record")
    record = Record.open(str(lab.records()[known]))
    until(lambda: record.event("verdict_late"), "the verdict to be late", 2 * 60)
    return record


def verdict_maker(lab: Lab, record: Record) -> int:
    """Return the process that holds the lock of the record."""

    def holds(fd: Path) -> bool:
        try:
            info = fd.parents[1] / "fdinfo" / fd.name
            return os.readlink(fd) == record.path and "FLOCK" in info.read_text()
        except OSError:
            return False

    return next(pid for pid in lab.living() if any(map(holds, Path(f"/proc/{pid}/fd").glob("*"))))


def sent(lab: Lab) -> list[Path]:
    """Return the files of the mails in the mailbox, which may be in the making."""
    return list(lab.state.glob("mailbox/new/*"))


def assert_complete(lab: Lab, *records: Record) -> None:
    """Assert that each run has its verdict and its row, and that one alert was sent for it."""
    for record in records:
        until(partial(record.has, VERDICT), "the verdict")
        assert record.verdict is not None
        assert record.verdict.cause == "runtime_error"
    until(lambda: len(sent(lab)) >= len(records), "the alerts")
    until(lab.is_empty, "nothing to be left of the run")
    assert set(History.open(str(lab.state)).read_all()) == {one.run_id for one in records}
    assert len({mail["Message-ID"] for mail in mails(lab)}) == len(mails(lab)) == len(records)


@pytest.mark.parametrize("way", WAYS)
def test_status_does_not_wait(lab: Lab, gate: Gate, way: Way) -> None:
    """The status comes without the verdict, which is completed and stored afterwards.

    The alert that did not wait for it says so, and is the only one.
    """
    done = lab.call(way(gate.patch, 0.0), timeout=120)  # returns at the end of both pipes
    assert done.returncode == 3, done.stderr
    record = lab.record()
    assert record.is_verdict_pending
    (row,) = lab.json("runs")["runs"]
    assert row["verdict_pending"]
    (row,) = lab.json("recover")["records"]
    assert row["outcome"] == f"supervised: {MISSING}"
    until(lambda: sent(lab), "the alert")
    gate.open()
    assert_complete(lab, record)
    assert MISSING in " ".join(body(mails(lab)[0]).split())


@pytest.mark.parametrize("way", WAYS)
def test_alert_waits(lab: Lab, gate: Gate, way: Way) -> None:
    """A verdict that is made before the deadline of the alert is in the alert."""
    task = lab.start(way(gate.patch, 120.0), **QUIET)
    record = late_record(lab)
    gate.open()
    assert task.wait(120) == 3
    assert_complete(lab, record)
    assert "runtime_error" in mails(lab)[0]["Subject"]


def test_closing_lines(lab: Lab, gate: Gate) -> None:
    """The program prints that the verdict is being made, and the command that shows it."""
    done = lab.call(at_shell(gate.patch, 0.0), timeout=120)
    assert MISSING.encode() in done.stderr
    assert f"gpualert show {lab.record().run_id}".encode() in done.stderr
    gate.open()
    assert_complete(lab, lab.record())


def test_stopped_recorder(lab: Lab, gate: Gate) -> None:
    """The status does not wait for a stopped recorder, which completes the verdict once it goes on.

    The program prints how to see the verdict, and ``show`` says that it is being made.
    """
    task = lab.start(at_shell(gate.patch, 0.0), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lab.records, "the record")
    record = lab.record()
    until(gate.reached.exists, "the classifier")  # the supervisor knows that the end is recorded
    pid = next(pid for pid in lab.living() if parent_of(pid) == task.pid)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: status_of(pid)[0] == "T", "the recorder to be stopped")
    assert task.wait(120) == 3
    until(lambda: sent(lab), "the alert")
    gate.open()
    page = " ".join(lab.gpualert("show").stdout.decode().split())
    assert "still being made" in page
    os.kill(pid, signal.SIGCONT)
    assert_complete(lab, record)
    assert task.stderr is not None
    assert f"gpualert show {record.run_id}".encode() in task.stderr.read()


@pytest.mark.parametrize("way", [at_shell, pytest.param(in_thread, marks=pytest.mark.e2e)])
def test_killed(lab: Lab, gate: Gate, way: Way) -> None:
    """When the process that makes the verdict is killed, ``recover`` makes it."""
    assert lab.call(way(gate.patch, 0.0), timeout=120).returncode == 3
    record = lab.record()
    os.kill(verdict_maker(lab, record), signal.SIGKILL)
    until(lambda: not record.is_verdict_pending, "the end of the process")
    gate.open()
    (row,) = lab.json("recover")["records"]
    assert row["outcome"] == "recovered"
    assert_complete(lab, record)


@pytest.mark.parametrize("way", [in_python, pytest.param(at_shell, marks=pytest.mark.e2e)])
def test_caller_killed(lab: Lab, gate: Gate, way: Way) -> None:
    """A caller that is killed while its alert waits for the verdict costs neither of them."""
    task = lab.start(way(gate.patch, 120.0), **QUIET)
    record = late_record(lab)
    task.kill()
    task.wait()
    gate.open()
    assert_complete(lab, record)
    assert "runtime_error" in mails(lab)[0]["Subject"]


@pytest.mark.e2e
@pytest.mark.parametrize("way", [at_shell, in_thread])
def test_two_at_once(lab: Lab, gate: Gate, way: Way) -> None:
    """Each of two runs gets its verdict and its alert."""
    tasks = [lab.start(way(gate.patch, 0.0), **QUIET) for _task in range(2)]
    assert [task.wait(120) for task in tasks] == [3, 3]
    gate.open()
    assert_complete(lab, *(Record.open(str(path)) for path in lab.records()))


@pytest.mark.parametrize("way", [at_shell, in_thread])
def test_limit(lab: Lab, way: Way) -> None:
    """A process that makes a verdict for too long ends, and its run has no verdict.

    It has an alert and a row in the history.
    """
    gate = Gate(lab, LIMIT)
    assert lab.call(way(gate.patch, 0.0), timeout=120).returncode == 3
    until(lambda: sent(lab), "the alert")
    until(lab.is_empty, "the process to end at its limit")
    assert not lab.record().is_verdict_pending
    assert lab.record().verdict is None
    assert len(mails(lab)) == 1
    assert list(History.open(str(lab.state)).read_all()) == [lab.record().run_id]


@pytest.mark.parametrize("way", [at_shell, in_thread])
def test_slow_disk(lab: Lab, gate: Gate, way: Way) -> None:
    """A recorder whose supervisor has gone on sends the alert, and then completes the verdict."""
    task = lab.start(way(gate.patch + SLOW_DISK, 0.0), **QUIET | {"stdin": subprocess.PIPE})
    record = late_record(lab)
    until(lambda: sent(lab), "the alert")
    assert task.stdin is not None
    task.stdin.close()
    assert task.wait(120) == 3
    gate.open()
    assert_complete(lab, record)
    assert MISSING in " ".join(body(mails(lab)[0]).split())


def test_alert_that_the_disk_does_not_take(lab: Lab, gate: Gate) -> None:
    """An alert that neither outbox nor events take is not sent again after the verdict."""
    calls = lab.home / "calls"
    code = json.dumps(["sh", "-c", f"echo called >> {calls}"])
    write_config(lab, f'[channels.mailbox]\nkind = "command"\ncommand = {code}\n')
    breaks = 'cd "$GPUALERT_STATE_DIR/runs/$GPUALERT_RUN_ID"; touch outbox; rm events.jsonl; '
    command = shell(f"{breaks} mkdir events.jsonl; {FAILS[-1]}")
    assert lab.call(at_shell(gate.patch, 0.0, command), timeout=120).returncode == 3
    until(calls.exists, "the alert")
    gate.open()
    until(lambda: lab.record().has(VERDICT), "the verdict")
    until(lab.is_empty, "nothing to be left of the run")
    assert calls.read_text() == "called\n"


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 for none."""
    fields = status_of(pid)
    return int(fields[1]) if fields else 0
