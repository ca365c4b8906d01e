"""Deferred trainings: the same end as with a worker, and no process left after any fault."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from gpualert_provider import deferred_run
from gpualert_provider.exceptions import TrainingTaskFailed
from gpualert_provider.operators.gpualert import GPUAlertOperator
from gpualert_provider.triggers import gpualert as triggers
from gpualert_provider.triggers.gpualert import TrainingTrigger

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.attempt import fingerprint
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.airflow.conftest import Done, Trials
from tests.airflow.test_ending import recorded_end, trainer
from tests.notify.alerting import mails
from tests.supervised import Lab, until

When = Callable[[Callable[[], object], Callable[[], None]], None]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the interval of samples."""
    monkeypatch.setattr(triggers, "SAMPLE_INTERVAL_S", 0.2)


def outcome_of(lab: Lab) -> dict[str, Any]:
    """Return the outcome in the only record."""
    return lab.record().read_json("outcome.json") or {}


def is_deferred(lab: Lab) -> bool:
    """True once the only run is left to a trigger, and lives."""
    return bool(lab.records()) and "deferred" in outcome_of(lab) and lab.record().ending is None


# -- the same, without a worker ------------------------------------------------------------


def account(done: Done, lab: Lab) -> list[object]:
    """Return the result of a task, without the parts in which any two runs differ."""
    record = Record.open(str(lab.records()[-1]))
    verdict = done.xcom("gpualert_verdict") or {}
    outcome = record.read_json("outcome.json") or {}
    error = None if done.error is None else str(done.error).splitlines()[:2]
    return [
        *(done.state, done.tries, done.returned, type(done.error), error),
        *(verdict.get(name) for name in ("cause", "disposition", "headline", "exit_code")),
        *(outcome.get(name) for name in ("state", "final", "next_within_s", "deferred")),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        "bash_command='sleep 1; echo first; echo last'",
        "bash_command='sleep 1; echo 41', output_processor=lambda line: int(line) + 1",
        "bash_command='sleep 1; exit 99'",
        "bash_command='sleep 1; exit 3', retries=1, retry_delay=datetime.timedelta(0)",
        "bash_command='sleep 1; python3 -c \"import package_of_nobody\"', retries=1",
        "command=['sh', '-c', 'sleep 1; echo $0', '{{ 6 * 7 }}']",
        "bash_command='sleep 1; pwd | wc -l', cwd='/'",
        "bash_command='sleep 1; echo ' + 'x' * 140_000 + ' | wc -c'",
        "bash_command='sleep 1', do_xcom_push=False",
    ],
)
def test_same_end(trials: Trials, lab: Lab, arguments: str) -> None:
    """State, attempts, result, error, verdict and outcome equal those of a task with a worker."""
    accounts = []
    for more in ("", ", deferrable=True"):
        accounts.append(account(trials.train(arguments + more), lab))
        until(lab.is_empty, "the guardian to be gone")
    assert accounts[0] == accounts[1]
    assert Record.open(str(lab.records()[-1])).event("adopted") is not None
    assert list((lab.home / "tmp").iterdir()) == []


def test_short_run_is_not_left(trials: Trials, lab: Lab) -> None:
    """A run that has ended before the deferral is finished by its worker."""
    done = trials.train("command=['no-such-trainer'], deferrable=True")
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert done.error.exit_code == 127
    assert lab.record().event("adopted") is None


def test_worker_is_free_meanwhile(trials: Trials, lab: Lab, when: When) -> None:
    """The attempt owns the run all the time, by a lease without a process."""
    states_meanwhile: list[str] = []
    when(lambda: is_deferred(lab), lambda: states_meanwhile.append(lab.record().state))
    done = trials.train("bash_command='sleep 2; echo done', deferrable=True")
    assert (done.state, done.returned, states_meanwhile) == ("success", "done", ["running"])
    events = [event.name for event in lab.record().events()]
    assert [event for event in events if event in ("orphaned", "resumed")] == []


def test_default_deferrable_is_not_followed(
    trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's ``default_deferrable`` does not defer a task."""
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    assert trials.train("bash_command='true'").state == "success"
    assert lab.record().event("adopted") is None


@pytest.mark.e2e  # each takes the guardian's time limit, and more
@pytest.mark.parametrize(("command", "alerts"), [("exit 99", 0), ("exit 3", 1), ("true", 0)])
def test_alert_waits_for_the_worker(
    trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, command: str, alerts: int
) -> None:
    """An end that a worker notices late sends one alert, and only if the task failed."""
    monkeypatch.setattr(triggers, "SAMPLE_INTERVAL_S", 13.0)
    trials.train(f"bash_command='sleep 2; {command}', notify='mailbox', deferrable=True")
    until(lab.is_empty, "the sender to be gone")
    assert len(mails(lab)) == alerts


_DECORATED = """
from airflow.sdk import DAG, task
with DAG("deferred_decorated", schedule=None) as dag:
    @task.gpualert(deferrable=True)
    def train(epochs):
        print("CALLED")
        return f"sleep 1; echo {epochs} epochs"
    train(3)
if __name__ == "__main__":
    run = dag.test()
    print("RETURNED", run.get_task_instance("train").xcom_pull(task_ids="train"))
"""


def test_decorator(lab: Lab, database: None) -> None:
    """``@task.gpualert`` calls its function once, and returns what its command printed."""
    script = Path(os.environ["AIRFLOW_HOME"]) / "dags" / "deferred_decorated.py"
    script.write_text(_DECORATED)
    try:
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    finally:
        script.unlink()
    assert "RETURNED 3 epochs\n" in done.stdout
    assert done.stdout.count("CALLED") == 1


# -- other ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "code"), [("plain", -15), ("save", 0)])
def test_timeout(trials: Trials, lab: Lab, how: str, code: int) -> None:
    """``execution_timeout`` counts while the task is deferred, and ends the training."""
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout

    limit = "execution_timeout=datetime.timedelta(seconds=4)"
    done = trials.train(f"{trainer(how, grace=3, deferrable=True)}, {limit}")
    assert done.state == "failed"
    assert isinstance(done.error, AirflowTaskTimeout)
    until(lab.is_empty, "the guardian to be gone")
    assert recorded_end(lab) == (code, "timeout", "failed")


def test_guardian_killed(trials: Trials, lab: Lab, when: When) -> None:
    """Without its guardian the training is stopped, and the task fails without a known status."""

    def kill() -> None:
        os.kill(lab.record().spec.supervisor_pid, signal.SIGKILL)

    when(lambda: is_deferred(lab), kill)
    done = trials.train(trainer("plain", deferrable=True))
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert done.error.exit_code is None
    assert len(lab.records()) == 1
    until(lab.is_empty, "the training to be gone")


def test_stopped_by_a_person(trials: Trials, lab: Lab, when: When) -> None:
    """``gpualert stop`` fails the task, and no second training begins in the same attempt."""
    when(lambda: is_deferred(lab), lambda: assert_done(lab.gpualert("stop", "last")))
    done = trials.train(trainer("save", deferrable=True))
    assert done.state == "failed"
    assert isinstance(done.error, TrainingTaskFailed)
    assert recorded_end(lab) == (0, "cancelled", "failed")


def assert_done(process: subprocess.CompletedProcess[bytes]) -> None:
    """Assert that the process succeeded."""
    assert process.returncode == 0, process.stderr


def test_directory_that_is_not_shared(
    trials: Trials, lab: Lab, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trigger that cannot read the record stops the training; the error names the setting."""
    monkeypatch.setattr(triggers, "UNSEEN_S", 1.0)
    runs, elsewhere = lab.state / "runs", lab.state / "elsewhere"

    def hide() -> None:
        runs.rename(elsewhere)
        time.sleep(5)  # the trigger checks meanwhile; the worker waits for the record
        elsewhere.rename(runs)

    when(lambda: is_deferred(lab), hide)
    done = trials.train(trainer("plain", deferrable=True, retries=3))
    assert (done.state, done.tries) == ("failed", 1)
    assert "GPUALERT_STATE_DIR" in str(done.error)
    assert str(runs) in str(done.error)
    assert recorded_end(lab) == (-15, "cancelled", "failed")
    until(lab.is_empty, "all to be gone")


def test_pod_of_one_task(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is launched where the guardian would end with the task."""
    monkeypatch.setenv("AIRFLOW_IS_K8S_EXECUTOR_POD", "True")
    with pytest.raises(AirflowFailException, match="deferrable"):
        GPUAlertOperator(task_id="train", bash_command="true", deferrable=True).execute({})
    assert lab.records() == []
    assert GPUAlertOperator(task_id="train", bash_command="echo 1").execute({}) == "1"


# -- its trigger ---------------------------------------------------------------------------


def left(lab: Lab, *command: str, lease_s: float = 2.0, within_s: float = 5.0) -> TrainingTrigger:
    """Return the trigger of a run that an attempt has left."""
    same = fingerprint(command, None, None)
    attempt = Attempt(("task",), lease_s=lease_s, fingerprint=same, task={"task": "train"})
    with RunHandle.launch(RunSpec(list(command), state_dir=str(lab.state)), attempt) as handle:
        assert deferred_run.leave(handle.record, attempt, within_s)
    return TrainingTrigger(handle.record.path, attempt.owner, attempt.number)


def another(trigger: TrainingTrigger) -> TrainingTrigger:
    """Return the trigger as another triggerer makes it."""
    _name, arguments = trigger.serialize()
    return TrainingTrigger(**arguments)


async def fired(trigger: TrainingTrigger) -> str:
    """Return the reason in the trigger's only event."""
    events = [event async for event in trigger.run()]
    assert len(events) == 1
    return str(events[0].payload["what"])


def test_two_at_once(lab: Lab) -> None:
    """Two triggers of one run disturb neither each other nor the run."""
    one = left(lab, "sleep", "4")

    async def both() -> list[str]:
        return list(await asyncio.gather(fired(one), fired(another(one))))

    assert asyncio.run(both()) == ["ended", "ended"]
    assert lab.record().ending is not None
    assert [e for e in lab.record().events() if e.name in ("stopping", "request_refused")] == []


def test_triggerer_restarts(lab: Lab) -> None:
    """A run goes on without a triggerer for the agreed time, and its attempt owns it afterwards."""
    one = left(lab, "sleep", "9", lease_s=1.0, within_s=20)

    async def restarted() -> str:
        task = asyncio.ensure_future(fired(one))
        await asyncio.sleep(2)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(3)  # no lease
        return await fired(another(one))

    assert asyncio.run(restarted()) == "ended"
    happened = [event.name for event in lab.record().events()]
    assert [name for name in happened if name in ("orphaned", "resumed")] == ["orphaned", "resumed"]
    ending = lab.record().ending
    assert ending is not None
    assert (ending.exit_code, ending.signal) == (0, None)


def test_no_triggerer_ever(lab: Lab) -> None:
    """Without a trigger in the agreed time the training is stopped; no process is left."""
    trigger = left(lab, "sleep", "60", lease_s=1.0, within_s=1.0)
    until(lab.is_empty, "the run to be ended")
    assert asyncio.run(fired(trigger)) == "ended"


def ended_by_a_user(trigger: TrainingTrigger) -> TrainingTrigger:
    """Return the trigger with the task instance that Airflow gives it."""
    instance: Any = SimpleNamespace(dag_id="d", task_id="train", run_id="r")
    trigger.task_instance = instance
    return trigger


def test_airflow_answers_late(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trigger keeps the lease until Airflow's answer, and then stops the training."""
    trigger = ended_by_a_user(left(lab, "sleep", "60", lease_s=3.0, within_s=60))
    deferred_run.sample(trigger.record, trigger.owner)
    errors = [RuntimeError("database is locked")]
    renewals: set[int] = set()
    record = lab.record()

    def is_kept() -> bool:
        renewals.update(record.leases().values())
        return len(renewals) > 30

    def answer(**_asked: object) -> dict[str, dict[str, str]]:
        if errors:
            raise errors.pop()
        until(is_kept, "the lease to be kept for twice its length")
        return {"r": {"train": "failed"}}

    monkeypatch.setattr(triggers, "ASK_AGAIN_S", 0.2)
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", answer)
    asyncio.run(trigger.on_kill())
    until(lab.is_empty, "the training to end")
    assert outcome_of(lab)["state"] == "failed"
    assert record.event("orphaned") is None
    assert record.ending is not None
    assert record.ending.signal == signal.SIGTERM


@pytest.mark.parametrize(
    ("state", "outcome", "change"),
    [
        ("queued", "restarting", "it was cleared"),
        ("running", "restarting", "it was cleared"),
        ("failed", "failed", "it was set to failed"),
    ],
)
def test_stop_by_a_user(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, state: str, outcome: str, change: str
) -> None:
    """A task that was cleared restarts, also if Airflow has queued or started it meanwhile."""
    trigger = ended_by_a_user(left(lab, "sleep", "60", lease_s=10.0, within_s=60))
    answer = {"r": {"train": state}}
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", lambda **_asked: answer)
    assert outcome_of(lab)["task"] == {"task": "train"}
    asyncio.run(trigger.on_kill())
    until(lab.is_empty, "the training to end")
    assert outcome_of(lab)["state"] == outcome
    assert outcome_of(lab)["task"] == {"task": "train"}
    stopping = lab.record().event("stopping")
    assert stopping is not None
    assert stopping.fields["sender"]["because"] == f"its task was ended in Airflow: {change}"


def test_airflow_never_answers(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trigger that learns nothing leaves the training alone; its guardian stops it in time."""
    trigger = ended_by_a_user(left(lab, "sleep", "60", lease_s=2.0, within_s=1.0))
    record = lab.record()

    def answer(**_asked: object) -> None:
        raise RuntimeError("database is locked")

    monkeypatch.setattr(triggers, "ANSWER_S", 0.5)
    monkeypatch.setattr(triggers, "ASK_AGAIN_S", 0.1)
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", answer)
    asyncio.run(trigger.on_kill())
    until(lab.is_empty, "the guardian to stop the training")
    assert outcome_of(lab)["state"] is None
    assert record.event("orphaned") is not None


def test_no_record_here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that never existed here is reported after a delay."""
    monkeypatch.setattr(triggers, "UNSEEN_S", 0.5)
    began = time.monotonic()
    trigger = TrainingTrigger(str(lab.state / "runs" / "20260101-000000"), "me", 1)
    assert asyncio.run(fired(trigger)) == "unseen"
    assert time.monotonic() - began >= 0.5


def test_disk_that_hangs(lab: Lab) -> None:
    """A hanging thread blocks neither the event loop nor the exit of the program."""
    code = (
        "import asyncio, threading\n"
        "from gpualert_provider.daemon_thread import run_in_daemon_thread\n"
        "async def main():\n"
        "    hanging = run_in_daemon_thread(threading.Event().wait)\n"
        "    await asyncio.wait([hanging], timeout=0.1)\n"
        "    print(await run_in_daemon_thread(lambda: 'free'))\n"
        "asyncio.run(main())\n"
    )
    done = lab.call((sys.executable, "-c", code))
    assert (done.returncode, done.stdout) == (0, b"free\n")


LEAVES = """
import os
import sys
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
from gpualert_provider import deferred_run
key = ("airflow", sys.argv[1], sys.argv[2], "train", "-1")
attempt = Attempt(key, number=0, fingerprint=sys.argv[3])
spec = RunSpec(["sleep", "60"], state_dir=os.environ["GPUALERT_STATE_DIR"])
with RunHandle.launch(spec, attempt) as handle:
    assert deferred_run.leave(handle.record, attempt, 600.0)
"""


def test_next_attempt_trains_again(trials: Trials, lab: Lab) -> None:
    """An attempt that follows a cleared, deferred one stops that one's training."""
    date = datetime(2026, 1, 1, tzinfo=UTC)
    dag = trials.dag("command=['sleep', '1'], deferrable=True")
    same = fingerprint(["sleep", "1"], None, None)  # it could be adopted
    names = (dag.dag_id, f"manual__{date.isoformat()}", same)
    assert_done(lab.call((sys.executable, "-c", LEAVES, *names)))
    done = trials.test(dag, logical_date=date, run_after=date)
    assert done.state == "success"
    first, second = (Record.open(str(path)) for path in lab.records())
    assert first.ending is not None
    assert first.ending.exit_code == -15
    stopping = first.event("stopping")
    assert stopping is not None
    assert stopping.fields["sender"]["because"] == "its task was cleared in Airflow"
    assert second.ending is not None
    assert second.ending.exit_code == 0


def test_by_hand(lab: Lab) -> None:
    """An operator outside any DAG run can be resumed with the event of its trigger."""
    from airflow.providers.common.compat.sdk import TaskDeferred

    def operator() -> GPUAlertOperator:
        command = "sleep 1; echo 1"
        return GPUAlertOperator(task_id="train", bash_command=command, deferrable=True)

    with pytest.raises(TaskDeferred) as caught:
        operator().execute({})
    payload = {"what": asyncio.run(fired(caught.value.trigger)), "record": str(lab.records()[0])}
    resumed = operator().resume_execution(caught.value.method_name, {"event": payload}, {})
    assert resumed == "1"
