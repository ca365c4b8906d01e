"""Plugin for Airflow's pages: a tab at the task instance, and a page in the navigation.

Every program of Airflow loads it, workers too, so it imports nothing for the pages themselves: the
application that answers requests is made when the first one comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin

from gpualert_provider.page_paths import PREFIX, TAB, get_root_path

_ICON = f"{PREFIX}/static/icon.svg"
_TASK = "dags/{DAG_ID}/runs/{RUN_ID}/tasks/{TASK_ID}/{MAP_INDEX}"

Message = MutableMapping[str, Any]


class PagesOnDemand:
    """ASGI application that is made when the first request comes."""

    def __init__(self) -> None:
        self._application: Any = None

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        if self._application is None:
            from gpualert_provider.web.application import make_application

            self._application = make_application()
        await self._application(scope, receive, send)


def _make_view(name: str, destination: str, page: str) -> dict[str, str]:
    root = get_root_path()
    return {
        "name": name,
        "href": f"{root}{PREFIX}/{page}",
        "destination": destination,
        "url_route": "gpualert" if destination == "nav" else TAB,
        "icon": f"{root}{_ICON}",
    }


class GPUAlertPlugin(AirflowPlugin):
    """Pages of GPUAlert in Airflow's API server."""

    name = "gpualert"
    fastapi_apps: list[Any] = [  # noqa: RUF012 - as Airflow declares it
        {"app": PagesOnDemand(), "url_prefix": PREFIX, "name": "GPUAlert"}
    ]
    external_views: list[Any] = [  # noqa: RUF012 - as Airflow declares it
        _make_view("GPUAlert", "task_instance", _TASK),
        _make_view("GPUAlert", "nav", "failures"),
    ]
