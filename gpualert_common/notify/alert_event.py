"""The event of an alert for programs: its name, its severity and its attributes.

The attributes follow OpenTelemetry's semantic conventions where one fits.
"""

from __future__ import annotations

from gpualert_common.notify.message import AlertEvent, AttributeValue, Severity
from gpualert_common.report.run_view import RunView
from gpualert_common.spec import EARLY

RUN_ENDED = "gpualert.run.ended"
RUN_WARNING = "gpualert.run.warning"


def describe_end(view: RunView) -> AlertEvent:
    """Return the event of the end of a run, or of its job; its texts are redacted as the view's."""
    attributes: dict[str, AttributeValue] = {
        **_describe_run(view),
        "gpualert.disposition": view.disposition,
        "gpualert.cause": view.cause,
        "gpualert.attribution": view.attribution,
        "gpualert.retry": view.retry,
        "gpualert.confidence": view.confidence,
        "gpualert.headline": view.headline,
        "gpualert.exit_status": view.exit_status,
    }
    if not view.is_healthy:
        attributes["error.type"] = view.cause
    numbers = {
        "gpualert.duration_s": view.duration_s,
        "gpualert.gpu_seconds": view.gpu_seconds,
        "gpualert.wasted_gpu_seconds": view.wasted_gpu_seconds,
    }
    attributes |= {name: value for name, value in numbers.items() if value is not None}
    return AlertEvent(
        RUN_ENDED, Severity.INFO if view.is_healthy else Severity.ERROR, view.host, attributes
    )


def describe_warning(view: RunView, kind: str, says: str) -> AlertEvent:
    """Return the event of a warning about a run in progress; ``says`` is the problem."""
    attributes = {
        **_describe_run(view),
        "gpualert.warning.kind": kind.removeprefix(EARLY),
        "gpualert.warning.text": says,
    }
    return AlertEvent(RUN_WARNING, Severity.WARN, view.host, attributes)


def _describe_run(view: RunView) -> dict[str, AttributeValue]:
    return {
        "gpualert.run.id": view.run_id,
        "gpualert.run.name": view.job,
        "gpualert.run.attempt": view.attempt,
    }
