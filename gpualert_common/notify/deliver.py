"""The one path of every alert: queue what is due in the record's outbox, send what is queued."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.courier import deliver_entry
from gpualert_common.notify.outbox import PENDING, WATCH, Entry, bring_up_to_date
from gpualert_common.notify.targets import undelivered
from gpualert_common.record import Record

Secrets = Mapping[str, Mapping[str, str]]
"""By channel and setting: what was given in person."""


def deliver(
    record: Record,
    *,
    secrets: Secrets | None = None,
    others: Sequence[Mapping[str, Any]] = (),
    now: bool = False,
    again: bool = False,
    patience_s: float,
) -> list[Entry]:
    """Queue and send the alerts of a run that has ended; every entry, with what became of it.

    What was sent before is not sent again.  ``others`` are channels beside the record's own;
    ``now`` sends what would be held for another attempt; ``again`` also sends what had failed for
    good.  Transient faults are tried again for ``patience_s``; what is open then stays queued.
    One process per channel is forked and waited for: call it where no other thread runs.
    Raises RecordError when the record cannot be read.
    """
    secrets = secrets or {}
    _step, entries = bring_up_to_date(record, others, now=now, secrets=secrets)
    guarded = record.is_locked(WATCH)  # then its guardian has what was given in person
    if again:
        for entry in entries:
            entry.revive()
    couriers = [
        _fork_courier(record, entry, secrets.get(entry.channel, {}), patience_s)
        for entry in entries
        if entry.state == PENDING and (entry.can_be_sent_with(secrets) or not guarded)
    ]
    for pid in couriers:
        os.waitpid(pid, 0)
    return bring_up_to_date(record)[1]


def deliver_overdue(record_path: str, *, patience_s: float) -> None:
    """Send what other records beside this one have open, as far as its time has come."""
    folder = undelivered(record_path)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(os.path.dirname(record_path), name)
        if path == record_path:
            continue
        try:
            with_record = Record.open(path)
        except GPUAlertError:
            _forget(os.path.join(folder, name), path)
            continue
        try:
            _step, entries = bring_up_to_date(with_record)
            if any(entry.state == PENDING and entry.due <= time.time() for entry in entries):
                deliver(with_record, patience_s=patience_s)
        except GPUAlertError:
            continue
        finally:
            with_record.close()


def _fork_courier(record: Record, entry: Entry, given: Mapping[str, str], patience_s: float) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            if entry.lock(patience_s) and entry.state == PENDING:
                deliver_entry(record, entry, given, patience_s=patience_s)
        finally:
            os._exit(0)
    return pid


def _forget(marker: str, path: str) -> None:
    """Take back the marker of a record that somebody removed."""
    if not os.path.lexists(path):
        try:
            os.unlink(marker)
        except OSError:
            pass
