"""``retry_by_cause``: a retry condition that depends on the verdict."""

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
"""The type of ``retry_condition_fn``.  Prefect calls plain functions only."""

_ARGUMENTS = 3
"""Prefect passes task, run and state."""


@overload
def retry_by_cause(task: Task[Any, Any], run: TaskRun, state: State[Any], /) -> bool: ...
@overload
def retry_by_cause(*, sure: float = SURE, **causes: str) -> Condition: ...
def retry_by_cause(*arguments: Any, sure: float = SURE, **causes: str) -> bool | Condition:
    """Return whether to retry a task, or a ``retry_condition_fn`` with other rules.

    ``retry_condition_fn=retry_by_cause`` refuses a retry if the verdict is sure and its cause is
    deterministic.  The task's own retries apply to all other failures, also to errors of other
    kinds.  ``retry_by_cause(network="stop", cuda_oom="retry")`` returns a condition with other
    rules for these causes; "default" stands for the task's retries.  ``sure`` is the least
    confidence of a verdict that stops retries.

    The condition never raises, and the run log shows its decision.  Raises UsageError for an
    unknown cause or an unknown value.
    """
    if len(arguments) == _ARGUMENTS:
        return _may_retry(RetryRules.of(), *arguments)
    if arguments:
        raise UsageError("name the causes, as in retry_by_cause(network='stop')")
    rules = RetryRules.of(causes, sure=sure)
    for cause, wish in rules.choices.items():
        if wish.delay_s is not None:
            raise UsageError(f"{cause}: set the delay by retry_delay_seconds, as Prefect requires")

    def condition(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
        return _may_retry(rules, task, run, state)

    condition.rules = rules  # type: ignore[attr-defined]
    return condition


retry_by_cause.rules = RetryRules.of()  # type: ignore[attr-defined]


def refuses(condition: object, verdict: Verdict | None) -> bool:
    """Return True if a task's ``retry_condition_fn`` will refuse an attempt after *verdict*.

    A condition of the user's own is not called, since it may have side effects.
    """
    rules = getattr(condition, "rules", None)
    return isinstance(rules, RetryRules) and rules.advise(verdict).action is Action.STOP


def _may_retry(rules: RetryRules, task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    try:
        if not isinstance(state.data, TrainingFailure):
            return True
        advice = rules.advise(state.data.verdict)
    except Exception:  # noqa: BLE001 - Prefect takes an error for a refusal
        return True
    stops = advice.action is Action.STOP
    decision = "No further attempt" if stops else "The task's retries stand"
    with contextlib.suppress(Exception, SystemExit):  # a broken log changes no decision
        level = logging.WARNING if stops else logging.INFO
        task_run_logger(run, task).log(level, "%s: %s", decision, " ".join(advice.reason.split()))
    return not stops
