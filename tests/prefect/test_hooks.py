"""Tests of ``gpualert_hook`` on any tasks and flows, in every process that calls it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect import Task, flow, task
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect_gpualert import gpualert_hook
from prefect_shell import ShellOperation, shell_run_command  # type: ignore[import-untyped]

from gpualert_common.errors import ConfigError
from gpualert_common.external_run import record_run
from gpualert_common.record import Record
from gpualert_common.spec import Ending
from tests.notify.alerting import queued, states
from tests.notify.faults import mail_process, mail_target
from tests.prefect.running import records
from tests.prefect.test_alerts import mails

pytestmark = pytest.mark.usefixtures("harness")


@pytest.fixture
def box(home: Path) -> Path:
    """Return the messages of the default mailbox."""
    return home / "state" / "mailbox"


def fail() -> None:
    """The function of a user's task."""
    raise ValueError("the bucket is empty")


def in_a_flow(work: Any, *, awaited: bool = False) -> Any:
    """Call a task in its own flow; return its state without raising its error."""

    @flow
    def outer() -> Any:
        return work(return_state=True)

    @flow
    async def aouter() -> Any:
        return await work(return_state=True)

    async def main() -> Any:
        return await aouter(return_state=True)

    return asyncio.run(main()) if awaited else outer(return_state=True)


def verdict_of(record: Record) -> dict[str, Any]:
    """Return the verdict of a record."""
    return record.read_json("verdict.json") or {}


def unread(record: Record) -> list[str]:
    """Return the evidence sources that were not read, but for the exit status."""
    sources = verdict_of(record)["sources"]
    names = [one["name"] for one in sources if not one["available"]]
    return [name for name in names if name != "exit_status"]


# -- tasks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_any_task(awaited: bool, home: Path, box: Path) -> None:
    """The failure of any task sends an alert with its exception, from its own record."""

    async def afail() -> None:
        fail()

    work = Task(afail if awaited else fail, name="fetch", on_failure=[gpualert_hook("mailbox")])
    assert in_a_flow(work, awaited=awaited).is_failed()
    (record,) = records(home)
    assert states(record) == {"mailbox": "sent"}
    assert (record.spec.name or "").startswith("fetch-")
    (mail,) = mails(box)
    body = mail.get_body(("plain",))
    assert body is not None
    assert "the bucket is empty" in body.get_content()
    assert "in fail" in Path(record.log_path("output.log")).read_text()
    verdict = verdict_of(record)
    assert (verdict["disposition"], verdict["exit_code"]) == ("failed", None)
    assert verdict["shows"][0]["claim"].startswith("Prefect says Failed")


def test_only_the_last_attempt(home: Path, box: Path) -> None:
    """Prefect calls the hook when no retry is left; the alert is that of the last attempt."""
    work = Task(fail, retries=1, on_failure=[gpualert_hook("mailbox")])
    assert in_a_flow(work).is_failed()
    assert len(mails(box)) == 1
    (record,) = records(home)
    assert record.spec.owner["number"] == 2


def test_exit_status_of_a_shell(home: Path) -> None:
    """The record has the exit status that the error of another shell task names."""

    @task(on_failure=[gpualert_hook("mailbox")])
    def shell() -> None:
        ShellOperation(commands=["exit 41"]).run()

    assert in_a_flow(shell).is_failed()
    (record,) = records(home)
    verdict = verdict_of(record)
    assert verdict["exit_code"] == 41
    assert verdict["confidence"] <= 0.3
    assert unread(record) == ["run_log"]


def test_output_in_the_error_of_a_shell(home: Path) -> None:
    """The error of ``shell_run_command`` ends in the command's output, which is evidence."""

    @task(on_failure=[gpualert_hook("mailbox")])
    async def shell() -> None:
        await shell_run_command("python3 -c 'import module_of_nobody'")

    assert in_a_flow(shell, awaited=True).is_failed()
    (record,) = records(home)
    assert verdict_of(record)["cause"] == "missing_module"
    assert "Command failed" not in Path(record.log_path("output.log")).read_text()


def test_words_of_prefect(home: Path) -> None:
    """Prefect's own words are no output: its guess at a kill, and its copy of an exception."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    guess = "Process exited with status code: -9. Typically caused by exceeding memory limits."
    crashed: State[Any] = State(type=StateType.CRASHED, name="Crashed", message=guess)
    gpualert_hook("mailbox")(None, flow_run, crashed)
    message = "Flow run encountered an exception: MemoryError: no room"
    failed: State[Any] = State(type=StateType.FAILED, name="Failed", message=message)
    gpualert_hook("mailbox")(None, FlowRun(id=uuid4(), flow_id=uuid4(), name="owl"), failed)
    logs = {Path(one.log_path("output.log")).read_text(): one for one in records(home)}
    assert set(logs) == {"", "MemoryError: no room\n"}
    assert verdict_of(logs[""])["cause"] == "killed_unknown"
    assert unread(logs[""]) == ["run_log"]


def test_timeout(home: Path) -> None:
    """The alert of a timeout names it."""

    @task(timeout_seconds=0.5, on_failure=[gpualert_hook("mailbox")])
    def slow() -> None:
        time.sleep(30)

    assert in_a_flow(slow).name == "Failed"
    verdict = verdict_of(records(home)[0])
    assert (verdict["disposition"], verdict["cause"]) == ("timeout", "time_limit")
    assert "SIGTERM" not in str(verdict)


def test_success(home: Path, box: Path) -> None:
    """A hook for successes sends an alert of a success."""
    work = Task(lambda: None, name="fetch", on_completion=[gpualert_hook("mailbox")])
    assert in_a_flow(work).is_completed()
    assert verdict_of(records(home)[0])["disposition"] == "completed"
    assert len(mails(box)) == 1


def test_two_hooks(home: Path, box: Path) -> None:
    """Two hooks create one record, and send one alert to each channel."""
    other = home / "other"
    hooks: Any = [gpualert_hook(["mailbox", f"mailbox:{other}"]), gpualert_hook("mailbox")]
    assert in_a_flow(Task(fail, on_failure=hooks)).is_failed()
    assert len(records(home)) == 1
    assert (len(mails(box)), len(mails(other))) == (1, 1)


def test_artifact(home: Path, box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The alert of any task carries a file that was named."""
    monkeypatch.chdir(home)
    Path("notes.rst").write_text("precious\n")
    work = Task(fail, on_failure=[gpualert_hook("mailbox", artifact="*.rst")])
    assert in_a_flow(work).is_failed()
    (mail,) = mails(box)
    assert "notes.rst" in [part.get_filename() for part in mail.iter_attachments()]


# -- flows -----------------------------------------------------------------------------------


def test_flow(home: Path, box: Path) -> None:
    """The failure of a flow without tasks sends an alert."""

    @flow(on_failure=[gpualert_hook("mailbox")])
    def nightly() -> None:
        fail()

    assert nightly(return_state=True).is_failed()
    (record,) = records(home)
    assert (record.spec.name or "").startswith("nightly/")
    assert len(mails(box)) == 1


def test_task_and_flow(home: Path, box: Path) -> None:
    """A flow's hook does not repeat the alert of a task's hook."""
    hook = gpualert_hook("mailbox")
    work = Task(fail, on_failure=[hook])

    @flow(on_failure=[hook])
    def nightly() -> None:
        work()

    assert nightly(return_state=True).is_failed()
    assert len(records(home)) == len(mails(box)) == 1


def test_runner_of_another_process(home: Path, box: Path) -> None:
    """The runner's hook sends the alert of a crash, from the records on disk alone."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    ending = Ending(time.time() - 5, time.time())
    ending.code = -9
    key = ("prefect", str(flow_run.id), "gpualert_run-1", "x", "0")
    record_run(ending, state_dir=str(home / "state"), custody={"key": key, "number": 1})
    crashed = crash_of(flow_run)
    program = (
        "import sys; from prefect.client.schemas.objects import FlowRun, State;"
        "from prefect_gpualert import gpualert_hook;"
        "run, state = FlowRun.model_validate_json(sys.argv[1]), State.model_validate_json("
        "sys.argv[2]); gpualert_hook('mailbox')(flow=None, flow_run=run, state=state)"
    )
    given = [flow_run.model_dump_json(), crashed.model_dump_json()]
    done = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (record,) = records(home)
    assert states(record) == {"mailbox": "sent"}


def crash_of(_flow_run: FlowRun) -> State[Any]:
    """Return the state that a runner gives a flow whose process was killed."""
    message = "Flow run process exited with non-zero status code -9."
    return State(type=StateType.CRASHED, name="Crashed", message=message)


def test_crash_without_a_training(home: Path, box: Path) -> None:
    """The crash of a flow sends an alert with the exit status that the runner names."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    gpualert_hook("mailbox")(None, flow_run, crash_of(flow_run))
    (record,) = records(home)
    assert verdict_of(record)["signal"] == "SIGKILL"
    assert len(mails(box)) == 1


def test_training_that_continues(home: Path, box: Path) -> None:
    """If the training has not ended by the deadline, the alert of the crash names it."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    path = home / "state" / "runs" / "20990101-000000-000000-aaaa"
    path.parent.mkdir(parents=True, mode=0o700)
    live = Record.create(str(path))
    key = ("prefect", str(flow_run.id), "gpualert_run-1", "x", "0")
    live.write_json("spec.json", {"schema": 1, "logs": [], "custody": {"key": key}})
    gpualert_hook("mailbox", deadline=0.5)(None, flow_run, crash_of(flow_run))
    record, _live = records(home)
    assert (
        f"Training {live.run_id} has not ended" in Path(record.log_path("output.log")).read_text()
    )


def test_cancelled(home: Path) -> None:
    """The alert of a cancellation names it."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    state: State[Any] = State(type=StateType.CANCELLING, name="Cancelling")
    gpualert_hook("mailbox")(None, flow_run, state)
    assert verdict_of(records(home)[0])["disposition"] == "cancelled"


# -- never at the cost of the run ------------------------------------------------------------


class HostileError(ValueError):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise SystemExit(3)


def succeed() -> None:
    """The function of another task."""


BROKEN: dict[str, dict[str, Any]] = {
    "channel": {"notify": "no-such-channel"},
    "block": {"notify": "prefect:secret/no-such-block"},
    "module": {"notify": [{"kind": "no_such_package.channel", "url": "x"}]},
    "place": {"notify": "mailbox", "state_dir": "/proc/nowhere"},
    "patterns": {"notify": "mailbox", "artifact": [3]},
}


@pytest.mark.parametrize("given", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("work", [fail, succeed])
def test_broken_hook(work: Any, given: dict[str, Any], home: Path) -> None:
    """No fault of a hook changes the state of its task."""
    hook = gpualert_hook(**given)
    state = in_a_flow(Task(work, on_failure=[hook], on_completion=[hook]))
    assert state.type is (StateType.FAILED if work is fail else StateType.COMPLETED)


def test_broken_channel_is_logged(home: Path, box: Path, caplog: Any) -> None:
    """A missing channel is an error in the run log; the other channels get their alert."""
    hook = gpualert_hook(["no-such-channel", "mailbox"])
    in_a_flow(Task(fail, on_failure=[hook]))
    assert "No alert: notify: 'no-such-channel' is neither" in caplog.text
    assert len(mails(box)) == 1


def test_hostile_exception(home: Path) -> None:
    """An exception that raises SystemExit when it is printed changes nothing."""

    @task(on_failure=[gpualert_hook("mailbox")])
    def hostile() -> None:
        raise HostileError

    with contextlib.suppress(SystemExit):  # Prefect itself inspects it
        in_a_flow(hostile)
    hook = gpualert_hook("mailbox")
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")
    hook(None, flow_run, State(type=StateType.FAILED, data=HostileError()))


def test_odd_state(home: Path) -> None:
    """Invalid arguments of a hook raise nothing."""
    gpualert_hook("mailbox")(None, None, None)


def test_silent_server(home: Path) -> None:
    """The hook returns at its deadline, and its alert is sent later."""
    with mail_process("silent") as port:
        hook = gpualert_hook(mail_target(port), deadline=0.5)
        assert in_a_flow(Task(fail, on_failure=[hook])).is_failed()
    (entry,) = queued(records(home)[0])
    assert entry.state == "pending"


def test_event_loop_is_not_blocked(home: Path) -> None:
    """In an event loop the hook is awaited, and other tasks continue meanwhile."""
    flow_run = FlowRun(id=uuid4(), flow_id=uuid4(), name="heron")

    async def outer(port: int) -> int:
        hook = gpualert_hook(mail_target(port), deadline=1)
        waiting = hook(None, flow_run, crash_of(flow_run))
        assert waiting is not None
        hooked = asyncio.ensure_future(waiting)
        turns = 0
        while not hooked.done():
            turns += 1
            await asyncio.sleep(0.01)
        return turns

    with mail_process("silent") as port:
        assert asyncio.run(outer(port)) > 5


def test_wrong_deadline() -> None:
    """An invalid deadline is an error when the hook is created."""
    with pytest.raises(ConfigError, match="deadline"):
        gpualert_hook(deadline="soon")
