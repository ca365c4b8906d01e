"""Tests of ``gpualert_run`` in sync and async flows on an ephemeral server."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.client.schemas.objects import State, TaskRun
from prefect_gpualert import TrainingFailed, gpualert_run

from tests.prefect.running import FACES, records, run
from tests.supervised import until

pytestmark = pytest.mark.usefixtures("harness")


# -- results ---------------------------------------------------------------------------------


@FACES
def test_last_line_of_stdout_is_returned(way: str, home: Path) -> None:
    """The result is the last line of stdout without trailing white space, never of stderr."""
    assert run(way, "echo one; echo 'two  '; echo not this >&2") == "two"


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("printf 'a\\n\\n b\\n\\n'", ["a", "", " b"]),
        ("true", []),
        ("printf 'caf\\351\\n'", ["caf\N{REPLACEMENT CHARACTER}"]),
        ("seq 30000", [str(number) for number in range(1, 30001)]),
    ],
    ids=["blank", "none", "latin-1", "many"],
)
def test_return_all(command: str, lines: list[str], home: Path) -> None:
    """The result is every line of stdout, with any bytes and in any number."""
    assert run("called", command, return_all=True) == lines


def test_no_output(home: Path) -> None:
    """A command without output returns an empty text."""
    assert run("called", "true") == ""


def test_long_line_is_one_line(home: Path) -> None:
    """A line is never cut at the size of a pipe; only beyond 64 KiB its front is left out."""
    assert run("called", f"{sys.executable} -c 'print(\"x\" * 60000)'") == "x" * 60000


# -- how it runs -----------------------------------------------------------------------------


def test_arguments_of_shell_run_command(home: Path) -> None:
    """env is added to the environment, helper_command runs before in the same shell, cwd holds."""
    (home / "inner").mkdir()
    command = "echo $(pwd) $GIVEN ${HOME:+home} $HELP"
    result = run(
        "called", command, env={"GIVEN": "given"}, helper_command="HELP=help", cwd=home / "inner"
    )
    assert result == f"{home / 'inner'} given home help"


@pytest.mark.parametrize("extension", [None, ".py"])
def test_other_interpreter(extension: str | None, home: Path) -> None:
    """Any program that runs a file can be the shell."""
    code = "import sys\nprint(sys.argv[0].endswith('.py'))"
    assert run("called", code, shell=sys.executable, extension=extension) == str(extension == ".py")


def test_long_command(home: Path) -> None:
    """A command that is too long for an argument runs from a file."""
    assert run("called", f"x={'y' * 200_000}\necho ${{#x}}") == "200000"


def test_stdin_is_empty(home: Path) -> None:
    """A command that reads stdin gets its end at once."""
    assert run("called", "cat; readlink /proc/self/fd/0") == "/dev/null"


def test_output_is_logged_at_stream_level(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Lines of both streams reach the run logger, one record a line, at the level asked for."""
    run("called", "echo out; echo err >&2", stream_level=logging.WARNING)
    levels = {record.getMessage(): record.levelno for record in caplog.records}
    assert levels["out"] == levels["err"] == logging.WARNING


def test_equal_tasks_have_separate_runs(home: Path) -> None:
    """Mapped equal commands all run, at the same time."""

    @flow
    def equal() -> list[str | list[str]]:
        return gpualert_run.map(["sleep 1; echo $$"] * 3).result()

    assert len(set(map(str, equal()))) == 3
    assert len(records(home)) == 3


def test_in_a_users_task_and_outside(home: Path) -> None:
    """Its function can be called in any task, and outside of tasks."""

    @task
    def mine() -> Any:
        return [gpualert_run.fn("echo a"), gpualert_run.fn("echo a")]

    @flow
    def outer() -> Any:
        return mine()

    assert outer() == ["a", "a"]
    assert gpualert_run.fn("echo b") == "b"
    assert len(records(home)) == 3


def test_merged_streams_keep_their_order(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With ``streams="merged"`` run log and result have the lines of both in their order."""
    command = "for n in 1 2 3 4; do echo out $n; echo err $n >&2; done"
    with caplog.at_level(logging.INFO):
        lines = run("called", command, return_all=True, streams="merged")
    expected = [f"{stream} {n}" for n in range(1, 5) for stream in ("out", "err")]
    assert lines == expected
    assert [one for one in caplog.messages if one in expected] == expected


def test_removed_log(home: Path) -> None:
    """A training whose log is removed continues, and its output is returned."""
    remove = "rm $GPUALERT_STATE_DIR/runs/$GPUALERT_RUN_ID/*.log"
    assert run("called", f"echo before; {remove}; sleep 1; echo after") == "after"


# -- how it fails ----------------------------------------------------------------------------


@FACES
def test_failure_is_raised(way: str, home: Path) -> None:
    """The first line has the cause and upstream's words; the last lines and the log follow."""
    code = "import sys; sys.stderr.write('trace\\n'); import no_such_module"
    with pytest.raises(TrainingFailed) as caught:
        run(way, f'{sys.executable} -c "{code}"')
    error = caught.value
    first, *rest = str(error).splitlines()
    assert first.startswith("missing_module: ")
    assert "Command failed with exit code 1" in first
    assert "ModuleNotFoundError: No module named 'no_such_module'" in rest
    assert (error.cause, error.exit_code) == ("missing_module", 1)
    assert error.verdict is not None
    assert Path(error.log_path or "").is_file()
    assert error.run_id == records(home)[0].run_id
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_message_of_a_failure_is_masked(home: Path) -> None:
    """Prefect stores the message: headline and log have no secret, nor the end of one."""
    program = home / "train.py"
    program.write_text(
        "print('password=' + 'Tr0ub4dor3' * 400)\n"
        "print('x ' * 3000)\n"
        "raise ValueError('login failed with password=' + 'Tr0ub4dor3' * 2)\n"
    )
    with pytest.raises(TrainingFailed) as caught:
        run("called", f"{sys.executable} {program}")
    message = str(caught.value)
    assert "[redacted credential]" in message.splitlines()[0]
    assert "Tr0ub4dor3Tr" not in message


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 41", 41), ("kill -SEGV $$", -11), ("no-such-command", 127)],
    ids=["exit", "signal", "missing"],
)
def test_exit_code(command: str, code: int, home: Path) -> None:
    """The error carries the command's own status."""
    with pytest.raises(TrainingFailed, match=f"Command failed with exit code {code}") as caught:
        run("called", command)
    assert caught.value.exit_code == code


def test_retries_train_again(home: Path) -> None:
    """A retry runs the command again, with its own record."""
    command = "test -e tried && echo second || { touch tried; exit 3; }"
    assert run("called", command, {"retries": 1}, cwd=home) == "second"
    assert [record.ending and record.ending.exit_code for record in records(home)] == [3, 0]


def test_retry_condition_sees_the_cause(home: Path) -> None:
    """``retry_condition_fn`` finds the attributes on the exception of the state."""
    causes = []

    def may(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
        error: Any = state.result(raise_on_failure=False)
        causes.append(error.cause)
        return False

    with pytest.raises(TrainingFailed):
        run("called", "no-such-command", {"retries": 3, "retry_condition_fn": may})
    assert causes == ["command_not_found"]
    assert len(records(home)) == 1


@FACES
def test_timeout_of_the_task(way: str, home: Path) -> None:
    """timeout_seconds stops the training, also in a thread, and the record says why."""
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        run(way, "sleep 60; true", {"timeout_seconds": 2})
    assert time.monotonic() - began < 10
    (record,) = records(home)
    verdict = record.read_json("verdict.json") or {}
    assert verdict["disposition"] == "timeout"
    assert "its timeout of 2 s was over" in str(verdict)


@FACES
def test_timeout_that_is_tried_again(way: str, home: Path) -> None:
    """A timeout that a retry follows is not final, and sends no alert."""
    script = "[ -e again ] && echo done || { touch again; sleep 60; true; }"
    options = {"timeout_seconds": 3, "retries": 1}
    assert run(way, script, options, cwd=home, notify="mailbox") == "done"
    outcomes = [record.read_json("outcome.json") or {} for record in records(home)]
    assert [(one["state"], one["final"]) for one in outcomes] == [
        ("stopped", False),
        ("success", True),
    ]
    assert not (home / "state" / "mailbox").exists()


def test_timeout_of_the_flow(home: Path) -> None:
    """A flow's timeout applies to its trainings, too."""

    @flow(timeout_seconds=3)
    def trains() -> None:
        gpualert_run("sleep 60; true")

    with pytest.raises(TimeoutError):
        trains()
    (record,) = records(home)
    assert (record.read_json("verdict.json") or {})["disposition"] == "timeout"


def test_timeout_of_the_run(home: Path) -> None:
    """Our own limit holds without the engine, and gives 124."""
    with pytest.raises(TrainingFailed) as caught:
        run("called", "sleep 60; true", timeout="1s", grace=1)
    assert caught.value.exit_code == 124
    assert caught.value.cause == "time_limit"


def test_stopped_by_a_person(home: Path) -> None:
    """A stopped training is no success, also if it saves a checkpoint and exits with 0."""
    command = f"{sys.executable} -m gpualert_common stop $GPUALERT_RUN_ID; sleep 60 & wait; exit 0"
    with pytest.raises(TrainingFailed) as caught:
        run("called", f"trap 'exit 0' TERM; {command}", grace=5)
    assert caught.value.exit_code == 0
    assert caught.value.cause == "cancelled"


def test_wrong_argument_starts_nothing(home: Path) -> None:
    """Invalid arguments are an error before the launch."""
    with pytest.raises(Exception, match="no-such-directory"):
        run("called", "true", cwd=home / "no-such-directory")
    assert not list((home / "state").glob("runs/*/output.idx"))


def test_flow_that_does_not_wait(home: Path) -> None:
    """A flow that ends before its submitted training lets it finish, as upstream does."""

    @flow
    def hasty() -> str:
        gpualert_run.submit("sleep 2; echo done")
        until(lambda: list((home / "state" / "runs").glob("*")), "the training to start")
        return "over"

    assert hasty() == "over"
    (record,) = records(home)
    assert record.ending is not None
    assert (record.ending.exit_code, record.ending.signal) == (0, None)


# -- as a collection -------------------------------------------------------------------------


def test_import_is_cheap() -> None:
    """The import in servers and workers loads neither Prefect nor other heavy modules."""
    code = (
        "import sys, prefect_gpualert;"
        "heavy = {'prefect', 'gpualert_common.api', 'dataclasses'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ)
    assert (done.returncode, done.stderr) == (0, b"")


def test_is_a_collection() -> None:
    """Prefect finds the package by its entry point."""
    (found,) = entry_points(group="prefect.collections", name="prefect_gpualert")
    assert found.load().gpualert_run is gpualert_run


def test_options_of_the_core(home: Path) -> None:
    """An option that is an argument of the task reaches the run."""
    run("called", "true", observe=False, warn=True, grace="9s", notify="mailbox")
    (record,) = records(home)
    assert (record.spec.observe, record.spec.grace_s) == (False, 9.0)
    assert (record.spec.alerts or {}).get("warn")
