"""The event ``gpualert.verdict`` for automations: its labels and its payload.

Its names are stable, as the names of the causes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.model import Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.run_view import RunView
from gpualert_common.report.text_sanitizer import Masks
from prefect_gpualert.presentation import MOST_CELL, Row
from prefect_gpualert.run_identity import RunIdentity

NAME = "gpualert.verdict"
_MOST_ELEMENTS = 20
"""The most elements of each list; a Prefect server takes events of up to 1.5 MB."""
_FROM_VERDICT = ("family", "fault_class", "exit_code", "signal")


def resource(view: RunView, verdict: Verdict | None, identity: RunIdentity) -> dict[str, str]:
    """Return the task run or flow run, with the outcome of its training as labels.

    Prefect adds the flow run, its deployment and its tags as related resources.
    """
    labels = {
        "prefect.resource.id": identity.resource_id,
        "prefect.resource.name": identity.name,
        "gpualert.cause": view.cause,
        "gpualert.family": verdict and verdict.family,
        "gpualert.disposition": view.disposition,
        "gpualert.attribution": view.attribution,
        "gpualert.retry": view.retry,
        "gpualert.final": "true" if view.final else "false",
        "gpualert.host": view.host,
        "gpualert.run-id": view.run_id,
    }
    return {name: label for name, label in labels.items() if label and isinstance(label, str)}


def payload(
    view: RunView, verdict: Verdict | None, evidence: list[Row], masks: Masks
) -> dict[str, Any]:
    """Return the verdict, redacted and bounded, under the names of verdict.json."""
    fields = {
        "schema": 1,
        "run_id": view.run_id,
        "job": view.job,
        "host": view.host,
        "attempt": view.attempt,
        "final": view.final,
        "state": view.state,
        "disposition": view.disposition,
        "cause": view.cause,
        "attribution": view.attribution,
        "confidence": view.confidence,
        "retry": view.retry,
        "headline": view.headline,
        "implies": view.implies,
        "cannot_decide": list(view.cannot_decide[:_MOST_ELEMENTS]),
        "do": list(view.do[:_MOST_ELEMENTS]),
        "shows": evidence[:_MOST_ELEMENTS],
        "exit_status": view.exit_status,
        "duration_s": view.duration_s,
        "log_path": view.log_path,
        "record_path": view.record_path,
    }
    flat = {name: getattr(verdict, name, None) for name in _FROM_VERDICT}
    details = _scalars(verdict.details if verdict else {}, masks)
    return {**fields, **_scalars(flat, masks), "details": details}


def _scalars(values: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in [*values.items()][:_MOST_ELEMENTS]:
        if isinstance(value, str):
            found[name] = one_line(masks.mask_text(value), MOST_CELL)
        elif value is None or isinstance(value, bool | int | float):
            found[name] = value
    return found
