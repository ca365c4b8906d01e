"""Composes the message about a run for the budget of a channel.  Everything in it is redacted."""

from __future__ import annotations

import hashlib
import json
import time

from gpualert_common import artifacts
from gpualert_common.errors import GPUAlertError, RecordError
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Attachment, Bundle
from gpualert_common.notify.alert_event import describe_end, describe_warning
from gpualert_common.notify.alert_facts import alerts_in, read_lenient, read_verdict
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from gpualert_common.notify.job_alert_view import view_as_job
from gpualert_common.notify.job_part import read_part, read_report
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.report_maker import ReportMaker
from gpualert_common.record import OUTCOME, Record
from gpualert_common.redact import Redactor
from gpualert_common.report.early_warning import render_warning, view_warning
from gpualert_common.report.message import render_alert
from gpualert_common.report.run_view import RunView, view_run
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.report.wording import describe_missing_verdict
from gpualert_common.spec import message_id
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.structs import replace

LOG_SHARE = 1 / 4
"""Share of the limit for files that the end of the log may use; the rest is for artifacts."""
MOST_LOG_BYTES = 256 << 10
BODY_LOG_LINES = 40
WARNING_LOG_LINES = 20
LEAST_TEXT_BYTES = 200
_MOST_RENDERINGS = 4
BUNDLE_S = 10.0
"""Limit for search, reading and packing; a folder that hangs loses the artifacts, not the alert."""
LEAST_BUNDLE_S = 4.0
FILES_S = 12.0
"""Limit for the report and the artifacts together, less than a run waits for its alerts."""


def compose(
    record: Record,
    budget: Budget,
    known_secrets: list[str],
    reports: ReportMaker | None = None,
) -> tuple[Message, Bundle]:
    """Return the message about a run's end, and the bundle with its manifest.

    ``known_secrets`` are masked everywhere.  ``reports`` keeps the report for the next budget.
    When composing it fails, a plain message takes its place.  Raises RecordError when not even the
    launch record can be read.
    """
    reports = reports or ReportMaker(record, known_secrets)
    try:
        return _compose(record, budget, known_secrets, reports)
    except GPUAlertError:
        raise
    except Exception as error:  # noqa: BLE001 - a plain alert is better than none
        return _plain(record, budget, known_secrets, error), Bundle(notes=(str(error),))


def compose_warning(
    record: Record, entry: EntryFields, budget: Budget, known_secrets: list[str]
) -> Message:
    """Return the message about a warning of a live run, by the fields of its entry.

    It carries no file, and is in the thread of the message about the run's end.  Raises RecordError
    when not even the launch record can be read.
    """
    redactor = Redactor(known_secrets)
    text = TextSanitizer(redactor)
    warning = view_warning(entry.get("warning") or {}, text, _read_dumps(record))
    lines = artifacts.read_last_lines(record, redactor, WARNING_LOG_LINES)
    view = view_run(record, read_verdict(record), masks=redactor, log_lines=lines)
    subject, body = render_warning(view, warning, text_bytes=budget.text_bytes, brief=budget.brief)
    return Message(
        id=str(entry["message_id"]),
        thread=thread_id(record.spec) or message_id(record.run_id),
        at=warning.at,
        subject=subject,
        text=body,
        event=describe_warning(view, text.line(entry.get("event")), warning.says),
    )


def _read_dumps(record: Record) -> list[Dump]:
    """Return the dumps of the record; none where they cannot be read."""
    try:
        return read_dumps(record)
    except RecordError:
        return []


def _plain(record: Record, budget: Budget, known_secrets: list[str], error: Exception) -> Message:
    """Return the shortest useful message."""
    spec = record.spec
    verdict = read_verdict(record)
    missing = describe_missing_verdict(is_pending=record.is_verdict_pending)
    lines = [
        f"{spec.name or record.run_id}: {verdict.disposition if verdict else 'ended'}",
        verdict.headline if verdict else missing,
        f"record: {record.path} on {spec.host}",
        f"next: gpualert show {record.run_id}",
        f"The full message could not be made: {type(error).__name__}: {error}",
    ]
    text = Redactor(known_secrets).mask_text("\n".join(lines)).encode()[: budget.text_bytes]
    subject = " ".join(Redactor(known_secrets).mask_text(f"[gpualert] {lines[0]}").split())
    return Message(
        id=alert_id(record),
        thread=thread_id(spec),
        at=spec.created_at,
        subject=subject,
        text=text.decode("utf-8", "ignore"),
    )


def _compose(
    record: Record, budget: Budget, known_secrets: list[str], reports: ReportMaker
) -> tuple[Message, Bundle]:
    began = time.monotonic()
    redactor = Redactor(known_secrets)
    logs = _log_ends(record, redactor, budget)
    report = reports.attach(budget, sum(len(log.content) for log in logs), len(logs))
    files = logs if report.attachment is None else (*logs, report.attachment)
    left_s = max(LEAST_BUNDLE_S, min(BUNDLE_S, FILES_S - (time.monotonic() - began)))
    bundle = _bundle(record, budget, files, known_secrets, left_s)
    bundle = replace(bundle, report=report.carried)
    job = read_report(record)
    view = view_run(
        record,
        read_verdict(record) if job is None else job.verdict,
        masks=redactor,
        bundle=bundle,
        outcome=read_lenient(record, OUTCOME),
        log_lines=artifacts.read_last_lines(record, redactor, BODY_LOG_LINES),
    )
    part = read_part(record)
    if part is not None and job is not None:
        view = view_as_job(view, job, part, redactor, sender=record.spec.host)
    elif part is not None and part.is_sender:
        because = TextSanitizer(redactor).line(
            f"this alert is about this run alone: {part.because}"
        )
        view = replace(view, warnings=(*view.warnings, because))
    masked = sum(artifact.redactions for artifact in bundle.artifacts) + report.redactions
    view = replace(view, redactions=view.redactions + masked)
    subject, text, html = _render(view, budget, record, known_secrets)
    return (
        Message(
            id=alert_id(record),
            thread=thread_id(record.spec),
            at=view.ended_at or view.started_at,
            subject=subject,
            text=text,
            html=html,
            attachments=(*files, *bundle.attachments),
            event=describe_end(view),
        ),
        bundle,
    )


def _render(
    view: RunView, budget: Budget, record: Record, known_secrets: list[str]
) -> tuple[str, str, str | None]:
    """Return subject, text and HTML, redacted, also where a user's own template made them.

    Redaction can make the text longer: it is then rendered shorter, and at last cut.
    """
    room = budget.text_bytes
    for _try in range(_MOST_RENDERINGS):
        rendered = render_alert(
            view,
            text_bytes=room,
            html_bytes=budget.html_bytes,
            brief=budget.brief,
            templates=alerts_in(record.spec).get("templates"),
        )
        masks = Redactor(known_secrets)
        text = masks.mask_text(rendered.text)
        excess = len(text.encode()) - budget.text_bytes
        if excess <= 0:
            break
        room = max(LEAST_TEXT_BYTES, room - excess)
    text = text.encode()[: budget.text_bytes].decode("utf-8", "ignore")
    html = None if rendered.html is None else masks.mask_text(rendered.html)
    if html is not None and len(html.encode()) > budget.html_bytes:
        html = None
    return masks.mask_text(rendered.subject), text, html


def thread_id(spec: LaunchRecord) -> str | None:
    """Return the Message-ID that all alerts about one job, or one task, refer to; None for neither.

    Only a run with a job directory shares the alerts of its job.
    """
    job = spec.job
    if job is not None and job.get("directory") and job.get("key"):
        return f"<{_hash(job['key'])}.job@gpualert.invalid>"
    key = spec.owner.get("key")
    return f"<{_hash(key)}.task@gpualert.invalid>" if key else None


def alert_id(record: Record) -> str:
    """Return the permanent Message-ID of the alert about the end of a run, or of its job.

    All nodes give the same one to the same alert about their job, so that a second copy is known.
    The time of its claim sets it apart from that of another job with the same name, in another
    directory or after the removal of this one.
    """
    part = read_part(record)
    job = record.spec.job
    if part is None or job is None or not (part.is_sender and part.has_report):
        return message_id(record.run_id)
    alert = f"{part.attempt}-{part.number}"
    return f"<{_hash([job['key'], part.claimed_at])}.{alert}.job@gpualert.invalid>"


def _hash(value: object) -> str:
    data = json.dumps(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]


def _log_ends(record: Record, redactor: Redactor, budget: Budget) -> tuple[Attachment, ...]:
    number = len(record.logs)
    if not number or number > budget.files:
        return ()
    room = min(budget.file_bytes, MOST_LOG_BYTES, int(budget.files_bytes * LOG_SHARE) // number)
    ends = artifacts.read_log_tails(record, redactor, room)
    return tuple(Attachment(name, content, "text/plain") for name, content in ends if content)


def _bundle(
    record: Record,
    budget: Budget,
    others: tuple[Attachment, ...],
    known_secrets: list[str],
    deadline_s: float,
) -> Bundle:
    """Return the artifacts in the room that the other files leave."""
    used = sum(len(other.content) for other in others)

    def pack() -> Bundle:
        return artifacts.bundle(
            record,
            Redactor(known_secrets),
            files_bytes=max(0, budget.files_bytes - used),
            file_bytes=budget.file_bytes,
            files=max(0, budget.files - len(others)),
            deadline_s=deadline_s / 2,
        )

    try:
        return run_isolated(pack, deadline_s)
    except (NoAnswerError, OSError, ValueError, RuntimeError, MemoryError) as error:
        return Bundle(notes=(f"artifacts could not be collected: {error}",))
