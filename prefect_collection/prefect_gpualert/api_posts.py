"""The posts of one training to Prefect's API: its artifacts, and the event for automations."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prefect.events import emit_event

from gpualert_common.progress.completion import Completion
from gpualert_common.record import OUTCOME, Record
from gpualert_common.record.log_end import read_end
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown
from gpualert_common.report.alert_phrases import write_subject
from gpualert_common.report.formatting import duration, one_line
from gpualert_common.report.run_facts import list_facts
from gpualert_common.report.run_view import view_run
from gpualert_common.structs import Struct
from prefect_gpualert import event, presentation, report_link
from prefect_gpualert.artifact_api import ArtifactApi, open_client
from prefect_gpualert.artifact_places import ArtifactKind

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

    from gpualert_common.report.text_sanitizer import Masks
    from prefect_gpualert.artifact_places import ArtifactPlace
    from prefect_gpualert.run_identity import RunIdentity

_TURN = threading.BoundedSemaphore(4)
"""Trainings that end together take turns for their artifacts.  Events do not wait for it."""
_DRAWING = threading.BoundedSemaphore(1)
"""Trainings of one process draw one picture at a time."""
LEAST_DRAWN_S = 20.0
"""Duration of a training from which on its timeline is drawn: a shorter one has no course to show,
and its task would wait longer for the picture than for the training."""
_MOST_PATH = 4096
_MOST_NAME = 200
_PROGRESS_BYTES = 64 << 10
"""Read of the end of each log for the progress."""


class _Ending(Struct, frozen=True):
    """The verdict of a run for its artifacts: in one line, as a page, and its evidence."""

    subject: str
    page: str
    is_failure: bool
    evidence: list[presentation.Row]


class Poster:
    """Posts the artifacts and the event of one training.  Raises the errors of the API."""

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
        self._known = list(known_secrets)
        self._name = one_line(Redactor(self._known).mask_text(identity.name), _MOST_NAME)
        self._api = ArtifactApi(identity, place)
        self._completion = Completion()
        self._percent: float | None = None
        self._is_linked = False

    # -- while it runs ---------------------------------------------------------------------

    def post_progress(self) -> None:
        """Post the progress, if the logs have any, and if it has changed; first link the report."""
        percent = self._read_percent()
        is_changed = percent is not None and self._percent != percent
        if not is_changed and self._is_linked:
            return
        with open_client() as client:
            if percent is not None and is_changed:
                logs = self._describe_logs(Redactor(self._known))
                page = presentation.progress_page(percent, str(self._completion), logs)
                words = f"{self._name}: {self._completion}"
                self._api.post(client, ArtifactKind.VERDICT, page, words)
                self._api.post(client, ArtifactKind.PROGRESS, percent, words)
                self._percent = percent
            self._link_report(client)

    def _describe_logs(self, masks: Masks) -> list[str]:
        """Return the paths of the logs, each masked and on one line."""
        paths = map(self._record.log_path, self._logs)
        return [one_line(masks.mask_text(path), _MOST_PATH) for path in paths]

    def _read_percent(self) -> float | None:
        for name in self._logs:
            with contextlib.suppress(OSError):  # the log was moved
                with open(self._record.open_log(name), "rb") as file:
                    end = read_end(file, _PROGRESS_BYTES)[0]
                self._completion = self._completion.update(end)
        return self._completion.percent

    def post_timeline(self) -> None:
        """Post the losses and the machine over time as a picture, if there is anything to show."""
        from prefect_gpualert.timeline_picture import draw_timeline  # few trainings need it

        lasted_s = self._measure_duration()
        if lasted_s < LEAST_DRAWN_S and not self._api.has(ArtifactKind.TIMELINE):
            return
        with contextlib.closing(Record.open(self._path)) as record, _DRAWING:
            picture = draw_timeline(record, Redactor(self._known))
        if picture is None:
            return
        page = presentation.timeline_page(picture)
        words = f"{self._name} after {duration(lasted_s)}"
        with open_client() as client:
            self._api.post(client, ArtifactKind.TIMELINE, page, words)

    def _measure_duration(self) -> float:
        ending = self._record.ending
        until = None if ending is None else ending.ended_at
        return max(0.0, (time.time() if until is None else until) - self._record.spec.created_at)

    # -- at its end ------------------------------------------------------------------------

    def post_end(self, wait_for_progress: Callable[[], object]) -> None:
        """Emit the event and post the verdict, its evidence, and the last progress.

        ``wait_for_progress`` returns when no other thread posts the progress any more.
        """
        found = self._emit_verdict()
        wait_for_progress()
        with open_client() as client, _TURN:
            self._api.post(client, ArtifactKind.VERDICT, found.page, found.subject)
            if (found.is_failure and found.evidence) or self._api.has(ArtifactKind.EVIDENCE):
                table = json.dumps(presentation.tabulate_evidence(found.evidence))
                self._api.post(client, ArtifactKind.EVIDENCE, table, found.subject)
            if self._api.has(ArtifactKind.PROGRESS):
                percent = self._read_percent() or 0.0
                self._api.post(client, ArtifactKind.PROGRESS, percent, found.subject)
            self._link_report(client)

    def _link_report(self, client: SyncPrefectClient) -> None:
        """Post the link to the report once, if the server has an address for it."""
        if self._is_linked:
            return
        try:
            run_id, host = self._record.run_id, self._record.spec.host or ""
            url = report_link.read_report_url(client, run_id, host)
        except ValueError:  # it stays wrong until a person corrects it
            self._is_linked = True
            raise
        if url is not None:
            page = presentation.link_page(url, self._record.run_id)
            self._api.post(client, ArtifactKind.REPORT, page, f"Report of {self._name}")
        self._is_linked = True

    def _emit_verdict(self) -> _Ending:
        """Emit the event; return the verdict for the artifacts."""
        with contextlib.closing(Record.open(self._path)) as record:
            verdict = record.verdict
            outcome = record.read_json(OUTCOME)
            masks = Redactor(self._known)
            view = view_run(record, verdict, masks=masks, outcome=outcome)
        evidence = presentation.rows(verdict, masks)
        # Prefect queues the event and sends it even at exit.
        emit_event(
            event.NAME,
            resource=event.resource(view, verdict, self._identity),
            payload=event.payload(view, verdict, evidence, masks),
        )
        page = markdown.render_page(
            view,
            lasted_s=view.duration_s,
            facts=list_facts(view, self._describe_logs(masks)),
            more=view.next_command,
        )
        subject = write_subject(view).removeprefix("[gpualert] ")
        return _Ending(subject, page, not view.is_healthy, evidence)
