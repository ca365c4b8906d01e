"""Mapped trainings: a run for each index, with the end of a BashOperator."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest
from gpualert_provider.exceptions import TrainingTaskFailed
from gpualert_provider.triggers import gpualert as triggers

from gpualert_common.record import Record
from tests.airflow.conftest import Trials, needs_policies, needs_store
from tests.notify.alerting import states
from tests.supervised import Lab, until

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance

_SOURCE = """
import datetime
import pickle
from pathlib import Path
from airflow.providers.standard.operators.bash import BashOperator
from airflow import sdk
from airflow.sdk import DAG, TaskGroup, task, task_group
from gpualert_provider.operators.gpualert import GPUAlertOperator

def keep(context):
    path = Path({errors!r}) / str(context["ti"].map_index)
    path.write_bytes(pickle.dumps(context["exception"]))

with DAG({name!r}, schedule=None, default_args={{"on_failure_callback": keep}}) as dag:
{body}
"""


class Mapped:
    """A DAG run of mapped tasks: their states, XComs and records."""

    def __init__(self, run: DagRun, lab: Lab) -> None:
        self._lab = lab
        found = run.get_task_instances()
        self._tasks = {(ti.task_id, ti.map_index): ti for ti in found}

    def of(self, task_id: str) -> list[TaskInstance]:
        """Return the instances of a task, in the order of their indexes."""
        return [self._tasks[key] for key in sorted(self._tasks) if key[0] == task_id]

    def ends(self) -> dict[tuple[str, int], tuple[str, Any]]:
        """Return state and result of every task instance."""
        return {
            key: (str(ti.state), self._pulled(ti, "return_value"))
            for key, ti in sorted(self._tasks.items())
        }

    def pulled(self, task_id: str, key: str) -> list[Any]:
        """Return the XCom that a task downstream gets from each index."""
        return [self._pulled(ti, key) for ti in self.of(task_id)]

    def _pulled(self, ti: TaskInstance, key: str) -> Any:
        return ti.xcom_pull(task_ids=ti.task_id, map_indexes=ti.map_index, key=key)

    def records(self) -> dict[tuple[str, str], Record]:
        """Return the records by task and index."""
        found = {}
        for path in self._lab.records():
            record = Record.open(str(path))
            *_, task_id, index = record.spec.owner["key"]
            assert (task_id, index) not in found
            found[task_id, index] = record
        return dict(sorted(found.items()))

    def errors(self) -> dict[int, BaseException]:
        """Return the error of each failed index."""
        places = (self._lab.home / "errors").iterdir()
        return {int(path.name): pickle.loads(path.read_bytes()) for path in places}


class Maps:
    """Runs DAGs of mapped tasks by ``dag.test()``."""

    def __init__(self, trials: Trials, lab: Lab) -> None:
        self._trials = trials
        self._lab = lab

    def run(self, body: str, **names: str) -> Mapped:
        """Run a DAG with this body, in which each name is replaced by its value."""
        for name, value in names.items():
            body = body.replace(name, value)
        errors = self._lab.home / "errors"
        errors.mkdir(exist_ok=True)
        dag_id = f"mapped_{os.urandom(4).hex()}"
        source = _SOURCE.format(errors=str(errors), name=dag_id, body=indent(body, "    "))
        return Mapped(self._trials.dag_of(dag_id, source).test(), self._lab)


@pytest.fixture
def maps(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Maps:
    """Return a runner of DAGs of mapped tasks."""
    monkeypatch.setattr(triggers, "SAMPLE_INTERVAL_S", 0.2)
    return Maps(trials, lab)


# -- compared with BashOperator -------------------------------------------------------------------

_EXPAND = """
train = OPERATOR.partial(task_id="train").expand(
    bash_command=["echo none; echo run {{ ti.map_index }}", "exit 3", "exit 99", "kill -9 $$"]
)
@task(trigger_rule="all_done")
def gather(results):
    return list(results)
gather(train.output)
"""
_EXPAND_KWARGS = """
OPERATOR.partial(task_id="train", append_env=True).expand_kwargs([
    {"bash_command": "echo $WHO", "env": {"WHO": "{{ ti.map_index }} of {{ task.task_id }}"}},
    {"bash_command": "exit 4", "skip_on_exit_code": [4]},
    {"bash_command": "pwd", "cwd": "/"},
    {"bash_command": "echo 41", "output_processor": lambda line: int(line) + 1},
    {"bash_command": "true", "do_xcom_push": False},
    {"bash_command": "sleep 60", "execution_timeout": datetime.timedelta(seconds=1)},
])
"""
_UPSTREAM = """
@task
def choose():
    return [{"epochs": "one"}, {"epochs": "{{ 1 + 1 }}"}]
OPERATOR.partial(task_id="train", bash_command="echo $epochs").expand(env=choose())
"""
_IN_GROUP = """
with TaskGroup("night"):
    OPERATOR.partial(task_id="train").expand(bash_command=["echo a", "echo b"])
"""
_MAPPED_GROUP = """
@task_group
def night(code):
    train = OPERATOR(task_id="train", bash_command="exit $CODE", env={"CODE": code})
    train >> OPERATOR(task_id="report", bash_command="echo run {{ ti.map_index }}")
night.expand(code=["0", "1", "99"])
"""
_DECORATED = """
@task.DECORATOR(append_env=True)
def train(epochs, rate):
    return f"echo {epochs} epochs at {rate}"
train.partial(rate="high").expand(epochs=[1, 2])
"""
_NOTHING = """
OPERATOR.partial(task_id="train").expand(bash_command=[])
"""


@pytest.mark.parametrize(
    ("body", "train"),
    [
        (_EXPAND, ["run 0", "failed", "skipped", "failed"]),
        (_EXPAND_KWARGS, ["0 of train", "skipped", "/", 42, None, "failed"]),
        (_UPSTREAM, ["one", "{{ 1 + 1 }}"]),
        (_IN_GROUP, ["a", "b"]),
        (_MAPPED_GROUP, ["", "failed", "skipped"]),
        (_DECORATED, ["1 epochs at high", "2 epochs at high"]),
        (_NOTHING, ["skipped"]),
    ],
)
def test_as_bash_operator(maps: Maps, body: str, train: list[Any]) -> None:
    """State and result of every task instance equal those of a BashOperator."""
    names = [{"OPERATOR": "GPUAlertOperator", "DECORATOR": "gpualert"}]
    names += [{"OPERATOR": "BashOperator", "DECORATOR": "bash"}]
    ours, theirs = (maps.run(body, **each) for each in names)
    assert ours.ends() == theirs.ends()
    ends = [end for (name, _), end in ours.ends().items() if name.endswith("train")]
    assert [result if state == "success" else state for state, result in ends] == train


# -- our additions -------------------------------------------------------------------------

_SWEEP = """
GPUAlertOperator.partial(task_id="train").expand(
    bash_command=["echo well", "python3 -c 'import package_of_nobody'", "exit 99"]
)
"""


def test_a_run_for_each_index(maps: Maps) -> None:
    """The error of a failed index names the cause; each index has its own run and verdict."""
    done = maps.run(_SWEEP)
    records = done.records()
    assert list(records) == [("train", "0"), ("train", "1"), ("train", "2")]
    outcomes = [record.read_json("outcome.json") or {} for record in records.values()]
    assert [outcome["state"] for outcome in outcomes] == ["success", "failed", "skipped"]
    error = done.errors()[1]
    assert isinstance(error, TrainingTaskFailed)
    assert (error.cause, error.run_id) == ("missing_module", records["train", "1"].run_id)
    assert str(error).startswith("missing_module: ")


def test_verdicts_by_index(maps: Maps) -> None:
    """A task downstream gets the verdict and the location of each index's run."""
    done = maps.run(_SWEEP)
    verdicts = done.pulled("train", "gpualert_verdict")
    assert [verdict["cause"] for verdict in verdicts] == ["none", "missing_module", "runtime_error"]
    runs = [record.run_id for record in done.records().values()]
    assert [verdict["run_id"] for verdict in verdicts] == runs


_REMEMBERED = """
def check(context, result):
    path = Path("PLACE") / str(context["ti"].map_index)
    path.write_text(context["task_state_store"].get("gpualert_run")["run_id"])
GPUAlertOperator.partial(task_id="train", post_execute=check).expand(bash_command=["true", "true"])
"""


@needs_store
def test_store_by_index(maps: Maps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's task state store has a run for each index."""
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")
    done = maps.run(_REMEMBERED, PLACE=str(tmp_path))
    for (_, index), record in done.records().items():
        assert (tmp_path / index).read_text() == record.run_id


_COMMANDS = """
GPUAlertOperator.partial(task_id="train").expand(
    command=[["echo", "{{ 6 * 7 }} times", "train.sh"], ["printf", "%s|", "$HOME", "a b"]]
)
"""
_COMMANDS_FROM_UPSTREAM = """
@task
def choose():
    return [["echo", "{{ 6 * 7 }}", "train.sh"], ["printf", "%s|", "$HOME", "a b"]]
GPUAlertOperator.partial(task_id="train").expand(command=choose())
"""


@pytest.mark.parametrize(
    ("body", "first"),
    [(_COMMANDS, "42 times train.sh"), (_COMMANDS_FROM_UPSTREAM, "{{ 6 * 7 }} train.sh")],
)
def test_commands(maps: Maps, body: str, first: str) -> None:
    """Each index has its own list; the result of another task is not a template."""
    assert maps.run(body).pulled("train", "return_value") == [first, "$HOME|a b|"]


_RETRIES = """
GPUAlertOperator.partial(
    task_id="train", retries=1, retry_delay=datetime.timedelta(0), ARGUMENT
).expand(bash_command=["python3 -c 'import package_of_nobody'", "python3 -c '1/0'", "true"])
"""


@pytest.mark.parametrize(
    ("argument", "tries"),
    [
        ("", [1, 2, 1]),
        ("retry_by_cause=False", [2, 2, 1]),
        ("retry_by_cause={'missing_module': 'retry', 'div_zero': 'stop'}", [2, 1, 1]),
        pytest.param(
            "retry_policy=sdk.ExceptionRetryPolicy(rules=[])", [2, 2, 1], marks=needs_policies
        ),
        pytest.param(
            "default_args={'retry_policy': sdk.ExceptionRetryPolicy(rules=[])}",
            [2, 2, 1],
            marks=needs_policies,
        ),
    ],
)
def test_retries_by_cause(maps: Maps, argument: str, tries: list[int]) -> None:
    """Each index is retried by its own cause."""
    done = maps.run(_RETRIES, ARGUMENT=argument)
    assert [task.try_number for task in done.of("train")] == tries


_ARGUMENTS = """
GPUAlertOperator.partial(
    task_id="train", grace="7s", notify="mailbox", retry_by_cause=False, scrub_env=True
).expand_kwargs([
    {"bash_command": "exit 3", "artifact": "*.json"},
    {"bash_command": "exit 4", "notify_on": "never"},
    {"bash_command": "printenv AIRFLOW__CORE__DAGS_FOLDER || echo clean", "notify_on": "always"},
    {"bash_command": "exit 5"},
])
"""


def test_arguments(maps: Maps) -> None:
    """Arguments may be given to all indexes or to each; each index sends its own alert."""
    done = maps.run(_ARGUMENTS)
    assert {record.spec.grace_s for record in done.records().values()} == {7.0}
    sent = [states(record) == {"mailbox": "sent"} for record in done.records().values()]
    assert sent == [True, False, True, True]
    assert done.pulled("train", "return_value")[2] == "clean"


_DEFERRED = """
GPUAlertOperator.partial(task_id="train", deferrable=True).expand(
    bash_command=["sleep 1; echo well", "sleep 1; exit 3", "sleep 1; exit 99"]
)
"""


def test_deferrable(maps: Maps, lab: Lab) -> None:
    """Each index frees its worker, and its own attempt takes it back."""
    done = maps.run(_DEFERRED)
    assert list(done.ends().values()) == [("success", "well"), ("failed", None), ("skipped", None)]
    for record in done.records().values():
        assert record.event("adopted") is not None
    assert isinstance(done.errors()[1], TrainingTaskFailed)
    until(lab.is_empty, "the guardians to be gone")


@pytest.mark.parametrize(
    "arguments",
    ["command='python train.py'", "command=['true'], retry_by_cause={'missing_modul': 'stop'}"],
)
def test_wrong_argument(maps: Maps, lab: Lab, arguments: str) -> None:
    """An argument that is wrong only after the mapping fails the index before the launch."""
    body = f"GPUAlertOperator.partial(task_id='train', {arguments}).expand(cwd=['/', '/tmp'])"
    assert [state for state, _ in maps.run(body).ends().values()] == ["failed", "failed"]
    assert lab.records() == []
