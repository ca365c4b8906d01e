"""Whether another attempt at a task follows, and when it begins at the latest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator

SCHEDULING_SLACK_S = 180.0
"""From the end of the retry delay to the start of the next attempt: the scheduler's loop, its look
for lost heartbeats, a queue, the import of the DAG."""

MOST_RETRY_DELAY_S = 24 * 3600.0
"""Airflow lets no exponential delay grow beyond it."""


def are_left(ti: Any) -> bool:
    """True when this attempt, should it fail, is not the task's last."""
    return bool(ti.try_number <= ti.max_tries)


def noticed_within_s() -> float:
    """How long the scheduler takes to learn that a worker has died."""
    timeout_s: float = conf.getfloat("scheduler", "task_instance_heartbeat_timeout", fallback=300.0)
    return timeout_s


def next_within_s(task: BaseOperator, try_number: int) -> float:
    """How long after the end of attempt ``try_number`` the next one begins at the latest."""
    return _delay_s(task, try_number) + SCHEDULING_SLACK_S


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
