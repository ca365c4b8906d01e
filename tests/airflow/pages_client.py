"""Airflow's own API server in this process, for tests of our pages in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.airflow.dag_rights import USERS

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

AUTH_MANAGER = "tests.airflow.dag_rights.DagRights"


class PagesClient:
    """Requests of users to the API server."""

    def __init__(self, application: Any, passwords: dict[str, str]) -> None:
        self._application = application
        self._passwords = passwords
        self._clients: dict[str, TestClient] = {}

    def get(self, path: str, user: str = "admin", **options: Any) -> Any:
        """Return the answer to a user who is logged in; "" is nobody."""
        return self.of(user).get(path, **options)

    def of(self, user: str) -> TestClient:
        """Return a client with the session's cookie of a user."""
        from fastapi.testclient import TestClient

        if user not in self._clients:
            client = TestClient(self._application, raise_server_exceptions=False)
            if user:
                given = {"username": user, "password": self._passwords[user]}
                token = client.post("/auth/token", json=given).json()["access_token"]
                client.cookies.set("_token", token)
            self._clients[user] = client
        return self._clients[user]


def make_task_path(dag_id: str, run_id: str, task_id: str = "train", index: object = None) -> str:
    """Return the path of our tab as Airflow's page fills it in."""
    names = [quote(name, safe="") for name in (dag_id, run_id, task_id)]
    mapped = "{MAP_INDEX}" if index is None else index
    return "/gpualert/dags/{}/runs/{}/tasks/{}".format(*names) + f"/{mapped}"


def write_xcom(dag_id: str, run_id: str, value: object, key: str) -> None:
    """Write a value of the task to XCom, as it is after a back-end made it."""
    from airflow.models.dagrun import DagRun
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import delete, select

    with create_session() as session:
        number = session.scalar(
            select(DagRun.id).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)
        )
        assert number is not None
        session.execute(
            delete(XComModel).where(XComModel.dag_run_id == number, XComModel.key == key)
        )
        names = {"dag_id": dag_id, "run_id": run_id, "task_id": "train"}
        session.add(XComModel(dag_run_id=number, key=key, value=value, map_index=-1, **names))


@contextmanager
def start_pages(home: Path) -> Iterator[PagesClient]:
    """Yield the API server of the database of this process."""
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        passwords = home / "passwords.json"
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", AUTH_MANAGER)
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", USERS)
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(passwords))
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "a secret that is long enough " * 3)
        from airflow.api_fastapi.app import create_app, purge_cached_app

        purge_cached_app()
        application = create_app(apps="core")
        yield PagesClient(application, json.loads(passwords.read_text()))
        purge_cached_app()
