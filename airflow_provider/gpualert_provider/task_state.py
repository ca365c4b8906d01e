"""The run of a task, as Airflow's task state store keeps it for the next attempt and for people.

From Airflow 3.3 on.  A next attempt may run on another host, which need not share the state
directory, and then knows of the run before it by this alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from gpualert_common.guardian.run_location import RunLocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpualert_common.guardian import RunHandle
    from gpualert_provider.alerts import Log

KEY = "gpualert_run"

_ONE_HOST = "LocalExecutor"


def remember(context: Mapping[str, Any], handle: RunHandle, log: Log) -> None:
    """Keep where the run is, and whether it has ended.

    A store that cannot be had is logged and changes nothing.
    """
    store = _store(context)
    if store is None:
        return
    record = handle.record
    try:
        value = {
            "run_id": record.run_id,
            "log_path": handle.log_path,
            **RunLocation.of(record).to_json(),
            "ended": record.ending is not None,
        }
        store.set(KEY, value)
    except Exception as error:  # noqa: BLE001 - no fault of Airflow's database is the training's
        log.warning("Airflow's task state store does not keep the run: %s", error)


def recall(context: Mapping[str, Any], log: Log) -> RunLocation | None:
    """Where the run of the attempt before this one is; None when it has ended, or is not kept."""
    store = _store(context)
    if store is None:
        return None
    try:
        value = store.get(KEY)
    except Exception as error:  # noqa: BLE001 - as above
        log.warning("Airflow's task state store cannot be read: %s", error)
        return None
    if not isinstance(value, dict) or value.get("ended") is True:
        return None
    return RunLocation.from_json(value)


def _store(context: Mapping[str, Any]) -> Any:
    """The task's store; None where there is none, or one host runs all tasks."""
    if conf.get("core", "executor", fallback=_ONE_HOST) == _ONE_HOST:
        return None
    return context.get("task_state_store")
