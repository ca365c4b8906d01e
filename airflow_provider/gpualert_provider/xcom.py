"""What a training leaves in XCom, whatever its end: the verdict, and where everything lies."""

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
"""XCom is kept in Airflow's database."""

_LONG = ("sources", "ruled_out", "artifacts", "secondary", "warnings", "shows", "details", "do")
"""Fields that may be long, the least telling first."""


def push(ti: Any, record: Record, log: Log, secrets: Secrets) -> None:
    """Leave the verdict in XCom; a fault of it is logged and changes nothing.

    What looks like a secret is masked, and so are the *secrets* of the task's own channels.
    """
    if ti is None:
        return
    try:
        verdict = record.read_json(VERDICT) or {}
        known = [secret for channel in secrets.values() for secret in channel.values()]
        told = {**masked(verdict, _redactor(known)), **_places(record)}
        ti.xcom_push(key=VERDICT_KEY, value=bounded(told))
    except Exception as error:  # noqa: BLE001 - no fault of Airflow's database is the training's
        log.warning("The verdict could not be left in XCom: %s", error)


def prepare() -> None:
    """Make ready what masks, which takes a moment, while a training runs."""
    _redactor([])


def _redactor(known: list[str]) -> Redactor:
    from gpualert_common.redact import Redactor  # a DAG's reader needs none

    return Redactor(known)


def masked(value: Any, redactor: Redactor) -> Any:
    """*value* with what every string in it must not tell masked."""
    if isinstance(value, str):
        return redactor.mask_text(value)
    if isinstance(value, list):
        return [masked(one, redactor) for one in value]
    if isinstance(value, dict):
        return {key: masked(one, redactor) for key, one in value.items()}
    return value


def bounded(verdict: dict[str, Any], most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """*verdict* in at most *most_bytes* of JSON; what was left out is counted in "left_out"."""
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


def _places(record: Record) -> dict[str, Any]:
    manifests = sorted(path.name for path in Path(record.path).glob("bundle.*.json"))
    manifest = record.read_json(manifests[0]) if manifests else None
    artifacts = (manifest or {}).get("artifacts") or []
    return {
        "run_id": record.run_id,
        "record": str(record.path),
        "log_path": record.log_path(record.logs[-1]),
        "artifacts": artifacts,
    }
