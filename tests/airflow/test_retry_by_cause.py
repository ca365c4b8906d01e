"""Retries by cause: stopped where they would waste GPU time, otherwise the task's own."""

from __future__ import annotations

import json

import pytest
from gpualert_provider import next_attempt
from gpualert_provider.exceptions import TrainingTaskFailed, TrainingTaskFailedForGood

from gpualert_common.errors import UsageError
from tests.airflow.conftest import VERSION, Trials, needs_policies
from tests.supervised import Lab

AGAIN = "retries=1, retry_delay=datetime.timedelta(0)"
ABSENT = "import package_of_nobody\n"
BUG = "{}['key']\n"


def trained(trials: Trials, lab: Lab, program: str, more: str = "") -> tuple[int, list[str]]:
    """Return how often a failing program ran, and the task's state in each record."""
    script = lab.script("train.py", program)
    done = trials.train(f"bash_command='python3 {script}', {AGAIN}{more}")
    assert done.state == "failed"
    states = [json.loads((path / "outcome.json").read_text())["state"] for path in lab.records()]
    return len(states), states


def test_deterministic_cause(trials: Trials, lab: Lab) -> None:
    """A missing module stops the retries: one attempt, recorded as the last."""
    assert trained(trials, lab, ABSENT) == (1, ["failed"])


def test_any_other_cause(trials: Trials, lab: Lab) -> None:
    """A bug of the program may be random; the task's retries apply."""
    assert trained(trials, lab, BUG) == (2, ["up_for_retry", "failed"])


@pytest.mark.parametrize(
    ("program", "wanted", "attempts"),
    [
        (ABSENT, "False", 2),
        (ABSENT, "{'missing_module': 'retry'}", 2),
        (ABSENT, "{'missing_module': 'default'}", 2),
        (ABSENT, "{'missing_module': datetime.timedelta(0)}", 2),
        (ABSENT, "{'network': 'stop'}", 1),
        (BUG, "{'traceback': 'stop'}", 1),
    ],
)
def test_rules_of_the_author(
    trials: Trials, lab: Lab, program: str, wanted: str, attempts: int
) -> None:
    """The author's action for a cause replaces the default, for that cause only."""
    assert trained(trials, lab, program, f", retry_by_cause={wanted}")[0] == attempts


@needs_policies
def test_policy_of_the_author(trials: Trials, lab: Lab) -> None:
    """A ``retry_policy`` of the task replaces RetryByCause."""
    own = "retry_policy=sdk.ExceptionRetryPolicy(rules=[])"
    assert trained(trials, lab, ABSENT, f", {own}")[0] == 2


@needs_policies
def test_policy_of_the_dag(trials: Trials, lab: Lab) -> None:
    """A ``retry_policy`` in the DAG's ``default_args`` replaces it, too."""
    own = "default_args={'retry_policy': sdk.ExceptionRetryPolicy(rules=[])}"
    assert trained(trials, lab, ABSENT, f", {own}")[0] == 2


@pytest.mark.parametrize(
    "wanted", ["'stop'", "None", "{'missing_modul': 'stop'}", "{'network': 'soon'}"]
)
def test_invalid_rule(trials: Trials, wanted: str) -> None:
    """Parsing the DAG fails on an unknown cause or action, and the error names it."""
    with pytest.raises(UsageError, match=r"missing_module|network|retry_by_cause"):
        trials.dag(f"bash_command='true', retry_by_cause={wanted}")


def test_without_policies(trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Airflow 3.3 the error itself stops the retries."""
    monkeypatch.setattr(next_attempt, "HAS_POLICIES", False)
    script = lab.script("train.py", ABSENT)
    done = trials.train(f"bash_command='python3 {script}', {AGAIN}")
    assert (done.state, len(lab.records())) == ("failed", 1)
    assert isinstance(done.error, TrainingTaskFailedForGood)
    assert trained(trials, lab, BUG)[0] == 3  # one of them above


def test_last_attempt(trials: Trials, lab: Lab) -> None:
    """The error of the last attempt is TrainingTaskFailed."""
    script = lab.script("train.py", ABSENT)
    assert type(trials.train(f"bash_command='python3 {script}'").error) is TrainingTaskFailed


@pytest.mark.parametrize(
    ("program", "wanted", "reason"),
    [
        (ABSENT, "True", "No further attempt: missing_module (confidence"),
        pytest.param(
            BUG, "True", "Another attempt follows: traceback (confidence", marks=needs_policies
        ),
        (BUG, "{'traceback': 'stop'}", "No further attempt: traceback (confidence"),
    ],
)
def test_reason_is_logged(
    trials: Trials,
    lab: Lab,
    capfd: pytest.CaptureFixture[str],
    program: str,
    wanted: str,
    reason: str,
) -> None:
    """The decision about retries and its reason are logged once, before the error."""
    trained(trials, lab, program, f", retry_by_cause={wanted}")
    log, _ = capfd.readouterr()
    before, _ = log.split("Task failed with exception", 1)
    assert reason in before
    assert log.count(reason) == 1
    assert log.count("Retry policy decision") == (1 if VERSION >= (3, 3) else 0)
