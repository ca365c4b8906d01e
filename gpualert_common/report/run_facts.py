"""The facts of a run below its verdict: place, time and outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.report.formatting import duration, time
from gpualert_common.report.run_view import RunView

Fact = tuple[str, str]
"""A label and its value."""


def list_facts(view: RunView, logs: Sequence[str], *, zone: str = "UTC") -> list[Fact]:
    """Return the facts of a run that are known.  ``zone`` is UTC or local."""
    return [(label, value) for label, value in _facts(view, logs, zone) if value]


def _facts(view: RunView, logs: Sequence[str], zone: str) -> Iterator[Fact]:
    named = view.job != view.run_id and not view.command.startswith(view.job.rstrip("…"))
    yield "Run", f"{view.run_id} ({view.job})" if named else view.run_id
    if view.task:
        yield "Task", f"{view.task}, now {view.state}" if view.state else view.task.name
        yield from view.task.facts
    yield "Command", view.command
    yield "Directory", view.cwd
    yield "Host", view.host
    if view.attempt > 1 or view.task:
        yield "Attempt", f"{view.attempt}{'' if view.final else ', another one may follow'}"
    lasted = "" if view.duration_s is None else f", lasted {duration(view.duration_s)}"
    if view.disposition != "not_started":  # the headline has all of it
        yield "Started", time(view.started_at, zone) + lasted
        yield "Ended", "" if view.disposition == "running" else view.exit_status
    yield "GPU-hours", view.gpu_hours
    for log in logs:
        yield "Log", log
    yield "Record", view.record_path
