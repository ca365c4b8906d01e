"""Prefect's API for the artifacts of one training: each is created once, and then updated."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import PREFECT_API_URL

from gpualert_common.report.markdown import plain
from prefect_gpualert.artifact_places import ArtifactKind

if TYPE_CHECKING:
    from prefect_gpualert.artifact_places import ArtifactPlace
    from prefect_gpualert.run_identity import RunIdentity

Data = str | float

_TYPES = {
    ArtifactKind.VERDICT: "markdown",
    ArtifactKind.EVIDENCE: "table",
    ArtifactKind.PROGRESS: "progress",
    # An artifact of type image shows its address below the picture: all of the data.
    ArtifactKind.TIMELINE: "markdown",
    ArtifactKind.REPORT: "markdown",
}
_MOST_IN_EVENTS = 20_000
"""Data of a new artifact: the server stores them in an event, too."""
_NOT_FOUND = 404


@contextlib.contextmanager
def open_client() -> Iterator[SyncPrefectClient]:
    """Open a client of our own: the engine closes its client before a late thread needs it.

    It has Prefect's own timeouts: a request that times out is sent again, and would count twice.
    """
    settings = {}
    if not (PREFECT_API_URL.value() or "").startswith("https:"):
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without reading certificates
    with get_client(httpx_settings=settings, sync_client=True) as client:
        yield client


class ArtifactApi:
    """The artifacts of one training in Prefect.  Raises the errors of the API."""

    def __init__(self, identity: RunIdentity, place: ArtifactPlace) -> None:
        self._identity = identity
        self._place = place

    def has(self, kind: ArtifactKind) -> bool:
        """Return True if this training, or an earlier attempt of it, has an artifact of a kind."""
        return kind in self._place.ids

    def post(self, client: SyncPrefectClient, kind: ArtifactKind, data: Data, text: str) -> None:
        """Create an artifact, or update it.  ``text`` is its description, of one line."""
        text = plain(text)
        if kind in self._place.ids and self._update(client, kind, data, text):
            return
        is_large = isinstance(data, str) and len(data) > _MOST_IN_EVENTS
        artifact = ArtifactCreate(
            key=self._place.key_of(kind),
            type=_TYPES[kind],
            data="" if is_large else data,
            description=text,
            flow_run_id=self._identity.flow_run_id,
            task_run_id=self._identity.task_run_id,
        )
        self._place.ids[kind] = client.create_artifact(artifact).id
        if is_large:
            self._update(client, kind, data, text)

    def _update(self, client: SyncPrefectClient, kind: ArtifactKind, data: Data, text: str) -> bool:
        """Update an artifact; return False if a person deleted it.

        Not by the method of the client, which also stores all of the data in an event.
        """
        update = ArtifactUpdate(data=data, description=text)
        content = update.model_dump(mode="json", exclude_unset=True)
        where = {"id": self._place.ids[kind]}
        try:
            client.request("PATCH", "/artifacts/{id}", path_params=where, json=content)
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _NOT_FOUND:
                raise
            return False
        return True
