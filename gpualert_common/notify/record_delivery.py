"""The one path of every alert: queue what is due in the record's outbox, send what is queued."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.channel_config import undelivered
from gpualert_common.notify.delivery import ATTEMPT_S, deliver_entry
from gpualert_common.notify.entry import PENDING, UNSENT, OutboxEntry
from gpualert_common.notify.schedule import WATCH, bring_up_to_date, bring_warnings_up_to_date
from gpualert_common.record import Record

Secrets = Mapping[str, Mapping[str, str]]
"""By channel and setting: what was given in person."""

MARGIN_S = 2 * ATTEMPT_S
"""After its patience a courier may still be in an attempt; then the kernel ends it."""
_POLL_S = 0.05


def deliver(
    record: Record,
    *,
    secrets: Secrets | None = None,
    others: Sequence[Mapping[str, Any]] = (),
    now: bool = False,
    again: bool = False,
    patience_s: float,
    tell: Callable[[list[OutboxEntry]], None] = lambda _entries: None,
) -> list[OutboxEntry]:
    """Queue and send the alerts of a run that has ended; every entry, with what became of it.

    What was sent before is not sent again.  ``others`` are channels beside the record's own;
    ``now`` sends what would be held for another attempt; ``again`` also sends what had failed for
    good, by the ``others`` where there are some.  Transient faults are tried again for
    ``patience_s``; what is open then stays queued.  ``tell`` is called with the entries as they
    stand, again and again.  One process per channel is forked and waited for: call it where no
    other thread runs.  Raises RecordError when the record cannot be read.
    """
    secrets = secrets or {}
    _step, entries = bring_up_to_date(record, others, now=now, secrets=secrets)
    if again:
        names = {channel["name"] for channel in others}
        for entry in entries:
            if not names or entry.channel in names:
                entry.change(UNSENT, state=PENDING, due=0.0, queued_at=time.time())
    guarded = record.is_locked(WATCH)  # then its guardian has what was given in person
    pending = [
        entry
        for entry in entries
        if entry.state == PENDING and (entry.can_be_sent_with(secrets) or not guarded)
    ]
    for _look in _sending(record, pending, secrets, patience_s):
        for entry in entries:
            entry.reload()
        tell(entries)
    return bring_up_to_date(record)[1]


def deliver_warnings(record: Record, *, secrets: Secrets, patience_s: float) -> None:
    """Queue and send what people are to be warned of while a run goes on, each kind once.

    Arguments as for :func:`deliver`.
    """
    entries = bring_warnings_up_to_date(record)
    pending = [entry for entry in entries if entry.state == PENDING]
    for _look in _sending(record, pending, secrets, patience_s):
        pass


def _sending(
    record: Record, entries: Iterable[OutboxEntry], secrets: Secrets, patience_s: float
) -> Iterator[None]:
    """Send them all at once; comes back again and again until that is over."""
    couriers = {
        _fork_courier(record, entry, secrets.get(entry.channel, {}), patience_s)
        for entry in entries
    }
    yield
    while couriers:
        couriers = {pid for pid in couriers if os.waitpid(pid, os.WNOHANG)[0] == 0}
        time.sleep(_POLL_S if couriers else 0.0)
        yield


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
        if not os.path.lexists(path):
            _forget(os.path.join(folder, name))
            continue
        try:
            _deliver_one_overdue(path, patience_s)
        except (GPUAlertError, OSError, ValueError, TypeError, KeyError):
            continue  # of a record that is damaged; the others' alerts are not


def _deliver_one_overdue(path: str, patience_s: float) -> None:
    record = Record.open(path)
    try:
        _step, entries = bring_up_to_date(record)
        if any(entry.state == PENDING and entry.due <= time.time() for entry in entries):
            deliver(record, patience_s=patience_s)
    finally:
        record.close()


def _fork_courier(
    record: Record, entry: OutboxEntry, given: Mapping[str, str], patience_s: float
) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.setitimer(signal.ITIMER_REAL, patience_s + MARGIN_S)
            if entry.lock(patience_s) and entry.state == PENDING:
                deliver_entry(record, entry, given, patience_s=patience_s)
        finally:
            os._exit(0)
    return pid


def _forget(marker: str) -> None:
    """Take back the marker of a record that somebody removed."""
    try:
        os.unlink(marker)
    except OSError:
        pass
