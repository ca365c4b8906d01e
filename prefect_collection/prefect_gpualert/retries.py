"""``retry_by_cause``: whether a training is tried again, as far as its verdict tells."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from prefect.logging.loggers import task_run_logger

from gpualert_common.errors import UsageError
from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.retries import SURE, Action, RetryRules

if TYPE_CHECKING:
    from prefect import Task
    from prefect.client.schemas.objects import State, TaskRun

    from gpualert_common.model import Verdict

Condition = Callable[["Task[Any, Any]", "TaskRun", "State[Any]"], bool]
"""What Prefect takes for ``retry_condition_fn``; anything but a plain function it never calls."""

_ASKED = 3
"""Prefect gives task, run and state."""


@overload
def retry_by_cause(task: Task[Any, Any], run: TaskRun, state: State[Any], /) -> bool: ...
@overload
def retry_by_cause(*, sure: float = SURE, **causes: str) -> Condition: ...
def retry_by_cause(*asked: Any, sure: float = SURE, **causes: str) -> bool | Condition:
    """A ``retry_condition_fn`` that stops retries which would burn GPU time for nothing.

    ``retry_condition_fn=retry_by_cause`` stops where the verdict is sure and the cause
    deterministic beyond doubt; anything else is tried again as often as the task says, what is no
    failed training too.  ``retry_by_cause(network="stop", cuda_oom="retry")`` makes one that knows
    better for some causes; "default" is the task's retries.  ``sure`` is the confidence from which
    on a verdict may stop retries.

    The condition never raises, and the run log says how it has decided.  Raises UsageError for a
    cause that does not exist, or a value that says nothing.
    """
    if len(asked) == _ASKED:
        return _may_retry(RetryRules.of(), *asked)
    if asked:
        raise UsageError("causes are given by their names, as in retry_by_cause(network='stop')")
    rules = RetryRules.of(causes, sure=sure)
    for cause, wish in rules.choices.items():
        if wish.delay_s is not None:
            raise UsageError(f"{cause}: Prefect takes no delay here, but as retry_delay_seconds")

    def condition(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
        return _may_retry(rules, task, run, state)

    condition.rules = rules  # type: ignore[attr-defined]
    return condition


retry_by_cause.rules = RetryRules.of()  # type: ignore[attr-defined]


def refuses(condition: object, verdict: Verdict | None) -> bool:
    """True when a task's ``retry_condition_fn`` will refuse an attempt after such a failure.

    One that is not ours is not asked: it may have effects.
    """
    rules = getattr(condition, "rules", None)
    return isinstance(rules, RetryRules) and rules.advise(verdict).action is Action.STOP


def _may_retry(rules: RetryRules, task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    try:
        if not isinstance(state.data, TrainingFailure):
            return True
        advice = rules.advise(state.data.verdict)
    except Exception:  # noqa: BLE001 - to Prefect it would be a refusal
        return True
    stops = advice.action is Action.STOP
    said = "No further attempt" if stops else "The task's retries stand"
    with contextlib.suppress(Exception, SystemExit):  # as in a training's own log lines
        level = logging.WARNING if stops else logging.INFO
        task_run_logger(run, task).log(level, "%s: %s", said, " ".join(advice.reason.split()))
    return not stops
