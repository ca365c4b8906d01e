"""Finish the records of runs whose supervisor died."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TypedDict

from gpualert_common import record_locations
from gpualert_common import recover as recovery
from gpualert_common.abandoned_runs import mark_finished
from gpualert_common.batch_runs import continue_submission, continue_submissions
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.records import format_place, list_places
from gpualert_common.errors import GPUAlertError
from gpualert_common.listing.lookup import find_record
from gpualert_common.model import RecoveryOutcome
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.schedule import DUE, AlertAction
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.notify.status_text import format_status
from gpualert_common.record import Record
from gpualert_common.record.marks import UNDELIVERED, UNFINISHED, UNPUBLISHED, find_state_dir
from gpualert_common.report.wording import describe_missing_verdict
from gpualert_common.settings import load_settings
from gpualert_common.slurm.submissions.submission import find_submission
from gpualert_common.spec import SCHEMA

_OPEN_MARKS = (UNDELIVERED, UNFINISHED, UNPUBLISHED)


class RecoveryRow(TypedDict):
    """The outcome for one run, for people."""

    run_id: str
    outcome: str
    alerts: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, and ``--force``."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="also finish records of runs on another host or in a container that no longer exists",
    )
    add_run(parser, None, "all")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Finish one abandoned record, or all of them."""
    rows: list[RecoveryRow] = []
    outcome: RecoveryOutcome | None
    failed = False
    deadline_s = load_settings()["notify_deadline"].value
    places = list_places(options, is_recovery=True)
    rows += _continue_jobs(places, options.run)
    records: Iterable[Record] = record_locations.open_records(places)
    if options.run is not None:
        records = [find_record(options.run, places)]
    for record in records:
        try:
            outcome = recovery.recover(record, force=options.force)
            text = _format_outcome(outcome, record)
        except (GPUAlertError, OSError) as error:
            failed, outcome = True, None
            text = f"failed: {error}"
        alerts = []
        is_complete = outcome is RecoveryOutcome.COMPLETE
        if outcome is RecoveryOutcome.RECOVERED or (is_complete and _is_marked(record)):
            alerts = [
                format_status(fields) for fields in dispatch(record.path, deadline_s=deadline_s)
            ]
            if reconcile(record)[0].action in (*DUE, AlertAction.SKIP):
                mark_finished(record.path, is_undelivered=False)
        if not is_complete or options.run is not None or alerts:
            rows.append({"run_id": record.run_id, "outcome": text, "alerts": alerts})
    if options.json:
        printing.print_json({"schema": SCHEMA, "records": rows})
        return int(failed)
    for row in rows:
        printing.print_lines(f"{row['run_id']}  {row['outcome']}", *_indent(row["alerts"]))
    if not rows:
        printing.print_notes("nothing to recover")
    return int(failed)


def _continue_jobs(places: Sequence[str], run: str | None) -> list[RecoveryRow]:
    """Start a follower for each job of Slurm that nobody follows any more; return their rows."""
    if run is not None:
        submission = find_submission(find_record(run, places).spec.command)
        found = [] if submission is None else [continue_submission(submission.path)]
    else:
        found = list(continue_submissions(places))
    handles = [handle for handle in found if handle is not None]
    return [
        {"run_id": one.run_id, "outcome": "follows a job of Slurm again", "alerts": []}
        for one in handles
    ]


def _is_marked(record: Record) -> bool:
    """True if its alert is not sent, or a process that completed the record died before that."""
    place = find_state_dir(record.path)
    return any(record.path in marks.list_records(place) for marks in _OPEN_MARKS)


def _format_outcome(outcome: RecoveryOutcome, record: Record) -> str:
    if outcome is RecoveryOutcome.ELSEWHERE:
        return f"{outcome}: on {format_place(record)}"
    if outcome is RecoveryOutcome.SUPERVISED and record.is_verdict_pending:
        return f"{outcome}: {describe_missing_verdict(is_pending=True)}"
    return str(outcome)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
