"""Plugin for Airflow's pages: a tab at the task instance, and a page in the navigation.

Every program of Airflow loads it, workers too, so it imports nothing for the pages themselves: the
application that answers requests is made when the first one comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import AirflowPlugin, conf

PREFIX = "/gpualert"
"""Path of all pages, below that of Airflow's API server."""

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


def get_root_path() -> str:
    """Return the path at which Airflow's pages begin, without a slash at its end."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def _make_view(name: str, destination: str, page: str) -> dict[str, str]:
    root = get_root_path()
    return {
        "name": name,
        "href": f"{root}{PREFIX}/{page}",
        "destination": destination,
        "url_route": "gpualert" if destination == "nav" else "gpualert-report",
        "icon": f"{root}{_ICON}",
    }


class GPUAlertPlugin(AirflowPlugin):  # type: ignore[misc]
    """Pages of GPUAlert in Airflow's API server."""

    name = "gpualert"
    fastapi_apps: ClassVar[list[Any]] = [
        {"app": PagesOnDemand(), "url_prefix": PREFIX, "name": "GPUAlert"}
    ]
    external_views: ClassVar[list[Any]] = [
        _make_view("GPUAlert", "task_instance", _TASK),
        _make_view("GPUAlert", "nav", "failures"),
    ]
