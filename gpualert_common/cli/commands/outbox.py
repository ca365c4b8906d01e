"""List alerts, and send them again or drop them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import RUN_HELP, add_json, add_options, add_state_dir
from gpualert_common.cli.records import find_record, open_records
from gpualert_common.codec import encode_part
from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.alert_facts import read_lenient
from gpualert_common.notify.channel_config import resolve_alerts
from gpualert_common.notify.entry import UNSENT, EntryFields, EntryState
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.reconciliation import preview, reconcile
from gpualert_common.notify.schedule import DUE
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.notify.status_text import format_status
from gpualert_common.record import OUTCOME, Record
from gpualert_common.report.run_view import read_attempt_number
from gpualert_common.report.task_view import view_task
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA

_RETRY_S = 90.0
"""Limit for a user at a terminal: an attempt ends after a minute."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions ``list``, ``retry`` and ``drop``."""
    actions = parser.add_subparsers(dest="outbox_action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list alerts that are not delivered")
    listing.add_argument(
        "--all", action="store_true", help="also list delivered and dropped alerts"
    )
    retry = actions.add_parser(
        "retry",
        help="send alerts that are not delivered",
        description="Send the alerts that are not delivered: of one run, also those held back for "
        "another attempt at its task; without RUN, of all runs. Exit status 1 when an alert is "
        "still not delivered.",
    )
    retry.add_argument(
        "run", nargs="?", default=None, metavar="RUN", help=f"{RUN_HELP}; default: all"
    )
    add_options(retry, "notify")
    drop = actions.add_parser("drop", help="never send the alerts of a run")
    drop.add_argument("run", metavar="RUN", help=RUN_HELP)
    for action in (listing, retry, drop):
        add_json(action)
        add_state_dir(action)


def execute(options: argparse.Namespace) -> int:
    """List, retry or drop; 1 if an alert that should be sent is not delivered."""
    actions = {"list": _list, "retry": _retry, "drop": _drop}
    return actions[options.outbox_action](options)


def _list(options: argparse.Namespace) -> int:
    """Print every alert that is not sent, also a due alert that could not be written to a disk."""
    rows = []
    for record in _records(options):
        try:
            found = [*preview(record)[1], *Outbox(record).warnings()]
            rows += [_row(record, entry.fields) for entry in found]
        except GPUAlertError as error:
            printing.print_notes(f"gpualert: {error}")
    shown = [row for row in rows if options.all or row["state"] in UNSENT]
    _print(options, shown)
    if not shown:
        what = "no alerts yet" if not rows else "nothing left to deliver; to list all alerts: --all"
        printing.print_notes(what)
    return 0


def _retry(options: argparse.Namespace) -> int:
    """Send the alerts that are not sent; of one run also those that its engine holds back."""
    one = options.run is not None
    if options.notify and not one:
        raise UsageError("--notify sends the alert of one run elsewhere: name the run")
    extra, secrets = _channels(options.notify)
    rows = []
    for record in _records(options):
        try:
            decision, entries = preview(record, extra, send_now=one)
        except GPUAlertError as error:
            printing.print_notes(f"gpualert: {error}")
            continue
        is_unsent = bool(extra) or any(entry.state in UNSENT for entry in entries)
        if decision.action not in DUE or not is_unsent:
            continue
        sent = dispatch(
            record.path,
            secrets=secrets,
            extra_channels=extra,
            send_now=one,
            retry_failed=True,
            deadline_s=_RETRY_S,
            retry_for_s=0.0,
        )
        rows += [
            _row(record, fields) for fields in sent if one or fields["state"] != EntryState.HELD
        ]
    _print(options, rows)
    if not rows:
        printing.print_notes("nothing to deliver")
    return int(any(row["state"] in (EntryState.PENDING, EntryState.FAILED) for row in rows))


def _drop(options: argparse.Namespace) -> int:
    """Drop the alerts of a run: they are never sent."""
    record = find_record(options.run, options)
    dropped = []
    entries = reconcile(record)[1]
    for entry in entries:
        if entry.is_locked:
            raise UsageError(f"{entry.channel} is being sent now; try again")
        if entry.change(UNSENT, state=EntryState.DROPPED):
            dropped.append(_row(record, entry.fields))
        elif entry.state in UNSENT:
            raise UsageError(f"{record.path}: the disk rejects the change; nothing is dropped")
    Outbox(record).mark(entries)
    _print(options, dropped)
    if not dropped:
        printing.print_notes("nothing to drop")
    return 0 if dropped else 1


def _channels(notify: list[str] | None) -> tuple[list[ChannelConfig], dict[str, dict[str, str]]]:
    """Return the channels given for this call, and the secrets among their settings."""
    if not notify:
        return [], {}
    settings = load_settings({"notify": notify})
    settings["notify_on"].value = "always"
    alerts, secrets = resolve_alerts(settings)
    return ([] if alerts is None else alerts["channels"]), secrets


def _records(options: argparse.Namespace) -> Iterator[Record]:
    if getattr(options, "run", None) is not None:
        yield find_record(options.run, options)
    else:
        yield from open_records(options)


def _row(record: Record, fields: EntryFields) -> dict[str, Any]:
    kept = {key: value for key, value in fields.items() if key != "schema"}
    status = {"channel": fields["channel"]["name"], "status": format_status(fields)}
    spec, outcome = record.spec, read_lenient(record, OUTCOME)
    task = view_task(spec.owner, outcome, TextSanitizer(NoMasks()))
    attempt = read_attempt_number(outcome, spec.owner)
    facts = {"run_id": record.run_id, "name": spec.name, "task": task, "attempt": attempt}
    return {**facts, **kept, **status}


def _list_task_lines(row: dict[str, Any]) -> list[str]:
    """Return the lines that name the task of an engine; none for another run."""
    task = row["task"]
    if task is None:
        return []
    named = [f"{label} {value}" for label, value in task.facts if value != task.url]
    lines = [", ".join([task.name, *named, f"attempt {row['attempt']}"]), task.url]
    return [f"    {line}" for line in lines if line]


def _print(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    if options.json:
        printing.print_json(encode_part({"schema": SCHEMA, "alerts": rows}))
    for row in () if options.json else rows:
        printing.print_lines(f"{row['run_id']}  {row['status']}", *_list_task_lines(row))
