"""Where and when a run was, and how it ended: what stands below its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.report.alert import Alert
from gpualert_common.report.told import Told
from gpualert_common.report.words import duration, time

Fact = tuple[str, str]
"""A label and what stands beside it."""


def facts_of(alert: Alert, told: Told, logs: Sequence[str], *, zone: str = "UTC") -> list[Fact]:
    """The facts of a run that are known.  ``zone`` is UTC or local."""
    return [(label, value) for label, value in _facts(alert, told, logs, zone) if value]


def _facts(alert: Alert, told: Told, logs: Sequence[str], zone: str) -> Iterator[Fact]:
    named = alert.job != alert.run_id and not alert.command.startswith(alert.job.rstrip("…"))
    yield "Run", f"{alert.run_id} ({alert.job})" if named else alert.run_id
    if alert.task:
        yield "Task", f"{alert.task}, now {alert.state}" if alert.state else alert.task
    yield "Command", alert.command
    yield "Directory", alert.cwd
    yield "Host", alert.host
    if alert.attempt > 1 or alert.task:
        yield "Attempt", f"{alert.attempt}{'' if alert.final else ', another one may follow'}"
    lasted = "" if alert.duration_s is None else f", lasted {duration(alert.duration_s)}"
    if told.disposition != "not_started":  # the headline says all of it
        yield "Started", time(alert.started_at, zone) + lasted
        yield "Ended", "" if told.disposition == "running" else alert.exit_status
    yield "GPU-hours", told.cost()
    for log in logs:
        yield "Log", log
    yield "Record", alert.record_path
