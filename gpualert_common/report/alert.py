"""What a template is given: one alert, in plain words and figures, free of secrets."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpualert_common.errors import RecordError
from gpualert_common.model import Artifact, Bundle, Verdict
from gpualert_common.record import Record
from gpualert_common.report.told import (
    PROSE,
    Masks,
    Say,
    Shown,
    number,
    shown,
    speaker,
    texts,
)
from gpualert_common.report.words import one_line
from gpualert_common.spec import Ending

_SHORT = 80
_NUMBERS = ("told_as", "number")
_MOST_NOTES = 50
_MOST_LOG_LINES = 1000
_DAMAGED = (AttributeError, KeyError, IndexError, OverflowError, RecordError, TypeError, ValueError)
"""What reading a file of a record can raise when its content is anything at all."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.  Its texts are redacted, on one line each, and hold no control characters."""

    run_id: str
    job: str
    host: str
    command: str
    cwd: str
    attempt: int
    final: bool
    state: str | None
    task: str | None
    disposition: str
    cause: str
    headline: str
    confidence: float
    attribution: str
    retry: str
    exit_status: str
    started_at: float
    ended_at: float | None
    duration_s: float | None
    implies: str
    cannot_decide: tuple[str, ...]
    do: tuple[str, ...]
    shows: tuple[Shown, ...]
    warnings: tuple[str, ...]
    log_path: str
    log_bytes: int
    log_tail: tuple[str, ...]
    record_path: str
    next_command: str
    artifacts: tuple[Artifact, ...]
    beyond_cap: int
    notes: tuple[str, ...]
    redactions: int


def alert_of(
    record: Record,
    bundle: Bundle,
    *,
    redactor: Masks,
    outcome: dict[str, Any] | None,
    log_lines: Sequence[str],
) -> Alert:
    """The alert about a run: every text of it has passed ``redactor``.

    ``outcome`` is what the run's task became, None when it is not known; ``log_lines`` are the
    log's last.  Whatever of the record is absent or damaged is left out or said to be unknown.
    Raises RecordError when not even the launch record can be read.
    """
    spec = record.spec
    verdict = _read_verdict(record)
    ending = _read_ending(record)
    say = speaker(redactor)
    command = _command(spec.get("command"), say)
    custody = spec.get("custody") if isinstance(spec.get("custody"), dict) else None
    status = _exit_status(ending)
    at, until = _times(spec, ending)
    logs = _logs(record, spec)
    alert = Alert(
        run_id=say(record.run_id),
        job=say(spec.get("name")) or one_line(command, _SHORT) or say(record.run_id),
        host=say(verdict and verdict.host) or say(spec.get("host")) or "an unknown host",
        command=command,
        cwd=say(spec.get("cwd")),
        attempt=_attempt(outcome, custody, verdict),
        final=_is_final(custody, outcome),
        state=say((outcome or {}).get("state")) or None,
        task=say(_task(custody)) or None,
        disposition=str(verdict.disposition) if verdict else _disposition(ending),
        cause=say(verdict and verdict.cause) or "unknown",
        headline=say(verdict and verdict.headline) or say(_bare_headline(ending, status)),
        confidence=verdict.confidence if verdict else 0.0,
        attribution=str(verdict.attribution) if verdict else "unknown",
        retry=str(verdict.retry) if verdict else "unknown",
        exit_status=say(status),
        started_at=at,
        ended_at=until,
        duration_s=max(0.0, until - at) if until is not None and at else None,
        implies=say(verdict and verdict.implies, PROSE),
        cannot_decide=texts(verdict.cannot_decide if verdict else (), say),
        do=texts(verdict.do if verdict else (), say),
        shows=tuple(shown(claim, say) for claim in verdict.shows) if verdict else (),
        warnings=tuple(say(one.text, PROSE) for one in verdict.warnings) if verdict else (),
        log_path=say(_telling_log(logs)),
        log_bytes=sum(_size(log) for log in logs),
        log_tail=tuple(say(line, kept=True) for line in log_lines[-_MOST_LOG_LINES:]),
        record_path=say(record.path),
        next_command=say(f"gpualert show {record.run_id}"),
        artifacts=tuple(_redacted(artifact, say) for artifact in bundle.artifacts),
        beyond_cap=bundle.beyond_cap,
        notes=tuple(say(note) for note in bundle.notes[:_MOST_NOTES]),
        redactions=0,
    )
    return replace(alert, redactions=sum(redactor.found.values()))


def _read_verdict(record: Record) -> Verdict | None:
    try:
        return record.verdict
    except RecordError:
        return None


def _read_ending(record: Record) -> Ending | None:
    try:
        return record.ending
    except _DAMAGED:
        return None


def _command(value: object, say: Say) -> str:
    """Masked word by word, since quoting would hide a secret, and once more as a whole."""
    if not isinstance(value, list | tuple):
        return ""
    return say(shlex.join(say(word, PROSE) for word in value[:1000]), PROSE)


def _times(spec: dict[str, Any], ending: Ending | None) -> tuple[float, float | None]:
    began = number(spec.get("created_at")) or 0.0
    if ending is None:
        return began, None
    return number(ending.started_at) or began, number(ending.ended_at)


def _attempt(
    outcome: dict[str, Any] | None, custody: dict[str, Any] | None, verdict: Verdict | None
) -> int:
    """The attempt that saw the end, by the number that people know it by; else the first."""
    told = [fields.get(name) for fields in (outcome or {}, custody or {}) for name in _NUMBERS]
    for value in (*told, verdict and verdict.attempt):
        found = number(value)
        if found is not None:
            return int(found)
    return 1


def _is_final(custody: dict[str, Any] | None, outcome: dict[str, Any] | None) -> bool:
    if outcome is not None:
        return bool(outcome.get("final"))
    return custody is None or bool(custody.get("is_last"))


def _task(custody: dict[str, Any] | None) -> str | None:
    """The task as its engine's users know it, from the key that its face chose."""
    key = (custody or {}).get("key")
    match key:
        case ["airflow", str(dag), str(), str(task), str(index)]:
            return f"{dag}.{task}" + (f"[{index}]" if index != "-1" else "")
        case ["prefect", str(), str(task), *_]:
            return task
        case [*parts]:
            return ".".join(part for part in parts if isinstance(part, str))
        case _:
            return None


def _disposition(ending: Ending | None) -> str:
    if ending is None or ending.code is None:
        return "unknown"
    return "failed" if ending.code else "completed"


def _exit_status(ending: Ending | None) -> str:
    if ending is None:
        return "not known"
    if not ending.started:
        why = ending.start_error[1] if ending.start_error else "no reason is recorded"
        return f"never started: {why}"
    limit = " at its time limit" if ending.limit == "time" else ""
    if not isinstance(ending.code, int):
        return f"not known{limit and ', ended'}{limit}"
    if ending.code < 0:
        return f"killed by signal {-ending.code} ({_signal_name(-ending.code)}){limit}"
    return f"exit status {ending.code}{limit}"


def _bare_headline(ending: Ending | None, status: str) -> str:
    if status.startswith("exit status"):
        said = f"Ended with {status}"
    elif status.startswith("not known"):
        said = "Ended, and how is not known" if ending is not None else "No end is recorded"
    else:
        said = status[0].upper() + status[1:]
    return f"{said}; no verdict could be made"


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "without a name here"


def _logs(record: Record, spec: dict[str, Any]) -> list[str]:
    """Paths; where the streams are apart, that of stderr comes last."""
    names = spec.get("logs")
    found = names if isinstance(names, list) else []
    return [record.log_path(name) for name in found if isinstance(name, str)]


def _telling_log(logs: Sequence[str]) -> str:
    """The last log in which anything stands, else the last."""
    return next((log for log in reversed(logs) if _size(log)), logs[-1] if logs else "")


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return 0


def _redacted(artifact: Artifact, say: Say) -> Artifact:
    return replace(
        artifact,
        path=say(artifact.path, PROSE),
        name=say(artifact.name, PROSE),
        why=say(artifact.why),
    )
