"""A run prepared for display: its verdict, its facts, and the files of a message."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from gpualert_common.errors import RecordError
from gpualert_common.launch_record import LaunchRecord, Owner
from gpualert_common.model import Artifact, Bundle, CarriedReport, Verdict
from gpualert_common.record import Record
from gpualert_common.report.alerted_job import AlertedJob
from gpualert_common.report.formatting import one_line
from gpualert_common.report.run_logs import describe_logs, find_main_log
from gpualert_common.report.task_view import TaskView, view_task
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.report.verdict_view import (
    UNKNOWN,
    VerdictView,
    to_finite_number,
    verdict_fields,
)
from gpualert_common.report.wording import describe_missing_verdict
from gpualert_common.signal_names import signal_name
from gpualert_common.spec import Ending
from gpualert_common.structs import replace

_SHORT = 80
_MOST_WORDS = 1000
_NUMBERS = ("told_as", "number")
"""Keys of an attempt's number: the engine's own first, then ours."""
_MOST_NOTES = 50
_MOST_LOG_LINES = 1000
_DAMAGED = (AttributeError, KeyError, IndexError, OverflowError, RecordError, TypeError, ValueError)
"""Errors from arbitrary content of a record's file."""


class RunView(VerdictView, frozen=True, kw_only=True):
    """One run.  Its texts are redacted, on one line each, and hold no control characters.

    ``alerted_job`` is the job that an alert is about, if it is not about the run alone.

    The fields are the variables of the users' templates (docs/templates.md).
    """

    run_id: str
    job: str
    host: str
    command: str
    cwd: str
    attempt: int
    final: bool
    task: TaskView | None
    exit_status: str
    started_at: float
    ended_at: float | None
    duration_s: float | None
    log_path: str
    log_paths: tuple[str, ...]
    logs: tuple[str, ...]
    log_bytes: int
    log_tail: tuple[str, ...]
    record_path: str
    next_command: str
    artifacts: tuple[Artifact, ...]
    beyond_cap: int
    notes: tuple[str, ...]
    redactions: int
    report: CarriedReport | None = None
    alerted_job: AlertedJob | None = None


def view_run(
    record: Record,
    verdict: Verdict | None,
    *,
    masks: Masks,
    bundle: Bundle | None = None,
    outcome: dict[str, Any] | None = None,
    log_lines: Sequence[str] = (),
) -> RunView:
    """Return the view of a run; all texts have passed ``masks``.

    ``outcome`` is that of the run's task, None when it is not known; ``log_lines`` are the last of
    the log.  What is absent or damaged in the record is left out or shown as unknown.  Raises
    RecordError when the launch record cannot be read.
    """
    spec, ending = record.spec, _read_ending(record)
    text = TextSanitizer(masks)
    bundle = bundle or Bundle()
    command = _join_command(spec.command, text)
    status = _describe_status(ending)
    at, until = _times(spec, ending)
    sizes: dict[str, int] = {name: _size(record, name) for name in spec.logs}
    if verdict:
        parts = verdict_fields(verdict, text)
    else:
        parts = _unknown_verdict(ending, status, text, is_pending=record.is_verdict_pending)
    view = RunView(
        **parts,
        run_id=text.line(record.run_id),
        job=text.line(spec.name) or one_line(command, _SHORT) or text.line(record.run_id),
        host=text.line((verdict and verdict.host) or spec.host) or "an unknown host",
        command=command,
        cwd=text.line(spec.cwd),
        attempt=read_attempt_number(outcome, spec.owner, verdict),
        final=_is_final(spec.custody, outcome),
        state=text.line((outcome or {}).get("state")) or None,
        task=view_task(spec.owner, outcome, text),
        exit_status=text.line(status),
        started_at=at,
        ended_at=until,
        duration_s=max(0.0, until - at) if until is not None and at else None,
        log_path=text.line(record.log_path(find_main_log(record, verdict))),
        log_paths=tuple(text.line(record.log_path(name)) for name in sizes),
        logs=tuple(map(text.line, describe_logs(record, verdict))),
        log_bytes=sum(sizes.values()),
        log_tail=tuple(text.log_line(line) for line in log_lines[-_MOST_LOG_LINES:]),
        record_path=text.line(record.path),
        next_command=text.line(f"gpualert show {record.run_id}"),
        artifacts=tuple(_sanitize(artifact, text) for artifact in bundle.artifacts),
        beyond_cap=bundle.beyond_cap,
        notes=tuple(text.line(note) for note in bundle.notes[:_MOST_NOTES]),
        redactions=0,
        report=None if bundle.report is None else _sanitize_report(bundle.report, text),
    )
    return replace(view, redactions=text.masked)


def _unknown_verdict(
    ending: Ending | None, status: str, text: TextSanitizer, *, is_pending: bool
) -> dict[str, Any]:
    """Return the fields of a view without a verdict: the end of the run, and no cause."""
    headline = f"{_headline(ending, status)}; {describe_missing_verdict(is_pending=is_pending)}"
    return {
        "disposition": _disposition(ending),
        "cause": UNKNOWN,
        "headline": text.line(headline),
        "confidence": 0.0,
        "attribution": UNKNOWN,
        "retry": UNKNOWN,
        "implies": "",
        **dict.fromkeys(("cannot_decide", "do", "shows", "warnings"), ()),
    }


def _read_ending(record: Record) -> Ending | None:
    try:
        return record.ending
    except _DAMAGED:
        return None


def _join_command(words: tuple[str, ...], text: TextSanitizer) -> str:
    """Return the command as for a shell.

    Masked word by word, since quoting would hide a secret, and once more as a whole.
    """
    return text.prose(shlex.join(text.prose(word) for word in words[:_MOST_WORDS]))


def _times(spec: LaunchRecord, ending: Ending | None) -> tuple[float, float | None]:
    began = to_finite_number(spec.created_at) or 0.0
    if ending is None:
        return began, None
    return to_finite_number(ending.started_at) or began, to_finite_number(ending.ended_at)


def read_attempt_number(
    outcome: dict[str, Any] | None, owner: Owner, verdict: Verdict | None = None
) -> int:
    """Return the number of the attempt that followed the end, in the engine's numbering; else 1."""
    known = [fields.get(name) for fields in (outcome or {}, owner) for name in _NUMBERS]
    for value in (*known, verdict and verdict.attempt):
        found = to_finite_number(value)
        if found is not None:
            return int(found)
    return 1


def _is_final(owner: Owner | None, outcome: dict[str, Any] | None) -> bool:
    if outcome is not None:
        return bool(outcome.get("final"))
    return owner is None or bool(owner.get("is_last"))


def _disposition(ending: Ending | None) -> str:
    if ending is None or ending.code is None:
        return UNKNOWN
    return "failed" if ending.code else "completed"


_LIMITS = {"time": " at its time limit", "hang": " after it was stopped as hung"}


def _describe_status(ending: Ending | None) -> str:
    if ending is None:
        return "not known"
    if not ending.started:
        why = ending.start_error[1] if ending.start_error else "no reason is recorded"
        return f"never started: {why}"
    limit = _LIMITS.get(ending.limit or "", "")
    if not isinstance(ending.code, int):
        return f"not known{limit and ', ended'}{limit}"
    return describe_exit_code(ending.code) + limit


def describe_exit_code(code: int) -> str:
    """Return the end of a process in words; a negative code is that of a signal."""
    return f"killed by signal {-code} ({signal_name(-code)})" if code < 0 else f"exit status {code}"


def _headline(ending: Ending | None, status: str) -> str:
    """Return the end of a run without a verdict, as the begin of its headline."""
    if status.startswith("exit status"):
        return f"Ended with {status}"
    if status.startswith("not known"):
        return "Ended with an unknown result" if ending is not None else "No end is recorded"
    return status[0].upper() + status[1:]


def _size(record: Record, name: str) -> int:
    status = record.log_status(name)
    return 0 if status is None else status.st_size


def _sanitize_report(report: CarriedReport, text: TextSanitizer) -> CarriedReport:
    return replace(report, name=text.line(report.name), why=text.line(report.why))


def _sanitize(artifact: Artifact, text: TextSanitizer) -> Artifact:
    return replace(
        artifact,
        path=text.prose(artifact.path),
        name=text.prose(artifact.name),
        why=text.line(artifact.why),
    )
