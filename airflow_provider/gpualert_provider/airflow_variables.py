"""Airflow's own environment variables, which a training does not need."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES = ("AIRFLOW_", "_AIRFLOW_", "__AIRFLOW_")
_KEPT = ("AIRFLOW_CTX_", "AIRFLOW_HOME")


def drop_airflow_variables(env: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return *env* without Airflow's configuration, connections, variables and keys.

    The variables that the author has *given* stay, and so do AIRFLOW_HOME and AIRFLOW_CTX_*.
    """
    return {
        name: value
        for name, value in env.items()
        if name in given or name.startswith(_KEPT) or not name.startswith(_PREFIXES)
    }
