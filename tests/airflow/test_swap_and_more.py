"""GPUAlertOperator's additions to BashOperator: a command without a shell, XCom, a clean env."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpualert_provider.airflow_variables import drop_airflow_variables
from gpualert_provider.exceptions import TrainingTaskFailed
from gpualert_provider.links import VerdictLink
from gpualert_provider.operators.gpualert import GPUAlertOperator
from gpualert_provider.xcom import MOST_BYTES, shorten_verdict

from tests.airflow.conftest import Trials
from tests.supervised import Lab

# -- command -------------------------------------------------------------------------------


def test_command_has_no_shell(trials: Trials) -> None:
    """A list is the program and its arguments, as they are."""
    assert trials.train("command=['printf', '%s|', '$HOME', 'a b', '*']").returned == "$HOME|a b|*|"


def test_command_is_rendered(trials: Trials, lab: Lab) -> None:
    """Each argument is a template, and none is a template file."""
    done = trials.train("command=['echo', '{{ 6 * 7 }}', 'train.sh']")
    assert done.returned == "42 train.sh"


def test_command_that_does_not_exist(trials: Trials) -> None:
    """The status is that of a shell, and the verdict names it."""
    error = trials.train("command=['no-such-trainer']").error
    assert isinstance(error, TrainingTaskFailed)
    assert (error.exit_code, error.cause) == (127, "command_not_found")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"bash_command": "true", "command": ["true"]},
        {"command": "python train.py"},
        {"command": []},
    ],
)
def test_one_command(arguments: dict[str, Any]) -> None:
    """Neither command, both, or a string instead of a list is an error that names the remedy."""
    with pytest.raises(TypeError, match="command"):
        GPUAlertOperator(task_id="train", **arguments)


def test_command_of_other_tasks_is_no_template() -> None:
    """A result of another task is not rendered."""
    task = GPUAlertOperator(task_id="train", command=["echo", "{{ 1 + 1 }}", "x.sh"])
    assert task.render_template(task.command, {}) == ["echo", "2", "x.sh"]
    assert task.render_template(task.command, {}, None, {id(task.command)}) == task.command


def test_empty_command(trials: Trials) -> None:
    """An empty command from a mapping fails the task."""
    dag = trials.dag(").expand(command=[[]]", how=".partial")
    (task,) = dag.test().get_task_instances()
    assert task.state == "failed"


def test_outside_a_dag_run(lab: Lab) -> None:
    """An operator can be executed outside any DAG run, as unit tests do."""
    assert GPUAlertOperator(task_id="train", bash_command="echo 1").execute({}) == "1"
    with pytest.raises(TrainingTaskFailed):
        GPUAlertOperator(task_id="train", bash_command="exit 3").execute({})
    assert len(lab.records()) == 2


def test_own_job(trials: Trials, lab: Lab) -> None:
    """A task is a job of its own, which its record has with the job directory and the attempt."""
    assert trials.train(f"command=['true'], job_dir={str(lab.home / 'jobs')!r}").error is None
    job = lab.record().spec.job
    assert job is not None
    assert job["key"].startswith("airflow-")
    assert (job["origin"], job["attempt"], job["nodes"]) == ("engine", 1, 1)
    assert job["directory"] == str(lab.home / "jobs")


def test_named_job(trials: Trials, lab: Lab) -> None:
    """The name of a job is a template, so that the nodes of one DAG run can share it."""
    assert trials.train("command=['true'], job='llm-{{ 6 * 7 }}'").error is None
    job = lab.record().spec.job
    assert job is not None
    assert (job["key"], job["origin"]) == ("job-llm-42", "option")


# -- XCom ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "cause"), [("echo well", "none"), ("exit 99", "runtime_error"), ("1/0", None)]
)
def test_verdict_in_xcom(trials: Trials, lab: Lab, command: str, cause: str | None) -> None:
    """After any end XCom contains the verdict and the paths of log and record."""
    done = trials.train(f"bash_command={command!r}")
    verdict = done.xcom("gpualert_verdict")
    assert verdict["run_id"] == lab.record().run_id
    assert cause in (None, verdict["cause"])
    assert Path(verdict["log_path"]).read_bytes() == lab.log("output.log")
    assert Path(verdict["record"]) == lab.records()[0]
    assert verdict["artifacts"] == []


def test_no_xcom(trials: Trials) -> None:
    """``do_xcom_push=False`` pushes nothing."""
    done = trials.train("bash_command='true', do_xcom_push=False")
    assert done.xcom("gpualert_verdict") is None


def test_xcom_has_no_secrets(trials: Trials, lab: Lab) -> None:
    """Credentials in the training's output are masked in Airflow's database."""
    url = "https://me:hunter2secret@hub.example/x"
    script = lab.script("train.py", f"raise ConnectionError('cannot reach {url}')\n")
    done = trials.train(f"bash_command='python3 {script}'")
    for kept in (json.dumps(done.xcom("gpualert_verdict")), str(done.error)):
        assert "hub.example" in kept
        assert "hunter2secret" not in kept


def test_xcom_is_bounded() -> None:
    """Long fields of a verdict are cut, and the items left out are counted."""
    verdict = {"cause": "data", "headline": "h", "shows": [{"claim": "x" * 500}] * 400}
    kept = shorten_verdict(verdict | {"sources": [{"name": "log"}] * 3})
    assert len(json.dumps(kept)) <= MOST_BYTES
    assert (kept["cause"], kept["headline"]) == ("data", "h")
    assert len(kept["shows"]) > 10
    assert kept["left_out"] == {"sources": 3, "shows": 400 - len(kept["shows"])}
    assert shorten_verdict(kept) == kept


# -- environment ---------------------------------------------------------------------------


def test_scrubbed_environment(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """``scrub_env`` removes Airflow's variables, except the author's and the task's."""
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://u:secret@db/airflow")
    monkeypatch.setenv("AIRFLOW_CONN_MINE", "smtp://u:secret@mail")
    monkeypatch.setenv("MASTER_PORT", "29500")
    shown = "bash_command='env | grep -E \"^(AIRFLOW|MASTER)\" | cut -d= -f1 | sort | xargs'"
    names = trials.train(f"{shown}, scrub_env=True, append_env=True, env={{'AIRFLOW_X': '1'}}")
    assert {"AIRFLOW_HOME", "AIRFLOW_X", "MASTER_PORT"} < set(names.returned.split())
    assert "AIRFLOW_CTX_TASK_ID" in names.returned
    assert "AIRFLOW_CONN_MINE" not in names.returned
    assert "AIRFLOW__" not in names.returned
    assert "AIRFLOW_CONN_MINE" in trials.train(shown).returned


def test_variables_of_airflow() -> None:
    """Airflow's variables are recognized by their names."""
    env = {"_AIRFLOW_X": "d", "__AIRFLOW_FD": "3", "AIRFLOW_VAR_KEY": "k", "MY_AIRFLOW_KEY": "m"}
    assert drop_airflow_variables(env, {}) == {"MY_AIRFLOW_KEY": "m"}
    assert drop_airflow_variables(env, {"AIRFLOW_VAR_KEY": "k"}).keys() == {
        "AIRFLOW_VAR_KEY",
        "MY_AIRFLOW_KEY",
    }


# -- decorator and pages -------------------------------------------------------------------

_DECORATED = """
from airflow.sdk import DAG, task
with DAG("decorated", schedule=None) as dag:
    @task.gpualert(env={"WHO": "{{ task.task_id }}"}, append_env=True, multiple_outputs=False)
    def train(epochs):
        return f"echo {epochs} epochs by $WHO"
    train(3)
if __name__ == "__main__":
    run = dag.test()
    print("RETURNED", run.get_task_instance("train").xcom_pull(task_ids="train"))
"""


def test_decorator(lab: Lab, database: None) -> None:
    """The package's entry point registers ``@task.gpualert``, which runs the returned command."""
    import os

    script = Path(os.environ["AIRFLOW_HOME"]) / "dags" / "decorated.py"
    script.write_text(_DECORATED)
    try:
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    finally:
        script.unlink()
    assert "RETURNED 3 epochs by train\n" in done.stdout
    assert len(lab.records()) == 1


class Attempt:
    """The names of an attempt, from which a link is made."""

    dag_id, run_id, task_id, map_index, try_number = "d", "manual 1", "t", -1, 2


class Executed:
    """An operator after its task, whose log ends with a verdict or not."""

    has_logged_verdict = False


@pytest.mark.parametrize(("index", "mapped"), [(-1, ""), (2, "/mapped/2")])
@pytest.mark.parametrize(
    ("has_verdict", "query"),
    [
        (False, "?try_number=2"),
        (True, "?try_number=2&log_level=error&log_level=critical&log_level=warning"),
    ],
)
def test_link(
    index: int, mapped: str, has_verdict: bool, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link leads to the attempt's log, and to the verdict in it where there is one."""
    monkeypatch.setattr(Attempt, "map_index", index)
    monkeypatch.setattr(Executed, "has_logged_verdict", has_verdict)
    get_link: Callable[..., str] = VerdictLink().get_link
    link = get_link(Executed(), ti_key=Attempt())
    assert link.endswith(f"/dags/d/runs/manual%201/tasks/t{mapped}{query}")
