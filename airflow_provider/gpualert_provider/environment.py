"""Which of the worker's variables a training may see."""

from __future__ import annotations

from collections.abc import Mapping

_AIRFLOWS = ("AIRFLOW_", "_AIRFLOW_", "__AIRFLOW_")
_HARMLESS = ("AIRFLOW_CTX_", "AIRFLOW_HOME")


def without_airflows(env: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """*env* without Airflow's own variables: its configuration, connections, variables and keys.

    What the author has *given* stays, and so do AIRFLOW_HOME and the AIRFLOW_CTX_* of the task.
    """
    return {
        name: value
        for name, value in env.items()
        if name in given or name.startswith(_HARMLESS) or not name.startswith(_AIRFLOWS)
    }
