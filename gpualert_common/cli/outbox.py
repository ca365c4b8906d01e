"""``gpualert outbox``: what became of every alert, and sending it again or not at all."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gpualert_common import config, store
from gpualert_common.cli.records import state_dir
from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.notify.decide import SEND
from gpualert_common.notify.dispatch import dispatch
from gpualert_common.notify.outbox import (
    DROPPED,
    FAILED,
    HELD,
    PENDING,
    Entry,
    Outbox,
    bring_up_to_date,
    step_of,
)
from gpualert_common.notify.targets import alerts_of
from gpualert_common.notify.words import told
from gpualert_common.record import Record
from gpualert_common.spec import SCHEMA

_RETRY_S = 60.0
"""For somebody who waits at a terminal."""
_UNSETTLED = (PENDING, HELD, FAILED)


def outbox(options: argparse.Namespace) -> int:
    """List, retry or drop; 1 when something that should have been sent is not."""
    return int(
        {"list": _list, "retry": _retry, "drop": _drop}[options.outbox_action](options),
    )


def words(entries: Sequence[Entry]) -> str:
    """What the program says of the alerts of a run that has just ended, a line each."""
    return "".join(f"gpualert: alert {told(entry.fields)}\n" for entry in entries)


def _list(options: argparse.Namespace) -> int:
    rows = []
    for record in _records(options):
        try:
            rows += [_row(record, entry) for entry in _entries(record)]
        except GPUAlertError as error:
            print(f"gpualert: {error}", file=sys.stderr)
    shown = [row for row in rows if options.all or row["state"] in _UNSETTLED]
    if options.json:
        print(json.dumps({"schema": SCHEMA, "alerts": shown}))
        return 0
    for row in shown:
        print(f"{row['run_id']}  {row['channel']:16} {row['told']}")
    if not shown:
        what = "no alerts yet" if not rows else "nothing is left to deliver; all of them: --all"
        print(what, file=sys.stderr)
    return 0


def _retry(options: argparse.Namespace) -> int:
    """Send what is not sent; of one run also what its engine still holds."""
    others, secrets = _channels(options)
    if options.notify and options.run is None:
        raise UsageError("--notify sends the alert of one run elsewhere: name the run")
    tried: list[tuple[Record, Entry]] = []
    for record in _records(options):
        try:
            entries = _entries(record)
            one = options.run is not None
            if not others and not any(entry.state in _UNSETTLED for entry in entries):
                continue
            sent = dispatch(
                record,
                secrets=secrets,
                others=others,
                now=one,
                again=True,
                deadline_s=_RETRY_S,
                patience_s=0.0,
            )
            tried += [(record, entry) for entry in sent if one or entry.state != HELD]
        except GPUAlertError as error:
            print(f"gpualert: {error}", file=sys.stderr)
    if options.json:
        rows = [_row(record, entry) for record, entry in tried]
        print(json.dumps({"schema": SCHEMA, "alerts": rows}))
    for record, entry in () if options.json else tried:
        print(f"{record.run_id}  {entry.channel:16} {told(entry.fields)}")
    if not tried:
        print("nothing to deliver", file=sys.stderr)
    return int(any(entry.state in (PENDING, FAILED) for _record, entry in tried))


def _drop(options: argparse.Namespace) -> int:
    """Have the alerts of a run never sent."""
    record = store.find(options.run, state_dir(options))
    _step, entries = bring_up_to_date(record, now=True)
    dropped = []
    for entry in entries:
        if entry.state not in _UNSETTLED:
            continue
        if not entry.lock(0.0):
            raise UsageError(f"{entry.channel} is being sent at this moment; try again")
        if entry.state in _UNSETTLED and not entry.save(state=DROPPED):
            raise UsageError(f"{record.path}: the disk does not take it; nothing is dropped")
        dropped.append(entry)
    Outbox(record).mark()
    if options.json:
        rows = [_row(record, entry) for entry in dropped]
        print(json.dumps({"schema": SCHEMA, "alerts": rows}))
    else:
        for entry in dropped:
            print(f"{record.run_id}  {entry.channel:16} {told(entry.fields)}")
    if not dropped:
        print("nothing to drop", file=sys.stderr)
    return 0 if dropped else 1


def _channels(options: argparse.Namespace) -> tuple[list[dict[str, Any]], Any]:
    """Channels given for this call, and the secrets of every channel of the configuration."""
    given = {"notify": options.notify} if options.notify else {}
    settings = config.load(given)
    secrets = dict(alerts_of(settings)[1])
    if not options.notify:
        for name in settings["channels"].value:
            settings["notify"].value = [name]
            secrets.update(alerts_of(settings)[1])
        return [], secrets
    settings["notify_on"].value = "always"
    told = alerts_of(settings)[0]
    return ([] if told is None else told["channels"]), secrets


def _records(options: argparse.Namespace) -> Iterator[Record]:
    if getattr(options, "run", None) is not None:
        yield store.find(options.run, state_dir(options))
    else:
        yield from store.records(state_dir(options))


def _entries(record: Record) -> list[Entry]:
    """Every alert of a run, also one that is due and that no disk took yet."""
    queued = Outbox(record).entries()
    if not queued and step_of(record).kind == SEND:
        return bring_up_to_date(record)[1]
    return queued


def _row(record: Record, entry: Entry) -> dict[str, Any]:
    fields = {key: value for key, value in entry.fields.items() if key != "schema"}
    return {"run_id": record.run_id, **fields, "channel": entry.channel, "told": told(entry.fields)}
