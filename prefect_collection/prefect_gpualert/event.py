"""The event ``gpualert.verdict`` for automations: its labels and its payload.

Its names are stable, as the names of the causes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.model import Verdict
from gpualert_common.report import Alert, Masks
from gpualert_common.report.words import one_line
from prefect_gpualert.presentation import MOST_CELL, Row
from prefect_gpualert.run_identity import RunIdentity

NAME = "gpualert.verdict"
_MOST_ELEMENTS = 20
"""The most elements of each list; a Prefect server takes events of up to 1.5 MB."""
_FROM_VERDICT = ("family", "fault_class", "exit_code", "signal")


def resource(alert: Alert, verdict: Verdict | None, identity: RunIdentity) -> dict[str, str]:
    """Return the task run or flow run, with the outcome of its training as labels.

    Prefect adds the flow run, its deployment and its tags as related resources.
    """
    labels = {
        "prefect.resource.id": identity.resource_id,
        "prefect.resource.name": identity.name,
        "gpualert.cause": alert.cause,
        "gpualert.family": verdict and verdict.family,
        "gpualert.disposition": alert.disposition,
        "gpualert.attribution": alert.attribution,
        "gpualert.retry": alert.retry,
        "gpualert.final": "true" if alert.final else "false",
        "gpualert.host": alert.host,
        "gpualert.run-id": alert.run_id,
    }
    return {name: label for name, label in labels.items() if label and isinstance(label, str)}


def payload(
    alert: Alert, verdict: Verdict | None, evidence: list[Row], masks: Masks
) -> dict[str, Any]:
    """Return the verdict, redacted and bounded, under the names of verdict.json."""
    told = {
        "schema": 1,
        "run_id": alert.run_id,
        "job": alert.job,
        "host": alert.host,
        "attempt": alert.attempt,
        "final": alert.final,
        "state": alert.state,
        "disposition": alert.disposition,
        "cause": alert.cause,
        "attribution": alert.attribution,
        "confidence": alert.confidence,
        "retry": alert.retry,
        "headline": alert.headline,
        "implies": alert.implies,
        "cannot_decide": list(alert.cannot_decide[:_MOST_ELEMENTS]),
        "do": list(alert.do[:_MOST_ELEMENTS]),
        "shows": evidence[:_MOST_ELEMENTS],
        "exit_status": alert.exit_status,
        "duration_s": alert.duration_s,
        "log_path": alert.log_path,
        "record_path": alert.record_path,
    }
    flat = {name: getattr(verdict, name, None) for name in _FROM_VERDICT}
    details = _scalars(verdict.details if verdict else {}, masks)
    return {**told, **_scalars(flat, masks), "details": details}


def _scalars(values: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in [*values.items()][:_MOST_ELEMENTS]:
        if isinstance(value, str):
            found[name] = one_line(masks.text(value), MOST_CELL)
        elif value is None or isinstance(value, bool | int | float):
            found[name] = value
    return found
