"""The posts of one training to Prefect's API: artifacts, and the event for automations."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.events import emit_event
from prefect.settings import PREFECT_API_URL

from gpualert_common.progress.completion import Completion
from gpualert_common.record import OUTCOME, Record
from gpualert_common.record.log_end import read_end
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown
from gpualert_common.report.alert_phrases import write_subject
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import plain
from gpualert_common.report.run_facts import list_facts
from gpualert_common.report.run_view import view_run
from prefect_gpualert import event, presentation

if TYPE_CHECKING:
    from prefect_gpualert.run_identity import RunIdentity

_TURN = threading.BoundedSemaphore(4)
"""Trainings that end together take turns for each artifact, so that the verdict of every one is
posted before the first table.  Events do not wait for it."""
_MOST_PATH = 4096
_PROGRESS_BYTES = 64 << 10
"""Read of the end of each log for the progress."""


class Poster:
    """Posts the artifacts and the event of one training.  Raises the errors of the API."""

    def __init__(self, record: Record, identity: RunIdentity, known_secrets: Iterable[str]) -> None:
        self._path = record.path
        self._record = record
        self._logs = record.logs
        self._identity = identity
        self._known = list(known_secrets)
        self._completion = Completion()
        self._progress: tuple[UUID, float] | None = None
        """The artifact of the progress, and its percentage."""

    def post_progress(self) -> None:
        """Create or update the artifact of the progress, if the logs have any."""
        for name in self._logs:
            with contextlib.suppress(OSError):  # the log was moved
                with open(self._record.open_log(name), "rb") as file:
                    end = read_end(file, _PROGRESS_BYTES)[0]
                self._completion = self._completion.update(end)
        percent = self._completion.percent
        if percent is None or (self._progress is not None and self._progress[1] == percent):
            return
        with _client() as client:
            self._set_progress(client, percent, f"{self._identity.name}: {self._completion}")

    def post_end(self, wait_for_progress: Callable[[], object]) -> None:
        """Emit the event and create the artifacts of the verdict.

        ``wait_for_progress`` returns when no other thread posts the progress any more.
        """
        subject, is_well, pages = self._emit_verdict()
        refused: httpx.HTTPStatusError | None = None
        with _client() as client:
            for name, kind, data in pages:
                try:
                    with _TURN:
                        client.create_artifact(self._artifact(name, kind, data, subject))
                except httpx.HTTPStatusError as error:  # the API may accept the next one
                    refused = refused or error
            wait_for_progress()
            if self._progress is not None:
                with _TURN:
                    percent = 100.0 if is_well else self._progress[1]
                    self._set_progress(client, percent, subject)
        if refused is not None:
            raise refused

    def _emit_verdict(self) -> tuple[str, bool, list[tuple[str, str, str]]]:
        """Emit the event; return the run in one line, whether it went well, and its pages."""
        with contextlib.closing(Record.open(self._path)) as record:
            verdict = record.verdict
            outcome = record.read_json(OUTCOME)
            masks = Redactor(self._known)
            view = view_run(record, verdict, masks=masks, outcome=outcome)
        evidence = presentation.rows(verdict, masks)
        logs = [
            one_line(masks.mask_text(path), _MOST_PATH)
            for path in map(self._record.log_path, self._logs)
        ]
        # Prefect queues the event and sends it even at exit.
        emit_event(
            event.NAME,
            resource=event.resource(view, verdict, self._identity),
            payload=event.payload(view, verdict, evidence, masks),
        )
        subject = write_subject(view).removeprefix("[gpualert] ")
        page = markdown.render_page(
            view,
            lasted_s=view.duration_s,
            facts=list_facts(view, logs),
            more=view.next_command,
        )
        return subject, view.is_healthy, [*_pages(page, evidence, logs, view.record_path)]

    def _set_progress(self, client: SyncPrefectClient, percent: float, text: str) -> None:
        if self._progress is None:
            artifact = self._artifact("progress", "progress", percent, text)
            self._progress = client.create_artifact(artifact).id, percent
            return
        id_ = self._progress[0]
        client.update_artifact(id_, ArtifactUpdate(data=percent, description=plain(text)))
        self._progress = id_, percent

    def _artifact(self, name: str, kind: str, data: Any, text: str) -> ArtifactCreate:
        return ArtifactCreate(
            key=f"gpualert-{name}-{self._identity.slug}",
            type=kind,
            data=data,
            description=plain(text),
            flow_run_id=self._identity.flow_run_id,
            task_run_id=self._identity.task_run_id,
        )


def _pages(
    page: str, evidence: list[presentation.Row], logs: list[str], record_path: str
) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and data of each artifact, the most important first."""
    yield "verdict", "markdown", page
    if evidence:
        yield "evidence", "table", json.dumps(presentation.table(evidence))
    yield "log", "markdown", presentation.links(logs)
    yield "record", "markdown", presentation.links([record_path])


@contextlib.contextmanager
def _client() -> Iterator[SyncPrefectClient]:
    """Open a client of our own: the engine closes its client before a late thread needs it.

    It has Prefect's own timeouts: a request that times out is sent again, and would count twice.
    """
    settings = {}
    if not (PREFECT_API_URL.value() or "").startswith("https:"):
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without reading certificates
    with get_client(httpx_settings=settings, sync_client=True) as client:
        yield client
