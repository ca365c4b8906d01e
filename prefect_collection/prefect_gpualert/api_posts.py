"""The posts of one training to Prefect's API: its artifact, and the event for automations."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.events import emit_event
from prefect.exceptions import ObjectNotFound
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
    from prefect_gpualert.artifact_places import ArtifactPlace
    from prefect_gpualert.run_identity import RunIdentity

_TURN = threading.BoundedSemaphore(4)
"""Trainings that end together take turns for their artifacts.  Events do not wait for it."""
_MOST_PATH = 4096
_PROGRESS_BYTES = 64 << 10
"""Read of the end of each log for the progress."""


class Poster:
    """Posts the artifact and the event of one training.  Raises the errors of the API."""

    def __init__(
        self,
        record: Record,
        identity: RunIdentity,
        place: ArtifactPlace,
        known_secrets: Iterable[str],
    ) -> None:
        self._path = record.path
        self._record = record
        self._logs = record.logs
        self._identity = identity
        self._place = place
        self._known = list(known_secrets)
        self._completion = Completion()
        self._percent: float | None = None

    def post_progress(self) -> None:
        """Post the page of the progress, if the logs have any, and if it has changed."""
        for name in self._logs:
            with contextlib.suppress(OSError):  # the log was moved
                with open(self._record.open_log(name), "rb") as file:
                    end = read_end(file, _PROGRESS_BYTES)[0]
                self._completion = self._completion.update(end)
        percent = self._completion.percent
        if percent is None or self._percent == percent:
            return
        self._percent = percent
        logs = map(self._record.log_path, self._logs)
        page = presentation.progress_page(percent, str(self._completion), logs)
        with _client() as client:
            self._post(client, page, f"{self._identity.name}: {self._completion}")

    def post_end(self, wait_for_progress: Callable[[], object]) -> None:
        """Emit the event and post the page of the verdict.

        ``wait_for_progress`` returns when no other thread posts the progress any more.
        """
        subject, page = self._emit_verdict()
        wait_for_progress()
        with _client() as client, _TURN:
            self._post(client, page, subject)

    def _emit_verdict(self) -> tuple[str, str]:
        """Emit the event; return the run in one line, and its page."""
        with contextlib.closing(Record.open(self._path)) as record:
            verdict = record.verdict
            outcome = record.read_json(OUTCOME)
            masks = Redactor(self._known)
            view = view_run(record, verdict, masks=masks, outcome=outcome)
        logs = [
            one_line(masks.mask_text(path), _MOST_PATH)
            for path in map(self._record.log_path, self._logs)
        ]
        # Prefect queues the event and sends it even at exit.
        emit_event(
            event.NAME,
            resource=event.resource(view, verdict, self._identity),
            payload=event.payload(view, verdict, presentation.rows(verdict, masks), masks),
        )
        page = markdown.render_page(
            view,
            lasted_s=view.duration_s,
            facts=list_facts(view, logs),
            more=view.next_command,
        )
        return write_subject(view).removeprefix("[gpualert] "), page

    def _post(self, client: SyncPrefectClient, page: str, text: str) -> None:
        """Create the artifact of the training, or update it."""
        text = plain(text)
        if self._place.artifact_id is not None:
            with contextlib.suppress(ObjectNotFound):  # a person deleted it
                update = ArtifactUpdate(data=page, description=text)
                client.update_artifact(self._place.artifact_id, update)
                return
        artifact = ArtifactCreate(
            key=self._place.key,
            type="markdown",
            data=page,
            description=text,
            flow_run_id=self._identity.flow_run_id,
            task_run_id=self._identity.task_run_id,
        )
        self._place.artifact_id = client.create_artifact(artifact).id


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
