"""Tests of trainings that exit with 0 although their log reports a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.exceptions import CancelledRun
from prefect.task_runners import ProcessPoolTaskRunner
from prefect_gpualert import (
    TrainingFailed,
    TrainingOperation,
    gpualert_hook,
    gpualert_run,
    retry_by_cause,
)

from gpualert_common.errors import UsageError
from tests.notify.alerting import states as alert_states
from tests.prefect.running import records
from tests.supervised import until

pytestmark = pytest.mark.usefixtures("harness")

SUSPECT = """\
echo 'Traceback (most recent call last):'
echo '  File "train.py", line 3, in <module>'
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.00 GiB. GPU 0 has a total\
 capacity of 79.25 GiB of which 70.00 GiB is free.'
echo done
"""
HEADLINE = "cuda_oom: CUDA out of memory: 91.0 GiB requested on a 79.2 GiB card"

job: Any = gpualert_run
stored: Any = gpualert_run.with_options(persist_result=True, cache_policy=INPUTS)
as_json: Any = gpualert_run.with_options(persist_result=True, result_serializer="json")


@task
def after(value: object) -> object:
    """A task behind it."""
    return value


@task
def mine() -> object:
    """A task of the user's own."""
    return gpualert_run.fn(SUSPECT)


SYNC: dict[str, Callable[[], Any]] = {
    "called": lambda: job(SUSPECT),
    "submitted": lambda: job.submit(SUSPECT).result(),
    "mapped": lambda: job.map([SUSPECT]).result()[0],
    "state": lambda: job(SUSPECT, return_state=True).result(),
    "submitted state": lambda: job.submit(SUSPECT, return_state=True).result(),
    "upstream": lambda: after(job.submit(SUSPECT)),
    "upstream submitted": lambda: after.submit(job.submit(SUSPECT)).result(),
    "cached": lambda: [stored(SUSPECT), stored(SUSPECT)][1],
    "json": lambda: as_json(SUSPECT),
    "in seconds": lambda: job.with_options(timeout_seconds=60, retries=1)(SUSPECT),
    "function": lambda: job.fn(SUSPECT),
    "in another task": mine,
    "operation": lambda: TrainingOperation(commands=[SUSPECT]).run()[-1],
}
ASYNC: dict[str, Callable[[], Awaitable[Any]]] = {
    "awaited": lambda: job(SUSPECT),
    "cached": lambda: stored(f"{SUSPECT}\n"),
    "json": lambda: as_json(SUSPECT),
}


@pytest.mark.parametrize("way", SYNC)
def test_value_is_plain(way: str, home: Path, caplog: Any) -> None:
    """The caller gets the output in every way of calling, and the run log has a warning."""

    @flow
    def outer() -> None:
        assert SYNC[way]() == "done"

    outer()
    warnings = [one.getMessage() for one in caplog.records if HEADLINE in one.getMessage()]
    assert len([line for line in warnings if "ended with 0, but cuda_oom" in line]) == 1


@pytest.mark.parametrize("way", ASYNC)
def test_value_is_plain_when_awaited(way: str, home: Path) -> None:
    """The same holds in async flows."""

    @flow
    async def outer() -> None:
        assert await ASYNC[way]() == "done"
        assert job.submit(SUSPECT).result() == "done"

    asyncio.run(outer())


def test_value_is_plain_from_another_process(home: Path) -> None:
    """The same holds in process pools."""

    @flow(task_runner=ProcessPoolTaskRunner(max_workers=1))  # type: ignore[arg-type]
    def outer() -> None:
        future = job.submit(SUSPECT)
        assert (future.result(), future.state.name) == ("done", "Suspect")

    outer()


def test_list_is_plain(home: Path) -> None:
    """``return_all`` returns a list, as usual."""

    @flow
    def outer() -> Any:
        return gpualert_run(SUSPECT, return_all=True)

    assert outer()[-1] == "done"  # type: ignore[index]


def test_state_is_suspect(home: Path) -> None:
    """The state has the type Completed and the name Suspect, also at the API."""

    @flow
    def outer() -> State[Any]:
        state = job(SUSPECT, return_state=True)
        assert state.is_completed()
        assert (state.name, state.message) == ("Suspect", HEADLINE)
        assert job("echo fine", return_state=True).name == "Completed"
        return state  # type: ignore[no-any-return]

    state = outer(return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Completed")
    id_ = FlowRunFilter.model_validate({"id": {"any_": [state.state_details.flow_run_id]}})

    def final_states() -> set[tuple[str | None, str]] | None:
        with get_client(sync_client=True) as client:
            runs = client.read_task_runs(flow_run_filter=id_)
        found = {(run.state.name, run.state.message or "") for run in runs if run.state}
        return (
            found
            if len(runs) == 2 and all(run.state.is_final() for run in runs if run.state)
            else None
        )

    assert until(final_states, "the API to know of both") == {
        ("Suspect", HEADLINE),
        ("Completed", ""),
    }
    assert len(records(home)) == 2


# -- the choice ------------------------------------------------------------------------------


def choose(on_suspect: str, **options: Any) -> State[Any]:
    """Return the state of a suspect task with that choice, which sends alerts."""

    states: list[State[Any]] = []

    @flow
    def outer() -> None:
        chosen = job.with_options(**options)
        arguments: dict[str, Any] = {"on_suspect": on_suspect, "notify": "mailbox"}
        states.append(chosen(SUSPECT, return_state=True, **arguments))

    outer()
    return states[0]


@pytest.mark.parametrize(
    ("on_suspect", "kind", "name"),
    [
        ("warn", "COMPLETED", "Suspect"),
        ("fail", "FAILED", "Failed"),
        ("skip", "CANCELLED", "Skipped"),
    ],
)
def test_reaction(on_suspect: str, kind: str, name: str, home: Path, caplog: Any) -> None:
    """Each choice has its state; the run log has a warning, and the alert is sent, in all."""
    state = choose(on_suspect)
    assert (state.type.value, state.name) == (kind, name)
    assert HEADLINE in (state.message or "")
    assert "ended with 0, but cuda_oom" in caplog.text
    (record,) = records(home)
    assert alert_states(record) == {"mailbox": "sent"}


def test_retries_follow_the_verdict(home: Path) -> None:
    """With "fail" a suspect training is retried as any other, unless its cause is certain."""
    options = {"retries": 1, "retry_condition_fn": retry_by_cause}
    assert choose("fail", **options).is_failed()
    assert len(records(home)) == 1
    assert choose("fail", retries=1).is_failed()
    assert len(records(home)) == 3


def test_tasks_behind_a_skipped_one_do_not_run(home: Path) -> None:
    """They are not ready, the call returns None, and the flow completes."""

    @flow
    def outer() -> str:
        behind = after.submit(job.submit(SUSPECT, on_suspect="skip"))
        behind.wait()
        assert job(SUSPECT, on_suspect="skip") is None
        return str(behind.state.name)

    assert outer() == "NotReady"


def test_future_of_a_skipped_one(home: Path) -> None:
    """Its result raises CancelledRun or is None; the flow that returns it is cancelled."""

    @flow
    def outer() -> Any:
        future = job.submit(SUSPECT, on_suspect="skip")
        with pytest.raises(CancelledRun, match=HEADLINE):
            future.result()
        assert future.result(raise_on_failure=False) is None
        mapped = job.map(["echo fine", SUSPECT], on_suspect="skip")
        with pytest.raises(CancelledRun, match=HEADLINE):
            mapped.result()
        assert mapped.result(raise_on_failure=False) == ["fine", None]
        return future

    state: Any = outer(return_state=True)
    assert state.is_cancelled()


def test_hook_of_a_flow_after_a_skipped_training(home: Path) -> None:
    """A flow that runs out of time later sends its own alert, not that of the training."""

    @flow(on_failure=[gpualert_hook("mailbox")])
    def outer() -> None:
        job(SUSPECT, on_suspect="skip", notify="none")
        raise TimeoutError("the bucket does not answer")

    assert outer(return_state=True).is_failed()
    sent = {(one.spec.name or "").partition("/")[0]: alert_states(one) for one in records(home)}
    assert sent.pop("outer") == {"mailbox": "sent"}
    assert [*sent.values()] == [{}]  # of the training


def test_operation_fails(home: Path) -> None:
    """An operation raises with "fail", and cannot skip the task that it is in."""
    with pytest.raises(TrainingFailed, match=r"cuda_oom: .* return code 0"):
        TrainingOperation(commands=[SUSPECT], on_suspect="fail").run()
    with pytest.raises(ValueError, match="on_suspect"):
        TrainingOperation(commands=[SUSPECT], on_suspect="skip")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot skip that task"):
        gpualert_run.fn(SUSPECT, on_suspect="skip")
    with pytest.raises(UsageError, match="'wran' is not one of warn, fail, skip"):
        gpualert_run.fn(SUSPECT, on_suspect="wran")
    assert len(records(home)) == 1
