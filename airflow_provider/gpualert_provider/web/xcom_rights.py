"""The right of a user to the XComs of DAGs."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.batch_apis import IsAuthorizedDagRequest
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def keep_readable(dag_ids: AbstractSet[str], user: Any, session: Session) -> set[str]:
    """Return those of the DAGs that the user may see, and whose XComs, too."""
    manager = get_auth_manager()
    visible = dag_ids & manager.get_authorized_dag_ids(user=user, method="GET")
    requests = {dag_id: _make_request(dag_id, session) for dag_id in visible}
    # One request to the service behind the auth manager, if it has one, for most users.
    if manager.batch_is_authorized_dag(list(requests.values()), user=user):
        return set(requests)
    return {
        dag_id
        for dag_id, request in requests.items()
        if manager.is_authorized_dag(user=user, **request)
    }


def _make_request(dag_id: str, session: Session) -> IsAuthorizedDagRequest:
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id, session=session))
    return {"method": "GET", "access_entity": DagAccessEntity.XCOM, "details": details}
