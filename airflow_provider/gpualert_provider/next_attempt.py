"""The attempt that follows this one: whether Airflow makes it, and when it begins at the latest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf

from gpualert_common.retries import Action, RetryRules
from gpualert_provider.exceptions import mask_secrets
from gpualert_provider.task_outcome import TaskOutcome

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, Context

    from gpualert_common.model import Verdict
    from gpualert_common.retries import RetryChoice

SCHEDULING_SLACK_S = 180.0
"""From the end of the retry delay to the start of the next attempt: the scheduler's loop, its check
for lost heartbeats, a queue, the import of the DAG."""

MOST_RETRY_DELAY_S = 24 * 3600.0
"""Airflow's limit for an exponential delay."""

HAS_POLICIES = find_spec("airflow.sdk.definitions.retry_policy") is not None
"""From Airflow 3.3 on a task may have a ``retry_policy``."""


class Retries:
    """The retries of one attempt at a task, as its worker knows them."""

    def __init__(self, task: BaseOperator, context: Context, rules: RetryRules | None) -> None:
        self._task = task
        self._rules = rules
        self._context = context
        self._ti: Any = context.get("ti")

    @property
    def number(self) -> int:
        """Number of this attempt, from 1."""
        return _integer(self._ti, "try_number", 1)

    @property
    def has_next(self) -> bool:
        """True when another attempt follows if this one fails."""
        return self.number <= _integer(self._ti, "max_tries", 0)

    def adopt_within_s(self, wanted: timedelta | float | None) -> float:
        """Return how long after the death of this worker the next attempt begins at the latest.

        ``wanted`` is the author's own limit.
        """
        if not self.has_next:
            return 0.0
        if wanted is not None:
            return to_seconds(wanted)
        return heartbeat_timeout_s() + self.next_within_s()

    def next_within_s(self) -> float:
        """Return how long after the end of this attempt the next one begins at the latest."""
        return _delay_s(self._task, self.number) + SCHEDULING_SLACK_S

    def refuses(self, verdict: Verdict | None) -> bool:
        """Return True when the attempt itself must forbid the next one, since no policy does."""
        if HAS_POLICIES or self._rules is None or not self.has_next:
            return False
        advice = self._rules.advise(verdict)
        if advice.action is not Action.STOP:
            return False
        self._log("No further attempt", mask_secrets(advice.reason))
        return True

    def after(self, error: BaseException) -> TaskOutcome:
        """Return the outcome of a failure by *error*, as Airflow will decide it."""
        if not self.has_next or isinstance(error, AirflowFailException):
            return TaskOutcome("failed")
        delay_s = self.next_within_s()
        policy = getattr(self._task, "retry_policy", None)
        if policy is None:
            return TaskOutcome("up_for_retry", delay_s)
        try:
            decision = policy.evaluate(
                exception=error,
                try_number=self._ti.try_number,
                max_tries=self._ti.max_tries,
                context=self._context,
            )
            if decision.action.value == "fail":
                self._log("No further attempt", decision.reason)
                return TaskOutcome("failed")
            self._log("Another attempt follows", decision.reason)
            if decision.action.value == "retry" and decision.retry_delay is not None:
                delay_s = decision.retry_delay.total_seconds() + SCHEDULING_SLACK_S
        except Exception:  # noqa: BLE001 - Airflow uses the task's retries then, too
            pass
        return TaskOutcome("up_for_retry", delay_s)

    def _log(self, decision: str, reason: str | None) -> None:
        """Log the decision before the error; Airflow's pages fold their own line of it away."""
        if reason:
            self._task.log.info("%s: %s", decision, reason)


def policy_arguments(wanted: bool | Mapping[str, RetryChoice | timedelta]) -> dict[str, Any]:
    """Return the ``retry_policy`` for a ``retry_by_cause``; empty before Airflow 3.3."""
    if wanted is False or not HAS_POLICIES:
        return {}
    from gpualert_provider.retry_policy import RetryByCause

    return {"retry_policy": RetryByCause(None if wanted is True else wanted)}


def heartbeat_timeout_s() -> float:
    """Return how long the scheduler takes to notice the death of a worker."""
    timeout_s: float = conf.getfloat("scheduler", "task_instance_heartbeat_timeout", fallback=300.0)
    return timeout_s


def to_seconds(given: timedelta | float) -> float:
    """Return a duration that Airflow takes in either form."""
    return given.total_seconds() if isinstance(given, timedelta) else float(given)


def _integer(ti: Any, name: str, default: int) -> int:
    """Return an attribute of a task instance; those of unit tests may lack it."""
    value = getattr(ti, name, None)
    return value if isinstance(value, int) else default


def _delay_s(task: BaseOperator, try_number: int) -> float:
    """Return the longest time that the scheduler waits before the next attempt."""
    delay_s = task.retry_delay.total_seconds()
    backoff: Any = task.retry_exponential_backoff  # before Airflow 3.2 a flag, which means 2
    factor = 2.0 if backoff is True else float(backoff)
    if factor in (0.0, 1.0):
        return delay_s
    most_s = MOST_RETRY_DELAY_S
    if task.max_retry_delay is not None:
        most_s = min(most_s, to_seconds(task.max_retry_delay))
    try:  # the scheduler adds a random part of up to the same length
        delay_s = 2 * max(1.0, delay_s * factor ** (try_number - 1))
    except OverflowError:
        delay_s = most_s
    return min(delay_s, most_s)
