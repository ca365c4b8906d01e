"""What is posted to Prefect's API of one training: artifacts, and the event for automations."""

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

from gpualert_common.record import OUTCOME, Record
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown
from gpualert_common.report.alert_phrases import write_subject
from gpualert_common.report.formatting import one_line
from gpualert_common.report.markdown import plain
from gpualert_common.report.run_facts import list_facts
from gpualert_common.report.run_view import view_run
from prefect_gpualert import event, presentation
from prefect_gpualert.progress import Progress, newest_lines

if TYPE_CHECKING:
    from prefect_gpualert.owner import Owner

_TURN = threading.BoundedSemaphore(4)
"""Of hundreds of trainings that end together, each takes its turn for each artifact: so every page
is there before the first table.  No event waits for it."""
_MOST_PATH = 4096


class Poster:
    """Posts what there is to see.  Its methods raise whatever the API makes of it."""

    def __init__(self, record: Record, owner: Owner, known_secrets: Iterable[str]) -> None:
        self._path = record.path
        self._logs = [record.log_path(name) for name in record.logs]
        self._owner = owner
        self._known = list(known_secrets)
        self._progress = Progress()
        self._shown: tuple[UUID, float] | None = None

    def show_progress(self) -> None:
        """How far the training has come, where its logs tell: one artifact that is updated."""
        for path in self._logs:
            with contextlib.suppress(OSError):  # somebody moved it
                self._progress.take(newest_lines(path))
        percent = self._progress.percent
        if percent is None or (self._shown is not None and self._shown[1] == percent):
            return
        with _client() as client:
            self._set_progress(client, percent, f"{self._owner.name}: {self._progress}")

    def show_end(self, progress_shown: Callable[[], object]) -> None:
        """How the training ended; ``progress_shown`` returns when nobody shows it any more."""
        subject, is_well, pages = self._told()
        refused: httpx.HTTPStatusError | None = None
        with _client() as client:
            for what, kind, data in pages:
                try:
                    with _TURN:
                        client.create_artifact(self._artifact(what, kind, data, subject))
                except httpx.HTTPStatusError as error:  # it may be this one that is not taken
                    refused = refused or error
            progress_shown()
            if self._shown is not None:
                with _TURN:
                    self._set_progress(client, 100.0 if is_well else self._shown[1], subject)
        if refused is not None:
            raise refused

    def _told(self) -> tuple[str, bool, list[tuple[str, str, str]]]:
        """Emit the event; returns a line about the run, whether it went well, and the pages."""
        with contextlib.closing(Record.open(self._path)) as record:
            verdict = record.verdict
            outcome = record.read_json(OUTCOME)
            masks = Redactor(self._known)
            view = view_run(record, verdict, masks=masks, outcome=outcome)
        evidence = presentation.rows(verdict, masks)
        logs = [one_line(masks.mask_text(path), _MOST_PATH) for path in self._logs]
        # It is queued, and Prefect sees to the queue even at exit.
        emit_event(
            event.NAME,
            resource=event.resource(view, verdict, self._owner),
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

    def _set_progress(self, client: SyncPrefectClient, percent: float, words: str) -> None:
        if self._shown is None:
            made = client.create_artifact(self._artifact("progress", "progress", percent, words))
            self._shown = made.id, percent
            return
        id_ = self._shown[0]
        words = plain(words)
        client.update_artifact(id_, ArtifactUpdate(data=percent, description=words))
        self._shown = id_, percent

    def _artifact(self, what: str, kind: str, data: Any, words: str) -> ArtifactCreate:
        return ArtifactCreate(
            key=f"gpualert-{what}-{self._owner.slug}",
            type=kind,
            data=data,
            description=plain(words),
            flow_run_id=self._owner.flow_run_id,
            task_run_id=self._owner.task_run_id,
        )


def _pages(
    page: str, evidence: list[presentation.Row], logs: list[str], record_path: str
) -> Iterator[tuple[str, str, str]]:
    """What each artifact is of, its type and its data, the most telling first."""
    yield "verdict", "markdown", page
    if evidence:
        yield "evidence", "table", json.dumps(presentation.table(evidence))
    yield "log", "markdown", presentation.links(logs)
    yield "record", "markdown", presentation.links([record_path])


@contextlib.contextmanager
def _client() -> Iterator[SyncPrefectClient]:
    """A client of its own: the engine may have closed its own when a late thread comes to it.

    As patient as Prefect's are: what is given up is asked for again, and would be there twice.
    """
    settings = {}
    if not (PREFECT_API_URL.value() or "").startswith("https:"):
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no reading of certificates
    with get_client(httpx_settings=settings, sync_client=True) as client:
        yield client
