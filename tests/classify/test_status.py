"""The exit status is the child's, in the program and in the API alike."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import record_locations, run
from gpualert_common.errors import NoDurableLogError, UsageError
from tests.supervised import Lab, exit_of, python, shell

CODES = (0, 1, 2, 3, 42, 99, 124, 125, 126, 127, 128, 137, 200, 255)
SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGABRT,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGTERM,
)

codes = pytest.mark.parametrize("code", CODES)
signals = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)


def dies_of(number: int) -> tuple[str, ...]:
    """Return a command that a signal ends."""
    return shell(f"ulimit -c 0; kill -{int(number)} $$")


@codes
def test_program_exits_with_the_code_of_the_child(lab: Lab, code: int) -> None:
    """``gpualert run`` exits with the child's code, and the record says the same."""
    assert lab.run(*shell(f"exit {code}")).returncode == code
    assert exit_of(lab.record())["code"] == code
    assert exit_of(lab.record())["limit"] is None


@codes
def test_api_returns_the_code_of_the_child(lab: Lab, code: int) -> None:
    """``run()`` returns the child's code."""
    assert run(shell(f"exit {code}"), cwd=lab.home).exit_code == code


@signals
def test_program_exits_with_128_plus_the_signal(lab: Lab, number: int) -> None:
    """A child killed by signal n gives 128+n in the shell and -n in the record."""
    assert lab.run(*dies_of(number)).returncode == 128 + number
    assert exit_of(lab.record())["code"] == -number


@signals
def test_api_returns_minus_the_signal(lab: Lab, number: int) -> None:
    """A child killed by signal n gives -n in Python."""
    assert run(dies_of(number), cwd=lab.home).exit_code == -number


def test_code_above_128_is_no_signal(lab: Lab) -> None:
    """A child that exits with 137 by itself was not killed, and is recorded so."""
    assert lab.run(*shell("exit 137")).returncode == 137
    assert exit_of(lab.record())["code"] == 137


def test_status_is_the_leaders(lab: Lab) -> None:
    """A background process neither delays the status nor changes it."""
    done = lab.run(*shell("sleep 1000 & exit 3"), timeout=10)
    assert done.returncode == 3


# -- programs that cannot be started -----------------------------------------------------------


def _missing(_lab: Lab) -> str:
    return "no-such-program"


def _missing_path(lab: Lab) -> str:
    return str(lab.home / "no-such-program")


def _no_interpreter(lab: Lab) -> str:
    return lab.script("lost", "#!/no/such/interpreter\n")


def _plain_file(lab: Lab) -> str:
    return lab.script("notes.txt", "not a program\n", mode=0o644)


def _directory(lab: Lab) -> str:
    return str(lab.home)


def _no_first_line(lab: Lab) -> str:
    return lab.script("headless", "echo hi\n")


def _below_a_file(lab: Lab) -> str:
    return lab.script("file", "") + "/program"


def _loop(lab: Lab) -> str:
    (lab.home / "loop").symlink_to("loop")
    return str(lab.home / "loop")


def _endless_name(_lab: Lab) -> str:
    return "/" + "x" * 300


def _damaged_program(lab: Lab) -> str:
    return lab.script("damaged", "\x7fELF damaged")


NOT_STARTED: tuple[tuple[Callable[[Lab], str], int], ...] = (
    (_missing, 127),
    (_missing_path, 127),
    (_no_interpreter, 127),
    (_plain_file, 126),
    (_directory, 126),
    (_no_first_line, 126),
    (_below_a_file, 126),
    (_loop, 126),
    (_endless_name, 126),
    (_damaged_program, 126),
)
not_started = pytest.mark.parametrize(
    ("make", "status"), NOT_STARTED, ids=[make.__name__.strip("_") for make, _ in NOT_STARTED]
)


@not_started
def test_program_that_cannot_be_started(lab: Lab, make: Callable[[Lab], str], status: int) -> None:
    """The status is 126 or 127, as in a shell, with the reason in the log and in the record."""
    program = make(lab)
    done = lab.run(program)
    assert done.returncode == status
    assert f"cannot execute {program!r}".encode() in lab.log("stderr.log")
    assert exit_of(lab.record())["started"] is False


@not_started
def test_api_with_a_program_that_cannot_be_started(
    lab: Lab, make: Callable[[Lab], str], status: int
) -> None:
    """The API returns 126 or 127, without an exception."""
    assert run([make(lab)]).exit_code == status


@pytest.mark.parametrize("what", ["argument", "variable"])
def test_too_much_for_execve(lab: Lab, what: str) -> None:
    """An argument or a variable that is too large gives 126, with the reason."""
    big = "x" * (1 << 20)
    if what == "argument":
        result = run(["true", big])
    else:
        result = run(["true"], env={**os.environ, "BIG": big})
    assert result.exit_code == 126
    assert exit_of(result.record)["start_error"][0] == errno.E2BIG


def test_program_that_is_being_written(lab: Lab) -> None:
    """A program file that is open for writing is 126."""
    program = lab.script("busy", "#!/bin/sh\n")
    with open(program, "a", encoding="ascii"):
        assert run([program]).exit_code == 126


# -- nothing is launched -----------------------------------------------------------------------


@pytest.mark.parametrize("command", [("--",), ("--cwd", "{home}/nowhere", "--", "true")])
def test_program_that_cannot_be_prepared(lab: Lab, command: tuple[str, ...]) -> None:
    """Without a command or a working directory the status is 125, with one line and no record."""
    done = lab.gpualert("run", *(argument.format(home=lab.home) for argument in command))
    assert done.returncode == 125
    assert done.stderr.startswith(b"gpualert: error: ")
    assert not lab.records()


@pytest.mark.parametrize(
    ("command", "cwd", "words"),
    [
        ([], None, "no command"),
        (["true", "a\0b"], None, "NUL"),
        (["true"], "nowhere", "working directory"),
        (["true"], "file", "working directory"),
        ("true", None, "a list"),
    ],
    ids=["empty", "nul", "missing-cwd", "cwd-is-a-file", "text"],
)
def test_api_refuses_what_cannot_be_run(
    lab: Lab, command: list[str], cwd: str | None, words: str
) -> None:
    """An invalid call is a UsageError with the reason, and no record is left."""
    lab.script("file", "")
    with pytest.raises(UsageError, match=words):
        run(command, cwd=None if cwd is None else lab.home / cwd)
    assert not lab.records()


def test_working_directory_that_may_not_be_entered(lab: Lab) -> None:
    """If the cwd is removed just before the launch, nothing is launched and nothing is left."""
    code = (
        "import os, gpualert_common.supervise as supervise\n"
        "def late(spec, real=supervise.prepare_run):\n"
        "    prepared = real(spec)\n"
        "    os.rmdir(spec.cwd)\n"
        "    return prepared\n"
        "supervise.prepare_run = late\n"
        "from gpualert_common import run\n"
        "run(['true'], cwd='vanishing')\n"
    )
    (lab.home / "vanishing").mkdir()
    done = lab.call(python(code))
    assert b"UsageError: working directory 'vanishing'" in done.stderr
    assert not lab.records()


def test_no_place_for_the_log(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any place nothing is launched, and all places that were tried are listed."""
    file = lab.script("file", "")
    places = {
        "GPUALERT_STATE_DIR": f"{file}/state",
        "XDG_STATE_HOME": "/proc/nowhere",
        "TMPDIR": f"{file}/tmp",
    }
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    marker = lab.home / "launched"
    done = lab.run("touch", str(marker))
    assert done.returncode == 125
    assert not marker.exists()
    for tried in record_locations.list_state_dirs(f"{file}/state"):
        assert f"\n  {tried}: ".encode() in done.stderr
    with pytest.raises(NoDurableLogError) as caught:
        run(["touch", str(marker)])
    assert len(caught.value.tried) == 3
    assert not marker.exists()


# -- our own time limit ------------------------------------------------------------------------


def test_time_limit_gives_124(lab: Lab) -> None:
    """Our time limit gives 124; the child's own status is recorded separately."""
    done = lab.gpualert("run", "--timeout", "0.2", "--", "sleep", "1000")
    assert done.returncode == 124
    assert exit_of(lab.record())["limit"] == "time"
    assert exit_of(lab.record())["code"] == -signal.SIGTERM


def test_time_limit_of_a_child_that_ends_well(lab: Lab) -> None:
    """Our time limit gives 124 even if the child saved and exited with 0."""
    child = shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done")
    done = lab.gpualert("run", "--timeout", "0.3", "--", *child)
    assert done.returncode == 124
    assert exit_of(lab.record())["code"] == 0


def test_time_limit_in_the_api(lab: Lab) -> None:
    """``timeout`` in the API gives 124 and ends the child."""
    result = run(["sleep", "1000"], timeout=0.2)
    assert result.exit_code == 124
    assert lab.is_empty()


def test_child_within_the_time_limit(lab: Lab) -> None:
    """A limit that is not reached changes nothing."""
    assert run(["true"], timeout="10m").exit_code == 0


def test_time_limit_names_no_sender(lab: Lab) -> None:
    """A stop by our own limit has no sender."""
    result = run(["sleep", "1000"], timeout=0.1)
    ending = exit_of(result.record)
    assert ending["signal"] is None
    assert ending["sender"] is None


def test_record_of_a_short_run_is_whole(lab: Lab) -> None:
    """A child of a millisecond has a record with log, ending and verdict like any other."""
    result = run(shell("echo hello"))
    path = Path(result.record.path)
    assert {"spec.json", "output.log", "exit.json", "verdict.json"} <= set(os.listdir(path))
    assert (path / "output.log").read_bytes() == b"hello\n"
