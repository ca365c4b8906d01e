"""Tests of ``TrainingOperation`` and its run, in flows, in tasks and outside of both."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.blocks.core import Block
from prefect_gpualert import (
    MailChannel,
    TrainingFailed,
    TrainingOperation,
    TrainingRun,
    gpualert_run,
    publishing,
)
from prefect_gpualert.interrupts import Interrupts
from prefect_gpualert.training import Training
from pydantic import SecretStr, ValidationError

from gpualert_common.errors import SupersededError, UsageError
from gpualert_common.guardian import Attempt
from gpualert_common.spec import RunSpec
from tests.prefect.running import records
from tests.supervised import Lab, is_alive, until

pytestmark = pytest.mark.usefixtures("harness")

WAYS = pytest.mark.parametrize("way", ["run", "arun", "trigger", "atrigger", "task", "submit"])


def result_of(operation: TrainingOperation, way: str) -> list[str]:
    """Return the result of an operation in its own flow."""

    @task
    def operate() -> Any:
        return operation.run()

    @flow
    def called() -> Any:
        if way == "task":
            return operate()
        if way == "submit":
            return operate.submit().result()
        if way == "run":
            return operation.run()
        with operation:
            run = operation.trigger()
            run.wait_for_completion()
            return run.fetch_result()

    @flow
    async def awaited() -> Any:
        if way == "arun":
            return await operation.run()
        async with operation:
            run = await operation.trigger()
            await run.wait_for_completion()
            return await run.fetch_result()

    found: Any = asyncio.run(awaited()) if way in ("arun", "atrigger") else called()
    return list(found)


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Collect the log lines of the block and its run."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    for name in ("TrainingOperation", "TrainingRun"):
        logger = logging.getLogger(f"prefect.{name}")
        logger.setLevel(logging.INFO)
        logger.addHandler(Keep())
    return found


# -- results ---------------------------------------------------------------------------------


@WAYS
def test_lines_of_stdout(way: str, home: Path) -> None:
    """The result is every line of stdout that is not empty, and none of stderr."""
    commands = ["echo one", "printf '  two  \\n\\n'", "echo not this >&2", "printf 'caf\\351'"]
    lines = ["one", "  two", "caf\N{REPLACEMENT CHARACTER}"]
    assert result_of(TrainingOperation(commands=commands), way) == lines


@WAYS
def test_failure(way: str, home: Path) -> None:
    """The error has the cause, the text of ShellOperation's error, and the verdict."""
    with pytest.raises(
        TrainingFailed, match=r"^\w+: .*\(PID \d+ failed with return code 3"
    ) as caught:
        result_of(TrainingOperation(commands=["import_nothing", "exit 3"]), way)
    assert caught.value.exit_code == 3
    assert caught.value.verdict is not None
    assert Path(str(caught.value.log_path)).read_bytes()


@WAYS
def test_failure_on_stdout(way: str, home: Path) -> None:
    """The error names the log that has the message of the failure, not the empty one of stderr."""
    message = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    with pytest.raises(TrainingFailed, match=r"log: .*/stdout\.log$") as caught:
        result_of(TrainingOperation(commands=[f"echo '{message}'", "exit 3"]), way)
    assert Path(str(caught.value.log_path)).read_text() == f"{message}\n"


def test_commands_share_a_shell(home: Path) -> None:
    """A later command sees the variables of an earlier one, and runs after its failure."""
    commands = ["X=1", "cd /", "false", "echo $X $PWD"]
    assert TrainingOperation(commands=commands).run() == ["1 /"]


def test_named_job(lab: Lab) -> None:
    """The record of an operation has its job and the job directory."""
    TrainingOperation(commands=["true"], job="llm", job_dir=str(lab.home / "jobs")).run()
    job = lab.record().spec.job
    assert job is not None
    assert (job["key"], job["directory"]) == ("job-llm", str(lab.home / "jobs"))


def test_fields_of_shell_operation(home: Path) -> None:
    """env is added to the environment; working_dir, shell and extension are used."""
    env = {"GIVEN": "given"}
    operation = TrainingOperation(commands=["echo $GIVEN $PWD"], env=env, working_dir=home)
    assert operation.run() == [f"given {home}"]
    code = ["import sys", "print(sys.argv[0][-3:])"]
    assert TrainingOperation(commands=code, shell=sys.executable, extension=".py").run() == [".py"]
    assert TrainingOperation(commands=["echo $0"], shell="BASH").run()[0].endswith("bash")


def test_missing_working_dir(home: Path) -> None:
    """An invalid field is an error when the block is created."""
    with pytest.raises(ValidationError, match="working_dir"):
        TrainingOperation(commands=["true"], working_dir=home / "missing")


@pytest.mark.parametrize("way", ["run", "trigger"])
def test_arguments_of_a_process(way: str, home: Path) -> None:
    """Arguments of a Popen are an error, and nothing is launched."""
    with pytest.raises(UsageError, match="start_new_session"):
        getattr(TrainingOperation(commands=["true"]), way)(start_new_session=False)
    assert not (home / "state" / "runs").exists()


# -- log lines -------------------------------------------------------------------------------


def test_log_records(home: Path, messages: list[str]) -> None:
    """Each line of the output has a record that names its process and stream."""
    TrainingOperation(commands=["echo hello", "echo oops >&2"]).run()
    (launched,) = (text for text in messages if "triggered with" in text)
    launch_line = re.match(
        r"PID (\d+) triggered with 2 commands running inside the '.' dir", launched
    )
    assert launch_line is not None
    assert f"PID {launch_line[1]} stream output:\nhello" in messages
    assert f"PID {launch_line[1]} stderr:\noops" in messages
    assert f"PID {launch_line[1]} completed with return code 0." in messages


@pytest.mark.parametrize(
    ("prefix", "line"),
    [(None, "hello"), ("[{label}] ", "[stream output] hello"), ("a\r\n", "a\nhello")],
)
def test_log_prefix(prefix: str | None, line: str, home: Path, messages: list[str]) -> None:
    """A record has the prefix of the template, or the line alone."""
    TrainingOperation(commands=["echo hello"], log_prefix=prefix).run()
    assert line in messages


def test_log_prefix_that_is_no_template(home: Path) -> None:
    """An invalid template is an error when the block is created."""
    with pytest.raises(ValidationError, match="pid"):
        TrainingOperation(commands=["true"], log_prefix="[{rank}] ")


def test_no_stream_output(home: Path, messages: list[str]) -> None:
    """Without the stream the log has the first and the last message alone."""
    operation = TrainingOperation(commands=["echo hello"], stream_output=False)
    assert operation.run() == ["hello"]
    assert not any("hello" in text for text in messages)
    assert any("triggered with 1 commands" in text for text in messages)


def test_flood_is_bounded(home: Path, messages: list[str]) -> None:
    """The result has all lines; the log has a bounded view with the end."""
    assert len(TrainingOperation(commands=["seq 100000"]).run()) == 100000
    assert len(messages) < 1000
    assert any(text.endswith("\n100000") for text in messages)


# -- a run that was triggered ----------------------------------------------------------------


def test_run_in_progress(home: Path) -> None:
    """Process, log, output and state are known during the run and after it."""
    with TrainingOperation(commands=["echo begun", "read -t 30 < pipe", "exit 4"]) as operation:
        os.mkfifo(home / "pipe")
        operation.working_dir = home
        run = operation.trigger()
        assert isinstance(run, TrainingRun)
        until(lambda: run.fetch_result() == ["begun"], "its first line")
        assert is_alive(run.pid)
        assert os.getsid(run.pid) == run.pid
        assert (run.return_code, run.verdict) == (None, None)
        (home / "pipe").write_text("go\n")
        with pytest.raises(TrainingFailed):
            run.wait_for_completion()
        assert run.return_code == 4
        assert run.verdict is not None
        assert Path(run.log_path).name == "stderr.log"
    with pytest.raises(TrainingFailed):
        run.wait_for_completion()  # a second wait raises the same error


def test_follow(home: Path) -> None:
    """Following yields every line until the end."""
    with TrainingOperation(commands=["echo one", "echo two"]) as operation:
        assert list(operation.trigger().follow()) == ["one", "two"]


def test_afollow(home: Path) -> None:
    """The same works in an event loop, which stays free; a cancelled wait leaves the training
    running."""
    commands = ["echo one", "until [ -e go ]; do sleep 0.05; done", "echo two"]
    operation = TrainingOperation(commands=commands, working_dir=home)
    lines_so_far: list[str] = []
    note = lines_so_far.append

    async def follow(run: TrainingRun) -> None:
        async for line in run.follow():
            note(line)

    async def awaited() -> None:
        async with operation:
            run = await operation.trigger()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(follow(run), 2)
            assert lines_so_far == ["one"]
            assert run.return_code is None
            (home / "go").touch()
            await follow(run)
            await run.wait_for_completion()

    asyncio.run(awaited())
    assert lines_so_far == ["one", "one", "two"]


def test_stop(home: Path) -> None:
    """A training that is stopped by its flow has failed, with any status."""
    command = "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
    with TrainingOperation(commands=[command]) as operation:
        run = operation.trigger()
        until(run.fetch_result, "its first line")
        run.stop("it is enough")
        with pytest.raises(TrainingFailed, match="cancelled"):
            run.wait_for_completion()
        assert run.fetch_result() == ["begun", "saved"]
    (record,) = records(home)
    assert (record.ending.code if record.ending else None) == 0


def test_stop_with_a_grace(home: Path) -> None:
    """A grace has the usual forms, and an invalid one is an error."""
    with TrainingOperation(commands=["trap '' TERM; echo begun; sleep 60 & wait; wait"]) as block:
        run = block.trigger()
        until(run.fetch_result, "its first line")
        for grace in ("soon", -1, float("nan")):
            with pytest.raises(UsageError, match="grace"):
                run.stop(grace=grace)
        run.stop(grace="500ms")
        began = time.monotonic()
        with pytest.raises(TrainingFailed):
            run.wait_for_completion()
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_process(end: str, home: Path) -> None:
    """The process of a run has the methods of a Popen."""
    with TrainingOperation(commands=["trap '' TERM; echo begun; sleep 60"], grace=1) as operation:
        run = operation.trigger()
        until(run.fetch_result, "its first line")
        process = run._process
        assert (process.pid, process.returncode) == (run.pid, None)
        with pytest.raises(TimeoutError, match=r"after 0\.3 s"):
            process.wait(0.3)
        getattr(process, end)()
        assert process.wait(30) == process.returncode == -signal.SIGKILL


def outcomes(home: Path) -> list[tuple[str, bool]]:
    """Return the outcome of each training, and whether it is final."""
    found = [record.read_json("outcome.json") or {} for record in records(home)]
    return [(one["state"], one["final"]) for one in found]


def test_exception_in_the_block(home: Path) -> None:
    """The end of the block stops its training, and the record has the reason."""
    with TrainingOperation(commands=["echo begun; sleep 60"], grace=1) as operation:
        run = operation.trigger()
        until(run.fetch_result, "its first line")
        with pytest.raises(ValueError, match="mine"), operation:
            raise ValueError("mine")
    (record,) = records(home)
    assert "stopped by ValueError" in str(record.read_json("exit.json"))
    assert outcomes(home) == [("stopped", True)]


@pytest.mark.parametrize("waits", ["follow", "process"])
def test_timeout_in_the_block(waits: str, home: Path) -> None:
    """A timeout of the task counts in every call of its training."""

    @task(timeout_seconds=3, retries=1)
    def trains() -> None:
        with TrainingOperation(commands=["echo begun; sleep 60"], grace=1) as operation:
            run = operation.trigger()
            if waits == "follow":
                list(run.follow())
            else:
                run._process.wait()

    @flow
    def outer() -> None:
        trains()

    with pytest.raises(TimeoutError):
        outer()
    verdicts = [record.read_json("verdict.json") or {} for record in records(home)]
    assert [verdict["disposition"] for verdict in verdicts] == ["timeout", "timeout"]
    assert outcomes(home) == [("stopped", False), ("stopped", True)]


def test_two_that_are_closed(home: Path) -> None:
    """Two trainings that a block's end stops have the same verdict."""

    @task(retries=1)
    def trains() -> None:
        with TrainingOperation(commands=["echo begun; sleep 60"]) as operation:
            runs = [operation.trigger(), operation.trigger()]
            until(lambda: all(run.fetch_result() for run in runs), "both to have begun")

    @flow
    def outer() -> None:
        trains()

    outer()
    assert outcomes(home) == [("stopped", True), ("stopped", True)]


def test_wait_that_is_cancelled(home: Path) -> None:
    """In a block a cancelled wait can be repeated; elsewhere it stops the training."""
    commands = ["echo begun", "until [ -e go ]; do sleep 0.05; done"]
    operation = TrainingOperation(commands=commands, working_dir=home, grace=1)

    async def in_block() -> None:
        async with operation:
            run = await operation.trigger()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run.wait_for_completion(), 2)
            assert run.return_code is None
            (home / "go").touch()
            await run.wait_for_completion()
        (home / "go").unlink()

    async def elsewhere() -> int | None:
        run = await operation.trigger()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.wait_for_completion(), 2)
        code: int | None = run.return_code
        return code

    asyncio.run(in_block())
    operation = TrainingOperation(commands=commands, working_dir=home, grace=1)
    assert asyncio.run(elsewhere()) == -signal.SIGTERM


@pytest.mark.parametrize("way", ["with", "async with", "close"])
def test_closing_stops_trainings(way: str, home: Path) -> None:
    """The end of the block stops two trainings, also the child of one of them."""
    deaf = "trap '' TERM; (trap '' TERM; sleep 60) & echo $!; wait"
    operation = TrainingOperation(commands=[deaf], grace=1)

    def children() -> list[int]:
        runs = [operation.trigger(), operation.trigger()]
        until(lambda: all(run.fetch_result() for run in runs), "both to have begun")
        return [int(run.fetch_result()[0]) for run in runs] + [run.pid for run in runs]

    async def awaited() -> list[int]:
        async with operation:
            return await asyncio.to_thread(children)

    if way == "async with":
        left = asyncio.run(awaited())
    elif way == "with":
        with operation:
            left = children()
    else:
        left = children()
        operation.close()
    assert not any(map(is_alive, left))
    assert {record.state for record in records(home)} == {"ended"}


@WAYS
def test_nothing_is_left_behind(way: str, home: Path) -> None:
    """The end of the block stops background processes, also after a success."""
    operation = TrainingOperation(commands=["sleep 60 & echo $!; disown"], grace=1)
    (pid,) = result_of(operation, way)
    until(lambda: not is_alive(int(pid)), "the process in the background to be gone")


def test_flow_is_interrupted(home: Path) -> None:
    """An interrupted flow stops its training before it ends."""

    @flow
    def trains() -> None:
        with TrainingOperation(commands=["echo begun; sleep 60"], grace=1) as operation:
            run = operation.trigger()
            until(run.fetch_result, "its first line")
            signal.raise_signal(signal.SIGINT)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        trains()
    assert time.monotonic() - began < 30
    (record,) = records(home)
    assert record.state == "ended"


def test_end_without_a_wait(home: Path) -> None:
    """A training that ends well before its block is closed has succeeded."""
    with TrainingOperation(commands=["true"], notify="mailbox") as operation:
        run = operation.trigger()
        until(lambda: run.return_code == 0, "its end")
    (record,) = records(home)
    outcome = record.read_json("outcome.json")
    assert outcome is not None
    assert (outcome["state"], outcome["final"]) == ("success", True)
    assert not (home / "state" / "mailbox").exists()


def test_superseded_attempt(home: Path) -> None:
    """An attempt whose training was adopted neither stops it nor reports its outcome."""
    spec = RunSpec(
        ["bash", "-c", "until [ -e go ]; do sleep 0.05; done"],
        cwd=str(home),
        state_dir=str(home / "state"),
    )

    def training(number: int) -> Training:
        attempt = Attempt(("task",), number, adopt_within_s=60.0, lease_s=2.0)
        logger = logging.getLogger("gpualert.test")
        return Training(spec, attempt, logger, lambda *_line: None, publish=False)

    first, second = training(1), training(2)
    first.launch(Interrupts(None))
    second.launch(Interrupts(None))
    with pytest.raises(SupersededError):
        first.complete(Interrupts(None))
    first.close(Interrupts(None))
    (home / "go").touch()
    result = second.complete(Interrupts(None))
    second.close(Interrupts(None))
    assert result.exit_code == 0
    assert result.record.event("stopping") is None
    outcome = result.record.read_json("outcome.json")
    assert outcome is not None
    assert (outcome["state"], outcome["number"]) == ("success", 2)


@pytest.mark.parametrize("what", ["task", "operation"])
def test_interrupted_launch(what: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error just after the launch stops the training before it is raised."""

    def begin(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "begin", begin)
    operation = TrainingOperation(commands=["sleep 60"], grace=1, adopt_within=60)
    calls: dict[str, Any] = {
        "task": lambda: gpualert_run.fn("sleep 60", grace=1, adopt_within=60),
        "operation": operation.run,
    }
    with pytest.raises(KeyboardInterrupt):
        calls[what]()
    (record,) = records(home)
    assert record.state == "ended"


# -- who calls it ----------------------------------------------------------------------------


def test_sync_flow_in_an_event_loop(home: Path) -> None:
    """A sync flow that an async one calls gets results, not coroutines."""

    @flow
    def inner() -> list[str]:
        lines: list[str] = TrainingOperation(commands=["echo inner"]).run()
        return lines

    @flow
    async def outer() -> list[str]:
        return inner()

    assert asyncio.run(outer()) == ["inner"]


def test_sync_flow_in_an_async_task(home: Path) -> None:
    """A sync flow that an async task calls gets results, too; its training belongs to the flow."""

    @flow
    def inner() -> list[str]:
        return [gpualert_run("echo task"), *TrainingOperation(commands=["echo block"]).run()]

    @task
    async def between() -> list[str]:
        return inner()

    @flow
    async def outer() -> Any:
        return await between()

    assert asyncio.run(outer()) == ["task", "block"]
    inside = {record.spec.owner["key"][1] for record in records(home)}
    assert len(inside) == 1


def test_thread_of_an_async_flow(home: Path) -> None:
    """In a thread without an event loop the calls are synchronous."""

    @flow
    async def outer() -> Any:
        return await asyncio.to_thread(TrainingOperation(commands=["echo thread"]).run)

    assert asyncio.run(outer()) == ["thread"]


def test_async_flow_stays_free(home: Path) -> None:
    """Other tasks of the event loop continue while a training runs."""

    @flow
    async def outer() -> int:
        training = asyncio.ensure_future(TrainingOperation(commands=["sleep 1"]).arun())
        ticks = 0
        while not training.done():
            ticks += 1
            await asyncio.sleep(0.05)
        await training
        return ticks

    assert asyncio.run(outer()) > 5


def test_cancelled_coroutine(home: Path) -> None:
    """A cancelled coroutine stops its training first."""

    async def cancel() -> None:
        running = asyncio.ensure_future(TrainingOperation(commands=["sleep 60"], grace=1).arun())
        while not (home / "state" / "runs").exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    (record,) = records(home)
    assert record.state == "ended"
    assert record.ending is not None
    assert record.ending.signal == signal.SIGTERM


def test_retry_of_a_flow_claims_nothing_twice(home: Path) -> None:
    """A flow that is retried trains again where its training had failed."""
    tried: list[int] = []

    @flow(retries=1)
    def trains() -> Any:
        tried.append(1)
        return TrainingOperation(commands=["[ -e again ] || { touch again; exit 1; }"]).run()

    here = Path.cwd()
    os.chdir(home)
    try:
        trains()
    finally:
        os.chdir(here)
    assert len(tried) == 2
    first, second = records(home)
    assert [one.ending.code for one in (first, second) if one.ending] == [1, 0]
    keys = {one.spec.owner["key"] for one in (first, second)}
    assert len(keys) == 1


# -- the block -------------------------------------------------------------------------------


def test_saved_and_loaded(home: Path) -> None:
    """A saved block is loaded unchanged, and runs."""
    TrainingOperation(commands=["echo kept"], grace="5s", notify=["mailbox"]).save("kept")
    loaded: Any = TrainingOperation.load("kept")
    assert (loaded.grace, loaded.notify, loaded.commands) == ("5s", ["mailbox"], ["echo kept"])
    assert loaded.run() == ["kept"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("smtp://me:hunter2@mail.test/?to=you@mail.test", "smtp://...: its password"),
        ("slack://TokenA/TokenB/TokenC", "slack://...: its url"),
        ({"kind": "apprise", "url": "ntfy://topic"}, "channel apprise: its url"),
        ("smtp://me:hunter2@mail.test/", "to"),
        ({"kind": "apprise", "url": "slack://A/hunter2/C", "txt": 1}, "txt"),
        ({"kind": "slack", "url": "slack://A/hunter2/C"}, "kind"),
        ({"password": "hunter2"}, "kind"),
    ],
)
def test_secret_is_not_stored(target: Any, reason: str, home: Path) -> None:
    """A block that contains, or may contain, a channel's secret cannot be saved."""
    operation = TrainingOperation(commands=["true"], notify=["mailbox", target])
    with pytest.raises(ValueError, match=re.escape(reason)):
        operation.save("leaky")
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        asyncio.run(operation.asave("leaky"))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ValueError, match=re.escape(reason)):
        Holder(operation=operation).save("leaky")
    for kind in (TrainingOperation, Holder):
        with pytest.raises(ValueError, match="leaky"):
            kind.load("leaky")


class Holder(Block):
    """A user's block that contains an operation."""

    operation: TrainingOperation


def test_block_that_is_assigned_later(home: Path) -> None:
    """A channel block that is assigned later is stored by its name, too."""
    mail: Any = MailChannel(host="mail.test", to=["you@mail.test"], password=SecretStr("hunter2"))
    operation: Any = TrainingOperation(commands=["true"])
    with pytest.raises(ValueError, match="save the block"):
        operation.notify = mail
    mail.save("later-mail")
    operation.notify = mail
    operation.save("later")
    loaded: Any = TrainingOperation.load("later")
    assert loaded.notify == "prefect:gpualert-mail/later-mail"


def test_references_are_stored(home: Path) -> None:
    """A reference to a secret can be saved."""
    targets: list[Any] = [
        "mailbox",
        "env:CHAT",
        "smtp://mail.test/?to=you@mail.test&password=env:MAIL",
    ]
    TrainingOperation(commands=["true"], notify=targets).save("references")
    loaded: Any = TrainingOperation.load("references")
    assert loaded.notify == targets


@pytest.mark.parametrize(
    ("field", "value"), [("grace", "soon"), ("notify_on", "sometimes"), ("timeout", -1)]
)
def test_invalid_setting(field: str, value: Any, home: Path) -> None:
    """An invalid option is an error, and nothing is launched."""
    operation = TrainingOperation(commands=["touch begun"], **{field: value})
    with pytest.raises(Exception, match=field):
        operation.run()
    assert not (home / "begun").exists()
