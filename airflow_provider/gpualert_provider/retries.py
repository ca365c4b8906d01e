"""Whether another attempt at a task follows, and when it begins at the latest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow.providers.common.compat.sdk import AirflowFailException, conf

from gpualert_common.errors import UsageError
from gpualert_common.retries import Action, RetryRules
from gpualert_provider.exceptions import unsecret

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, Context

    from gpualert_common.model import Verdict
    from gpualert_common.retries import RetryChoice

SCHEDULING_SLACK_S = 180.0
"""From the end of the retry delay to the start of the next attempt: the scheduler's loop, its look
for lost heartbeats, a queue, the import of the DAG."""

MOST_RETRY_DELAY_S = 24 * 3600.0
"""Airflow lets no exponential delay grow beyond it."""

HAS_POLICIES = find_spec("airflow.sdk.definitions.retry_policy") is not None
"""From Airflow 3.3 on a task may have a ``retry_policy``."""


class NextAttempt(NamedTuple):
    """What follows a failed attempt: ``final`` nothing, else one within that time."""

    final: bool
    within_s: float | None


class Retries:
    """The retries of one attempt at a task, as its worker sees them."""

    def __init__(self, task: BaseOperator, context: Context, rules: RetryRules | None) -> None:
        self._task = task
        self._context = context
        self._rules = rules
        self._ti: Any = context.get("ti")

    @property
    def number(self) -> int:
        """This attempt's number, from 1."""
        return _number(self._ti, "try_number", 1)

    @property
    def left(self) -> bool:
        """True when this attempt, should it fail, is not the task's last."""
        return self.number <= _number(self._ti, "max_tries", 0)

    def adopt_within_s(self, wanted: timedelta | float | None) -> float:
        """How long after the death of this worker the next attempt begins at the latest."""
        if not self.left:
            return 0.0
        if wanted is not None:
            return seconds(wanted)
        return noticed_within_s() + self.next_within_s()

    def next_within_s(self) -> float:
        """How long after the end of this attempt the next one begins at the latest."""
        return _delay_s(self._task, self.number) + SCHEDULING_SLACK_S

    def refused(self, verdict: Verdict | None) -> bool:
        """True when the attempt itself must say that none shall follow: no policy does."""
        if HAS_POLICIES or self._rules is None or not self.left:
            return False
        advice = self._rules.advise(verdict)
        if advice.action is not Action.STOP:
            return False
        self._say("No further attempt", unsecret(advice.reason))
        return True

    def after(self, error: BaseException) -> NextAttempt:
        """What follows the failure by *error*, as Airflow will decide."""
        if not self.left or isinstance(error, AirflowFailException):
            return NextAttempt(final=True, within_s=None)
        delay_s = self.next_within_s()
        policy = getattr(self._task, "retry_policy", None)
        if policy is None:
            return NextAttempt(final=False, within_s=delay_s)
        try:
            decision = policy.evaluate(
                exception=error,
                try_number=self._ti.try_number,
                max_tries=self._ti.max_tries,
                context=self._context,
            )
            if decision.action.value == "fail":
                self._say("No further attempt", decision.reason)
                return NextAttempt(final=True, within_s=None)
            self._say("Another attempt follows", decision.reason)
            if decision.action.value == "retry" and decision.retry_delay is not None:
                delay_s = decision.retry_delay.total_seconds() + SCHEDULING_SLACK_S
        except Exception:  # noqa: BLE001 - Airflow falls back to the task's retries, too
            pass
        return NextAttempt(final=False, within_s=delay_s)

    def _say(self, what: str, reason: str | None) -> None:
        """Log it before the error; Airflow's own line of it is folded away in its pages."""
        if reason:
            self._task.log.info("%s: %s", what, reason)


def rules(wanted: bool | Mapping[str, RetryChoice | timedelta]) -> RetryRules | None:
    """The rules that ``retry_by_cause`` asks for; None for none.  Raises UsageError."""
    if wanted is False:
        return None
    if wanted is not True and not isinstance(wanted, Mapping):
        raise UsageError(f"retry_by_cause: {wanted!r} is neither True, False nor a mapping")
    return RetryRules.of({} if wanted is True else plain(wanted))


def policy(wanted: bool | Mapping[str, RetryChoice | timedelta]) -> dict[str, Any]:
    """The argument that makes Airflow ask for the cause, where it knows of policies."""
    if wanted is False or not HAS_POLICIES:
        return {}
    from gpualert_provider.retry_policy import RetryByCause

    return {"retry_policy": RetryByCause(None if wanted is True else wanted)}


def plain(wishes: Mapping[str, RetryChoice | timedelta]) -> dict[str, RetryChoice]:
    """*wishes* with delays in seconds."""
    return {
        cause: wish.total_seconds() if isinstance(wish, timedelta) else wish
        for cause, wish in wishes.items()
    }


def noticed_within_s() -> float:
    """How long the scheduler takes to learn that a worker has died."""
    timeout_s: float = conf.getfloat("scheduler", "task_instance_heartbeat_timeout", fallback=300.0)
    return timeout_s


def _number(ti: Any, name: str, otherwise: int) -> int:
    """What an attempt says of itself; one that was made up for a unit test may not."""
    value = getattr(ti, name, None)
    return value if isinstance(value, int) else otherwise


def _delay_s(task: BaseOperator, try_number: int) -> float:
    """The longest that the scheduler waits before the next attempt."""
    delay_s = task.retry_delay.total_seconds()
    backoff: Any = task.retry_exponential_backoff  # before Airflow 3.2 a flag, which means 2
    factor = 2.0 if backoff is True else float(backoff)
    if factor in (0.0, 1.0):
        return delay_s
    most_s = MOST_RETRY_DELAY_S
    if task.max_retry_delay is not None:
        most_s = min(most_s, seconds(task.max_retry_delay))
    try:  # the scheduler adds up to as much again
        delay_s = 2 * max(1.0, delay_s * factor ** (try_number - 1))
    except OverflowError:
        delay_s = most_s
    return min(delay_s, most_s)


def seconds(given: timedelta | float) -> float:
    """A duration that Airflow takes in either form."""
    return given.total_seconds() if isinstance(given, timedelta) else float(given)
