"""Ways in which Airflow ends a task, and the end of its training."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from gpualert_provider.exceptions import TrainingTaskFailed
from gpualert_provider.task_outcome import describe_change, find_outcome_while_deferred
from gpualert_provider.timeout_signal import postpone_alarm_while_logging

from gpualert_common.record import Record
from tests.airflow.conftest import Trials
from tests.notify.alerting import mails
from tests.supervised import Lab, until

TRAINER = Path(__file__).parents[1] / "faults" / "airflow" / "trainer.py"
When = Callable[[Callable[[], object], Callable[[], None]], None]


def trainer(how: str, **options: object) -> str:
    """Return the arguments of a task that trains for a minute."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"bash_command='{sys.executable} {TRAINER} {how} 60'{given}"


def is_training(lab: Lab) -> bool:
    """Return True once the training of the only record handles signals."""
    return lab.has_output(b"\n")


def send(number: int) -> Callable[[], None]:
    """Return an action that sends a signal to this process, which runs the task."""
    return lambda: os.kill(os.getpid(), number)


def recorded_end(lab: Lab) -> tuple[object, object, object]:
    """Return exit code, disposition and outcome of the only record."""
    record = lab.record()
    ending = record.ending
    assert ending is not None
    verdict = record.read_json("verdict.json") or {}
    outcome = record.read_json("outcome.json") or {}
    return ending.exit_code, verdict.get("disposition"), outcome.get("state")


@pytest.mark.parametrize("state", [None, "restarting", "scheduled", "queued", "running"])
def test_cleared_while_deferred(state: str | None) -> None:
    """A deferred task that was cleared restarts, however far Airflow is with that."""
    outcome = find_outcome_while_deferred(state, 60.0)
    assert (outcome.state, outcome.within_s) == ("restarting", 60.0)
    assert describe_change(outcome.state) == "it was cleared"


@pytest.mark.parametrize(("how", "code"), [("plain", -15), ("save", 0), ("deaf", -9)])
def test_timeout(trials: Trials, lab: Lab, how: str, code: int) -> None:
    """``execution_timeout`` stops the whole training before it fails the task."""
    limit = "execution_timeout=datetime.timedelta(seconds=2)"
    done = trials.train(f"{trainer(how, grace=2)}, {limit}")
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout

    assert done.state == "failed"
    assert isinstance(done.error, AirflowTaskTimeout)
    until(lab.is_empty, "the guardian to be gone")
    assert recorded_end(lab) == (code, "timeout", "failed")


def test_timeout_in_a_log_call(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """``execution_timeout`` that interrupts a log call fails the task after the call.

    Airflow's handler logs, too, and the lock of the logger is not reentrant.
    """
    alarmed: list[str] = []
    logged: list[str] = []
    write = structlog.WriteLogger.info

    def interrupted(logger: structlog.WriteLogger, text: str) -> None:
        if "a line of the training" in text and not alarmed:
            alarmed.append(text)
            os.kill(os.getpid(), signal.SIGALRM)
        write(logger, text)
        logged.append(text)

    monkeypatch.setattr(structlog.WriteLogger, "info", interrupted)
    limit = "execution_timeout=datetime.timedelta(minutes=10)"
    command = "bash_command='echo a line of the training; sleep 600'"
    done = trials.train(f"{command}, {limit}")
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout

    assert done.state == "failed"
    assert isinstance(done.error, AirflowTaskTimeout)
    assert any("a line of the training" in text for text in logged)
    until(lab.is_empty, "the guardian to be gone")


def test_alarm_in_a_log_call() -> None:
    """An alarm that interrupts a log call reaches Airflow's handler after the call."""

    class AlarmingFile(io.StringIO):
        def write(self, text: str) -> int:
            os.kill(os.getpid(), signal.SIGALRM)
            return super().write(text)

    file = AlarmingFile()
    logger = structlog.WriteLogger(file)
    texts_at_alarm: list[tuple[str, bool]] = []

    def handle(*_: object) -> None:
        texts_at_alarm.append((file.getvalue(), logger._lock.locked()))

    previous = signal.signal(signal.SIGALRM, handle)
    try:
        with postpone_alarm_while_logging():
            logger.info("line")
            until(lambda: texts_at_alarm, "the alarm")
        assert texts_at_alarm == [("line\n", False)]
        assert signal.getsignal(signal.SIGALRM) is handle
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_timeout_at_any_moment(trials: Trials, lab: Lab) -> None:
    """A timeout at any moment of the launch leaves no process behind."""
    for ms in range(1, 160, 8):
        limit = f"execution_timeout=datetime.timedelta(milliseconds={ms})"
        assert trials.train(f"bash_command='sleep 60', {limit}").state == "failed"
        until(lab.is_empty, f"all to be gone after a time-out of {ms} ms")
    assert list((lab.home / "tmp").iterdir()) == []


@pytest.mark.parametrize(("how", "code"), [("plain", -15), ("save", 0)])
def test_kill(trials: Trials, lab: Lab, when: When, how: str, code: int) -> None:
    """SIGTERM to the worker stops the training; the task fails, also when the training exits 0."""
    when(lambda: is_training(lab), send(signal.SIGTERM))
    done = trials.train(trainer(how, grace=5))
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert done.error.exit_code == code
    assert recorded_end(lab)[:2] == (code, "preempted")  # no user touched the task
    until(lab.is_empty, "the guardian to be gone")


@pytest.mark.parametrize("state", ["failed", "success", "restarting"])
def test_kill_on_a_persons_word(trials: Trials, lab: Lab, when: When, state: str) -> None:
    """A task that a user marked or cleared before is cancelled, not preempted."""

    def mark_and_kill() -> None:
        mark(state)
        send(signal.SIGTERM)()

    when(lambda: is_training(lab), mark_and_kill)
    trials.train(trainer("plain"))
    assert recorded_end(lab)[1] == "cancelled"
    stopping = lab.record().event("stopping")
    assert stopping is not None
    because = stopping.fields["sender"]["because"]
    assert because.startswith("its task was ended in Airflow: it was ")
    assert because.endswith("cleared" if state == "restarting" else f"set to {state}")


@pytest.mark.parametrize(
    ("state", "outcome", "alerts"),
    [
        ("failed", ("failed", True), 1),
        ("success", ("success", True), 0),
        ("skipped", ("skipped", True), 0),
        ("restarting", ("restarting", False), 0),
    ],
)
def test_persons_word_is_the_outcome(
    trials: Trials,
    lab: Lab,
    when: When,
    state: str,
    outcome: tuple[str, bool],
    alerts: int,
) -> None:
    """A task that a user marked has that state at once, with retries left, and alerts at its end.

    A task that was cleared runs again, so its alert is held.
    """
    early: list[tuple[str, bool]] = []

    def recorded() -> tuple[str, bool] | None:
        fields = lab.record().read_json("outcome.json") or {}
        return (fields["state"], fields["final"]) if fields else None

    def mark_and_kill() -> None:
        mark(state)
        send(signal.SIGTERM)()
        until(recorded, "the outcome")
        assert lab.record().ending is None  # the training takes its time
        early.append(recorded() or ("", False))

    when(lambda: is_training(lab), mark_and_kill)
    first_only = (
        f"[ $AIRFLOW_CTX_TRY_NUMBER = 1 ] || exit 99; exec {sys.executable} {TRAINER} deaf 60"
    )
    again = "retries=2, retry_delay=datetime.timedelta(0)"
    trials.train(f"bash_command={first_only!r}, grace=4, notify='mailbox', {again}")
    first = Record.open(str(lab.records()[0]))
    fields = first.read_json("outcome.json") or {}
    assert early == [outcome]
    assert (fields["state"], fields["final"]) == outcome
    assert len([mail for mail in mails(lab) if first.run_id in str(mail)]) == alerts


def mark(state: str) -> None:
    """Give every running task this state, as Airflow's pages do."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import update

    with create_session() as session:
        running = TaskInstance.state == "running"
        session.execute(update(TaskInstance).where(running).values(state=state))


def test_kill_when_airflow_does_not_answer(
    trials: Trials, lab: Lab, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training is stopped soon even if Airflow does not answer."""
    from gpualert_provider import stopping

    monkeypatch.setattr(stopping, "ANSWER_S", 0.2)
    monkeypatch.setattr(
        stopping, "find_reason", lambda _ti: threading.Event().wait(30) or stopping.ENDED
    )
    when(lambda: is_training(lab), send(signal.SIGTERM))
    began = time.monotonic()
    assert trials.train(trainer("plain")).state == "failed"
    assert time.monotonic() - began < 20
    assert recorded_end(lab)[1] == "cancelled"


def test_kill_of_a_skip_code(trials: Trials, lab: Lab, when: When) -> None:
    """A stopped training has failed even if its exit code means a skip."""
    command = 'trap "exit 99" TERM; echo ready; while :; do sleep 0.1; done'
    when(lambda: is_training(lab), send(signal.SIGTERM))
    assert trials.train(f"bash_command={command!r}").state == "failed"


def test_interrupt(trials: Trials, lab: Lab, when: When) -> None:
    """Ctrl-C under ``dag.test()`` stops the training."""
    when(lambda: is_training(lab), send(signal.SIGINT))
    assert trials.train(trainer("plain")).state == "failed"
    assert recorded_end(lab)[0] == -15
    until(lab.is_empty, "the guardian to be gone")


PREDECESSOR = """
import os
import sys
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
attempt = Attempt(("airflow", sys.argv[1], sys.argv[2], "train", "-1"))
deaf = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
handle = RunHandle.launch(RunSpec(deaf, state_dir=os.environ["GPUALERT_STATE_DIR"]), attempt)
print("launched", flush=True)
handle.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM])
def test_end_while_it_waits(trials: Trials, lab: Lab, when: When, number: int) -> None:
    """An attempt that waits for an earlier run ends at once on a signal, and launches nothing."""
    date = datetime(2026, 1, 1, tzinfo=UTC)
    limit = "execution_timeout=datetime.timedelta(seconds=40)"
    dag = trials.dag(f"bash_command='sleep 60', {limit}")
    names = (dag.dag_id, f"manual__{date.isoformat()}")
    other = lab.start((sys.executable, "-c", PREDECESSOR, *names), stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"launched\n"
    before = lab.records()
    when(lambda: is_waiting(lab), send(number))
    done = trials.test(dag, logical_date=date, run_after=date)
    assert done.state == "failed"
    assert lab.records() == before


def is_waiting(lab: Lab) -> bool:
    """Return True while an attempt holds the lock of the only key."""
    (lock,) = (lab.state / "keys").glob("*/lock")  # from before the launch on
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_only_the_agreed_time(trials: Trials, lab: Lab) -> None:
    """A training may go on alone until the next attempt begins at the latest."""
    trials.train("bash_command='true', retries=2, retry_delay=datetime.timedelta(seconds=60)")
    trials.train("bash_command='true', retries=2, adopt_within=5")
    trials.train("bash_command='true'")
    agreed = [Record.open(str(path)).spec.owner["adopt_within_s"] for path in lab.records()]
    assert agreed == [300 + 60 + 180, 5, 0]
