"""The event ``gpualert.verdict``: what automations can match, and what they are told.

Its names are for good, as the names of the causes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.model import Verdict
from gpualert_common.report.formatting import one_line
from gpualert_common.report.run_view import RunView
from gpualert_common.report.text_sanitizer import Masks
from prefect_gpualert.owner import Owner
from prefect_gpualert.presentation import MOST_CELL, Row

NAME = "gpualert.verdict"
_MOST_TOLD = 20
"""Of anything that is a list; a Prefect server takes 1.5 MB, and nobody reads the half of it."""
_FROM_VERDICT = ("family", "fault_class", "exit_code", "signal")


def resource(view: RunView, verdict: Verdict | None, owner: Owner) -> dict[str, str]:
    """The task run, or flow run, with what became of its training as labels.

    The flow run, its deployment and its tags are related resources, which Prefect adds.
    """
    labels = {
        "prefect.resource.id": owner.resource_id,
        "prefect.resource.name": owner.name,
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
    """The verdict, redacted and bounded; its names are those of verdict.json."""
    told = {
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
        "cannot_decide": list(view.cannot_decide[:_MOST_TOLD]),
        "do": list(view.do[:_MOST_TOLD]),
        "shows": evidence[:_MOST_TOLD],
        "exit_status": view.exit_status,
        "duration_s": view.duration_s,
        "log_path": view.log_path,
        "record_path": view.record_path,
    }
    flat = {name: getattr(verdict, name, None) for name in _FROM_VERDICT}
    details = _scalars(verdict.details if verdict else {}, masks)
    return {**told, **_scalars(flat, masks), "details": details}


def _scalars(values: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in [*values.items()][:_MOST_TOLD]:
        if isinstance(value, str):
            found[name] = one_line(masks.mask_text(value), MOST_CELL)
        elif value is None or isinstance(value, bool | int | float):
            found[name] = value
    return found
