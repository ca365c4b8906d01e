"""GPUAlertOperator in BashOperator's place: result, skip, error, environment, directory."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from gpualert_provider.exceptions import TrainingTaskFailed

from tests.airflow.conftest import Trials
from tests.supervised import Lab


@pytest.mark.parametrize(
    ("command", "returned"),
    [
        ("echo first; echo last", "last"),
        ("echo out; echo err >&2", "err"),
        ("echo last; echo", ""),
        ("true", ""),
        ("printf 'no newline'", "no newline"),
        ("echo '  kept in front  '", "  kept in front"),
        (r"printf 'a\377b\n'", r"a\xffb"),
        ("seq -f 'step %.0f' 30000", "step 30000"),
        ("head -c 300000 /dev/zero | tr '\\0' x", "x" * 300_000),
    ],
)
def test_last_line_is_returned(trials: Trials, command: str, returned: str) -> None:
    """The task returns the last line of its output, merged and decoded as BashOperator does."""
    done = trials.train(f"bash_command={command!r}")
    assert (done.state, done.returned) == ("success", returned)


def test_output_processor(trials: Trials) -> None:
    """The result goes through ``output_processor``."""
    done = trials.train("bash_command='echo 41', output_processor=lambda line: int(line) + 1")
    assert done.returned == 42


def test_output_processor_that_raises(trials: Trials, lab: Lab) -> None:
    """An error of ``output_processor`` fails the task, and the record contains that."""
    done = trials.train("bash_command='echo none', output_processor=int")
    assert done.state == "failed"
    assert isinstance(done.error, ValueError)
    assert outcome(lab) == ("failed", True)


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ("bash_command='exit 99'", "skipped"),
        ("bash_command='exit 4', skip_on_exit_code=[4, 5]", "skipped"),
        ("bash_command='exit 99', skip_on_exit_code=None", "failed"),
        ("bash_command='true', skip_on_exit_code=0", "skipped"),
        ("bash_command='false | true'", "success"),
        ("bash_command='kill -9 $$'", "failed"),
    ],
)
def test_state_follows_the_status(trials: Trials, lab: Lab, arguments: str, state: str) -> None:
    """Success, skip and failure are decided as by BashOperator, and recorded."""
    done = trials.train(arguments)
    assert done.state == state
    assert outcome(lab) == (state, True)


def outcome(lab: Lab) -> tuple[str, bool]:
    """Return the task's state in the only record."""
    outcome = lab.record().read_json("outcome.json")
    assert outcome is not None
    return outcome["state"], outcome["final"]


def test_error_of_a_failure(trials: Trials, lab: Lab) -> None:
    """The error's first line has cause and headline, its text is BashOperator's; it pickles."""
    script = lab.script("train.py", "import torch_of_nobody\n")
    done = trials.train(f"bash_command='python3 {script}'")
    error = done.error
    assert isinstance(error, TrainingTaskFailed)
    first, second, *_ = str(error).splitlines()
    assert first.startswith("missing_module: ")
    assert "torch_of_nobody" in first
    assert second == "Bash command failed. The command returned a non-zero exit code 1."
    assert (error.cause, error.exit_code) == ("missing_module", 1)
    assert error.verdict is not None
    assert error.verdict.cause == "missing_module"
    assert error.log_path == lab.record().log_path("output.log")
    assert error.run_id == lab.record().run_id


def test_retry_after_a_failure_trains_again(trials: Trials, lab: Lab) -> None:
    """A reported failure is not claimed again: the next attempt trains."""
    again = "retries=1, retry_delay=datetime.timedelta(0)"
    done = trials.train(f"bash_command='echo $AIRFLOW_CTX_TRY_NUMBER; exit 1', {again}")
    assert done.state == "failed"
    logs = [(path / "output.log").read_text() for path in lab.records()]
    assert logs == ["1\n", "2\n"]
    outcomes = [(path / "outcome.json").read_text() for path in lab.records()]
    assert '"up_for_retry"' in outcomes[0]
    assert '"failed"' in outcomes[1]


def test_repeated_run_trains_again(trials: Trials, lab: Lab) -> None:
    """A DAG run that is repeated under its old id does not get the old result."""
    date = datetime(2026, 1, 1, tzinfo=UTC)
    dag = trials.dag("bash_command='echo $GPUALERT_RUN_ID'")
    first, second = (trials.test(dag, logical_date=date, run_after=date).returned for _ in range(2))
    assert first != second
    assert [path.name for path in lab.records()] == [first, second]


def test_mapped_tasks_have_separate_runs(trials: Trials, lab: Lab) -> None:
    """Mapped tasks that differ in their index have separate trainings."""
    trials.dag("bash_command='echo $N').expand(env=[{'N': '1'}, {'N': '2'}]", how=".partial").test()
    assert sorted((path / "output.log").read_text() for path in lab.records()) == ["1\n", "2\n"]


def test_stdin_is_empty(trials: Trials) -> None:
    """A command that reads stdin gets end-of-file, not the worker's stdin."""
    assert trials.train("bash_command='cat; echo end'").returned == "end"


def test_environment(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """``env`` replaces the worker's environment unless ``append_env``; Airflow's is added."""
    monkeypatch.setenv("OF_THE_WORKER", "w")
    echo = "bash_command='echo [$OF_THE_WORKER] [$MINE] [$AIRFLOW_CTX_TASK_ID]'"
    mine = "env={'MINE': '{{ 1 + 1 }}'}"
    assert trials.train(echo).returned == "[w] [] [train]"
    assert trials.train(f"{echo}, {mine}").returned == "[] [2] [train]"
    assert trials.train(f"{echo}, {mine}, append_env=True").returned == "[w] [2] [train]"


def test_temporary_directory(trials: Trials, lab: Lab) -> None:
    """Without ``cwd`` the command runs in a new, empty directory, which is then removed."""
    done = trials.train("bash_command='ls -A; touch mine; pwd'")
    assert os.path.basename(done.returned).startswith("airflowtmp")
    assert not os.path.exists(done.returned)
    assert list((lab.home / "tmp").iterdir()) == []
    assert lab.log("output.log").decode().splitlines() == [done.returned]


def test_directory_of_the_author(trials: Trials, lab: Lab) -> None:
    """The command runs in ``cwd``, which stays."""
    done = trials.train(f"bash_command='touch mine; pwd', cwd={str(lab.home)!r}")
    assert done.returned == str(lab.home)
    assert (lab.home / "mine").exists()


def test_missing_directory(trials: Trials, lab: Lab) -> None:
    """A missing ``cwd`` fails the task before the launch."""
    done = trials.train("bash_command='true', cwd='/no/such/place'")
    assert str(done.error) == "Can not find the cwd: /no/such/place"
    assert lab.records() == []


@pytest.mark.parametrize("where", ["temporary", "author's"])
@pytest.mark.parametrize("end", ["# of long.sh", "# longer than an argument may be"])
def test_rendered_script(trials: Trials, lab: Lab, where: str, end: str) -> None:
    """A script, or a command too long for an argument, is run as a file, which is then removed."""
    place = f", cwd={str(lab.home)!r}" if where == "author's" else ""
    dag = trials.dag(f"bash_command='long.sh'{place}")
    script = Path(dag.fileloc).with_name("long.sh")
    script.write_text(f"# {'x' * 200_000}\necho {{{{ 6 * 7 }}}} $0\n{end}")
    done = trials.test(dag)
    script.unlink()
    answer, name = str(done.returned).split()
    assert answer == "42"
    assert name.endswith(".sh")
    assert not list(lab.home.glob("**/*.sh"))


def test_options_of_the_core(trials: Trials, lab: Lab) -> None:
    """An option that is an argument of the operator, or in ``default_args``, reaches the run."""
    done = trials.train(
        "bash_command='true', default_args=dict(observe=False, grace='9s'), warn=True, "
        "notify='mailbox', notify_deadline=datetime.timedelta(seconds=3)"
    )
    assert done.state == "success"
    spec = lab.record().spec
    assert (spec.observe, spec.grace_s) == (False, 9.0)
    assert spec.alerts is not None
    assert (spec.alerts["warn"], spec.alerts["deadline_s"]) == (True, 3.0)
