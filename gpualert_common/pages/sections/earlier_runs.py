"""Other runs of the same command: the attempts at the same task, and earlier runs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.errors import RecordError
from gpualert_common.history.past_run import (
    PastRun,
    compute_run_fingerprint,
    compute_task_digest,
)
from gpualert_common.history.runs import History
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.record import Record
from gpualert_common.report.formatting import duration, hours
from gpualert_common.report.run_view import read_attempt_number
from gpualert_common.report.wording import describe_outcome
from gpualert_common.structs import Struct

_MOST_READ = 50
_MOST_ROWS = 20


class PastRunRow(Struct, frozen=True):
    """One run; "" where a value is not known.  ``attempt`` is its number at the task."""

    run_id: str
    attempt: str
    started: str
    lasted: str
    outcome: str
    cause: str
    steps: str
    loss: str
    gpu_hours: str
    is_this: bool


class PastRuns(Struct, frozen=True):
    """Attempts at the same task, oldest first, and earlier runs, newest first."""

    attempts: tuple[PastRunRow, ...]
    earlier: tuple[PastRunRow, ...]


def _collect(run: ReportedRun, room: Room) -> PastRuns | None:
    fingerprint = compute_run_fingerprint(run.spec)
    if fingerprint is None:
        return None
    place = os.path.dirname(os.path.dirname(run.record.path))
    found = History.open(place).find_runs(fingerprint, most=_MOST_READ)
    task, run_id = compute_task_digest(run.spec), run.record.run_id
    most = room.limit(_MOST_ROWS)
    attempts = [one for one in found if task is not None and one.task == task][:most][::-1]
    earlier = [one for one in found if one not in attempts and one.run_id < run_id][:most]
    is_alone = not [one for one in attempts if one.run_id != run_id]
    if is_alone and not earlier:
        return None
    return PastRuns(
        attempts=() if is_alone else tuple(_make_rows(run, attempts, place)),
        earlier=tuple(_make_rows(run, earlier)),
    )


def _make_rows(run: ReportedRun, found: Iterable[PastRun], place: str = "") -> list[PastRunRow]:
    text = run.text
    return [
        PastRunRow(
            run_id=text.line(one.run_id),
            attempt=_read_number(place, one.run_id) if place else "",
            started=run.format_time(one.started_at),
            lasted="" if one.duration_s is None else duration(one.duration_s),
            outcome=text.line(describe_outcome(one.disposition, None) if one.disposition else ""),
            cause="" if one.cause in (None, "none") else text.line(one.cause),
            steps="" if one.last_step is None else f"{one.last_step}",
            loss="" if one.last_loss is None else f"{one.last_loss:.4g}",
            gpu_hours="" if one.gpu_seconds is None else hours(one.gpu_seconds),
            is_this=one.run_id == run.record.run_id,
        )
        for one in found
    ]


def _read_number(place: str, run_id: str) -> str:
    """Return the number of an attempt, "" where its record is gone."""
    try:
        record = Record.open(os.path.join(place, "runs", run_id))
    except RecordError:
        return ""
    try:
        return str(read_attempt_number(None, record.spec.owner))
    except RecordError:
        return ""
    finally:
        record.close()


SECTION = Section("Other runs of this command", order=90, most_bytes=20_000, collect=_collect)
