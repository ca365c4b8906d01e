"""An auth manager for tests: users of SimpleAuthManager, with rights to single DAGs.

A user whose name begins with "open" sees only the DAGs whose id does; one whose name begins with
"short" sees task instances, but neither logs nor XComs; one whose name begins with "half" sees the
XComs only of the DAGs whose id begins with "open".
"""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

USERS = "admin:admin,viewer:viewer,openview:viewer,shortsight:viewer,halfsight:viewer"


class DagRights(SimpleAuthManager):
    """SimpleAuthManager with rights to single DAGs."""

    def is_authorized_dag(
        self,
        *,
        method: Any,
        user: Any,
        access_entity: DagAccessEntity | None = None,
        details: Any = None,
    ) -> bool:
        """Return True if the user has the right."""
        dag_id = getattr(details, "id", None)
        if user.username.startswith("open") and dag_id and not dag_id.startswith("open"):
            return False
        if user.username.startswith("short") and access_entity in (
            DagAccessEntity.TASK_LOGS,
            DagAccessEntity.XCOM,
        ):
            return False
        if user.username.startswith("half") and access_entity is DagAccessEntity.XCOM:
            return str(dag_id).startswith("open")
        return bool(
            super().is_authorized_dag(
                method=method, user=user, access_entity=access_entity, details=details
            )
        )
