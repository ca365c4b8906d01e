"""Tests of ``retry_by_cause``, ``retryable``, and the pickling of the error."""

from __future__ import annotations

import dataclasses
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.results import get_result_store
from prefect.states import Failed
from prefect.task_runners import ProcessPoolTaskRunner
from prefect_gpualert import TrainingFailed, TrainingOperation, gpualert_run, retry_by_cause

from gpualert_common.classify import load_rules
from gpualert_common.diagnose import conclude
from gpualert_common.errors import UsageError
from gpualert_common.model import ExitFacts
from tests.notify.alerting import states
from tests.prefect.running import FACES, records, run

HOPELESS = "no-such-command"
UNKNOWN = "exit 3"


PLAIN = conclude(
    run_id="r",
    attempt=1,
    host="h",
    log_path=None,
    readings=[],
    facts=ExitFacts(1),
    rules=load_rules(),
).verdict


def failed(cause: str, confidence: float = 0.95) -> TrainingFailed:
    """Return the failure of a training with this cause."""
    verdict = dataclasses.replace(PLAIN, cause=cause, confidence=confidence)
    return TrainingFailed(f"{cause}: it failed\nlog: l", cause=cause, exit_code=1, verdict=verdict)


# -- the condition, in real flows --------------------------------------------------------------


@pytest.mark.usefixtures("harness")
class TestInFlows:
    """Return whether Prefect retries."""

    @FACES
    def test_deterministic_cause_is_not_retried(self, way: str, home: Path, caplog: Any) -> None:
        """A sure and deterministic failure ends the retries, and the run log says why."""
        options = {"retries": 2, "retry_condition_fn": retry_by_cause}
        with pytest.raises(TrainingFailed, match="command_not_found"):
            run(way, HOPELESS, options)
        assert len(records(home)) == 1
        assert "No further attempt: command_not_found (confidence 0.95)" in caplog.text

    def test_other_causes_are_retried(self, home: Path, caplog: Any) -> None:
        """A failure that another attempt may not have leaves the retries to the task."""
        options = {"retries": 1, "retry_condition_fn": retry_by_cause}
        with pytest.raises(TrainingFailed):
            run("called", UNKNOWN, options)
        assert len(records(home)) == 2
        assert "another attempt may end differently" in caplog.text

    @pytest.mark.parametrize(
        ("command", "causes", "attempts"),
        [
            (HOPELESS, {"command_not_found": "retry"}, 2),
            (HOPELESS, {"command_not_found": "default"}, 2),
            (HOPELESS, {"network": "stop"}, 1),
            (HOPELESS, {"sure": 1.0}, 2),
            (UNKNOWN, {"runtime_error": "stop"}, 1),
        ],
    )
    def test_rules_of_the_author(
        self, command: str, causes: dict[str, Any], attempts: int, home: Path
    ) -> None:
        """A rule for a cause is followed; other causes have the default."""
        options = {"retries": 1, "retry_condition_fn": retry_by_cause(**causes)}
        with pytest.raises(TrainingFailed):
            run("called", command, options)
        assert len(records(home)) == attempts

    def test_users_task(self, home: Path) -> None:
        """The condition works for a task that runs an operation, too."""

        @task(retries=1, retry_condition_fn=retry_by_cause)
        def mine() -> Any:
            return TrainingOperation(commands=[HOPELESS]).run()

        @flow
        def outer() -> Any:
            return mine()

        with pytest.raises(TrainingFailed):
            outer()
        assert len(records(home)) == 1

    def test_no_training(self, home: Path) -> None:
        """The task's own retries apply to failures without a training."""
        tried = []

        @task(retries=2, retry_condition_fn=retry_by_cause)
        def other() -> None:
            tried.append(1)
            raise OSError("not ours")

        @flow
        def outer() -> None:
            other()

        with pytest.raises(OSError, match="not ours"):
            outer()
        assert len(tried) == 3

    def test_alert_of_a_refused_retry_goes_at_once(self, home: Path) -> None:
        """A refused retry makes the alert final at once, in spite of a long retry delay."""
        options = {
            "retries": 3,
            "retry_delay_seconds": 600,
            "retry_condition_fn": retry_by_cause,
        }
        with pytest.raises(TrainingFailed):
            run("called", HOPELESS, options, notify="mailbox")
        (record,) = records(home)
        assert states(record) == {"mailbox": "sent"}

    def test_retry_of_the_flow_is_kept(self, home: Path) -> None:
        """If the flow has retries, the alert waits for them after a refused retry of the task."""

        @flow(retries=1)
        def twice() -> Any:
            job = gpualert_run.with_options(retries=1, retry_condition_fn=retry_by_cause)
            command = "test -e a && echo second || { touch a; no-such-command; }"
            return job(command, cwd=home, notify="mailbox")

        assert twice() == "second"
        first, second = records(home)
        assert states(first) == {"mailbox": "superseded"}
        assert states(second) == {}

    @pytest.mark.parametrize(
        ("options", "within_s"),
        [({}, 0.0), ({"retries": 1}, 900.0), ({"retries": 1, "tags": ["gpu"]}, 960.0)],
        ids=["no retry", "retry", "slot"],
    )
    def test_time_for_the_next_attempt(
        self, options: dict[str, Any], within_s: float, home: Path
    ) -> None:
        """A training waits for an automation or a person, and longer if a slot is needed."""

        @flow
        def deployed() -> None:
            gpualert_run.with_options(**options)("true")

        with get_client(sync_client=True) as client:
            deployment = client.create_deployment(client.create_flow(deployed), "d")
            flow_run = client.create_flow_run_from_deployment(deployment)
        run_flow(deployed, flow_run=flow_run)
        (record,) = records(home)
        assert record.spec.owner["adopt_within_s"] == within_s

    def test_script_waits_for_no_next_attempt(self, home: Path) -> None:
        """Nothing runs a flow run without a deployment again, whatever its retries are."""
        run("called", "true", {"retries": 1})
        (record,) = records(home)
        assert record.spec.owner["adopt_within_s"] == 0.0

    def test_in_other_processes(self, home: Path) -> None:
        """The condition and the error pass through a process pool of Prefect."""

        @flow(task_runner=ProcessPoolTaskRunner(max_workers=1))  # type: ignore[arg-type]
        def outer() -> Any:
            options: dict[str, Any] = {
                "retries": 1,
                "retry_condition_fn": retry_by_cause(network="stop"),
            }
            return gpualert_run.with_options(**options).submit(HOPELESS).result()

        with pytest.raises(TrainingFailed) as caught:
            outer()
        assert (caught.value.cause, caught.value.exit_code) == ("command_not_found", 127)
        assert not caught.value.retryable
        assert len(records(home)) == 1

    @pytest.mark.parametrize("serializer", ["pickle", "compressed/pickle", "json"])
    def test_stored(self, serializer: str, home: Path) -> None:
        """A stored failure is equal when it is loaded again."""
        options: dict[str, Any] = {"persist_result": True, "result_serializer": serializer}

        @flow
        def outer() -> None:
            data: Any = gpualert_run.with_options(**options)(HOPELESS, return_state=True).data
            found = get_result_store().read(data.metadata.storage_key).result
            assert isinstance(found, TrainingFailed)
            assert (str(found), found.__dict__) == (str(data.result), data.result.__dict__)

        outer()


# -- the condition, asked ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        Failed(data=None),
        Failed(data=ValueError("another")),
        Failed(data=TrainingFailed("without a verdict")),
        Failed(data=TrainingFailed("a verdict that is none", verdict="?")),  # type: ignore[arg-type]
        None,
    ],
)
@pytest.mark.parametrize("condition", [retry_by_cause, retry_by_cause(network="stop")])
def test_unknown_is_not_refused(state: Any, condition: Any) -> None:
    """The condition never raises, and refuses known causes only."""
    assert condition(None, None, state) is True


def test_invalid_rule_is_named() -> None:
    """An invalid rule is an error when the condition is created."""
    with pytest.raises(UsageError, match="did you mean cuda_oom"):
        retry_by_cause(cuda_oon="stop")
    with pytest.raises(UsageError, match="neither stop, retry, default"):
        retry_by_cause(network="sotp")
    with pytest.raises(UsageError, match="name the causes"):
        retry_by_cause({"network": "stop"})  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="retry_delay_seconds"):
        retry_by_cause(network="10m")


# -- the error ---------------------------------------------------------------------------------


def raise_it(error: TrainingFailed) -> None:
    """Raise the failure in another process."""
    raise error


def test_survives_pickling() -> None:
    """The error keeps its message and attributes through pickle, cloudpickle and process pools."""
    error = failed("missing_module")
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(TrainingFailed) as caught,
    ):
        pool.submit(raise_it, error).result()
    for again in (
        pickle.loads(pickle.dumps(error)),
        cloudpickle.loads(cloudpickle.dumps(error)),
        caught.value,
    ):
        kept = {name: value for name, value in again.__dict__.items() if name in error.__dict__}
        assert (str(again), kept) == (str(error), error.__dict__)
        assert not again.retryable


def test_retryable() -> None:
    """Only a failure that is certain to recur is not retryable."""
    assert not failed("missing_module").retryable
    assert failed("missing_module", 0.5).retryable
    assert failed("network").retryable
    assert TrainingFailed("no verdict").retryable


def test_shown_by_its_first_line() -> None:
    """Prefect's log lines show the first line and not the end of a log in one line."""
    assert repr(TrainingFailed("cause: why\nlong\nlog")) == "TrainingFailed('cause: why')"
