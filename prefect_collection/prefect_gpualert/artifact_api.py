"""Prefect's API for the artifacts of one training: each is created once, and then updated."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.exceptions import ObjectNotFound
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
        artifact_id = self._place.ids.get(kind)
        if artifact_id is not None:
            with contextlib.suppress(ObjectNotFound):  # a person deleted it
                client.update_artifact(artifact_id, ArtifactUpdate(data=data, description=text))
                return
        artifact = ArtifactCreate(
            key=self._place.key_of(kind),
            type=_TYPES[kind],
            data=data,
            description=text,
            flow_run_id=self._identity.flow_run_id,
            task_run_id=self._identity.task_run_id,
        )
        self._place.ids[kind] = client.create_artifact(artifact).id
