"""The location of a task's run in Airflow's task state store, from Airflow 3.3 on.

A next attempt may run on a host that does not share the state directory.  It then learns about the
run of the attempt before it only from this store.
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


def store_location(context: Mapping[str, Any], handle: RunHandle, log: Log) -> None:
    """Store the location of the run, and whether it has ended.

    A store that fails is logged and has no other effect.
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
    except Exception as error:  # noqa: BLE001 - a failing database does not fail the training
        log.warning("The run cannot be stored in Airflow's task state store: %s", error)


def load_location(context: Mapping[str, Any], log: Log) -> RunLocation | None:
    """Return the location of the earlier attempt's run; None when it has ended or is unknown."""
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
    """Return the task's store; None without one, and where one host runs all tasks."""
    if conf.get("core", "executor", fallback=_ONE_HOST) == _ONE_HOST:
        return None
    return context.get("task_state_store")
