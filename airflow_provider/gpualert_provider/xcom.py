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
RUN_KEY = "gpualert_run"

MOST_BYTES = 32_000
"""XCom is kept in Airflow's database."""

_MOST_ARTIFACTS = 100
_LONG = ("sources", "ruled_out", "secondary", "warnings", "shows", "details", "do")
"""Fields of a verdict that may be long, the least telling first."""


def push(ti: Any, record: Record, log: Log, secrets: Secrets) -> None:
    """Leave verdict and places in XCom; a fault of it is logged and changes nothing.

    What looks like a secret is masked, and so are the *secrets* of the task's own channels.
    """
    if ti is None:
        return
    from gpualert_common.redact import Redactor  # a DAG's reader needs none

    try:
        verdict = record.read_json(VERDICT)
        if verdict is not None:
            known = [secret for channel in secrets.values() for secret in channel.values()]
            ti.xcom_push(key=VERDICT_KEY, value=bounded(masked(verdict, Redactor(known))))
        ti.xcom_push(key=RUN_KEY, value=_places(record))
    except Exception as error:  # noqa: BLE001 - no fault of Airflow's database is the training's
        log.warning("The verdict could not be left in XCom: %s", error)


def masked(value: Any, redactor: Redactor) -> Any:
    """*value* with what every string in it must not tell masked."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, list):
        return [masked(one, redactor) for one in value]
    if isinstance(value, dict):
        return {key: masked(one, redactor) for key, one in value.items()}
    return value


def bounded(verdict: dict[str, Any], most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """*verdict* in at most *most_bytes* of JSON; what was left out is counted in "left_out"."""
    kept, left_out = dict(verdict), {}
    for name in _LONG:
        if _size(kept) <= most_bytes:
            break
        field = kept.get(name)
        if isinstance(field, list | dict) and field:
            left_out[name] = len(field)
            kept |= {name: type(field)(), "left_out": left_out}
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
        "artifacts": artifacts[:_MOST_ARTIFACTS],
        "artifacts_left_out": max(0, len(artifacts) - _MOST_ARTIFACTS),
    }
