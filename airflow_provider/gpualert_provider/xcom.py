"""The verdict of a training in XCom, with the paths of its record, log and artifacts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpualert_common.record import VERDICT

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor
    from gpualert_provider.alerts import Log, Secrets

VERDICT_KEY = "gpualert_verdict"

MOST_BYTES = 32_000
"""Limit for the verdict, since XCom is part of Airflow's database."""

_LONG = ("sources", "ruled_out", "artifacts", "secondary", "warnings", "shows", "details", "do")
"""Fields that may be long, the least important first."""


def push(ti: Any, record: Record, log: Log, secrets: Secrets) -> None:
    """Push the verdict to XCom; a failure is logged and has no other effect.

    Likely secrets are masked, and so are the *secrets* of the task's own channels.
    """
    if ti is None:
        return
    try:
        verdict = record.read_json(VERDICT) or {}
        masked = {**mask(verdict, make_redactor(secrets)), **_paths(record)}
        ti.xcom_push(key=VERDICT_KEY, value=shorten_verdict(masked))
    except Exception as error:  # noqa: BLE001 - a failing database does not fail the training
        log.warning("The verdict could not be pushed to XCom: %s", error)


def load_secret_patterns() -> None:
    """Load the patterns of secrets while a training runs, since that takes a moment."""
    make_redactor({})


def make_redactor(secrets: Secrets) -> Redactor:
    """Return a redactor that knows the secrets of the task's channels."""
    from gpualert_common.redact import Redactor  # not needed to parse a DAG

    return Redactor([secret for channel in secrets.values() for secret in channel.values()])


def mask(value: Any, redactor: Redactor) -> Any:
    """Return *value* with the secrets in each of its strings masked."""
    if isinstance(value, str):
        return redactor.mask_text(value)
    if isinstance(value, list):
        return [mask(one, redactor) for one in value]
    if isinstance(value, dict):
        return {key: mask(one, redactor) for key, one in value.items()}
    return value


def shorten_verdict(verdict: dict[str, Any], most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Return *verdict* in at most *most_bytes* of JSON; "left_out" counts the items left out."""
    kept, left_out = dict(verdict), {}
    for name in _LONG:
        field = kept.get(name)
        while field and _size(kept) > most_bytes:
            most = len(field) // 2
            field = field[:most] if isinstance(field, list) else dict([*field.items()][:most])
            left_out[name] = len(verdict[name]) - most
            kept |= {name: field, "left_out": left_out}
    return kept


def _size(value: object) -> int:
    return len(json.dumps(value).encode())


def _paths(record: Record) -> dict[str, Any]:
    manifests = sorted(path.name for path in Path(record.path).glob("bundle.*.json"))
    manifest = record.read_json(manifests[0]) if manifests else None
    artifacts = (manifest or {}).get("artifacts") or []
    return {
        "run_id": record.run_id,
        "record": str(record.path),
        "log_path": record.log_path(record.logs[0]),
        "artifacts": artifacts,
    }
