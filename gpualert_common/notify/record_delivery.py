"""Delivery of all alerts of a record: queue those that are due, and send the queued ones."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpualert_common.errors import GPUAlertError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.delivery import ATTEMPT_S, deliver_entry
from gpualert_common.notify.entry import UNSENT, EntryState, OutboxEntry
from gpualert_common.notify.reconciliation import queue_warnings, reconcile
from gpualert_common.record import ALERTS_LOCK, Record
from gpualert_common.record.marks import UNDELIVERED, find_state_dir

Secrets = Mapping[str, Mapping[str, str]]
"""Secrets that the user passed directly, by channel and setting."""

MARGIN_S = 2 * ATTEMPT_S
"""After ``retry_for_s`` a process may still be in an attempt; later the kernel ends it."""
_POLL_S = 0.05


def deliver(
    record: Record,
    *,
    secrets: Secrets | None = None,
    extra_channels: Sequence[ChannelConfig] = (),
    send_now: bool = False,
    retry_failed: bool = False,
    verdict_within_s: float = 0.0,
    retry_for_s: float,
    on_progress: Callable[[list[OutboxEntry]], None] = lambda _entries: None,
) -> list[OutboxEntry]:
    """Queue and send the alerts of a run that has ended; return every entry with its new state.

    A delivered alert is not sent again.  ``extra_channels`` get the alert in addition to the
    record's own channels; ``send_now`` sends what would be held for another attempt;
    ``retry_failed`` also sends what had failed for good, by the extra channels where there are
    some.  An alert waits ``verdict_within_s`` for a late verdict, and is then sent without one.
    Transient faults are retried for ``retry_for_s``; what is open then stays queued.
    ``on_progress`` is called with the entries again and again.  One process per channel is forked
    and waited for: call it where no other thread runs.  Raises RecordError when the record cannot
    be read.
    """
    secrets = secrets or {}
    _decision, entries = reconcile(record, extra_channels, send_now=send_now, secrets=secrets)
    if record.is_verdict_pending:
        on_progress(entries)
        _await_verdict(record, verdict_within_s)
        _decision, entries = reconcile(record, extra_channels, send_now=send_now, secrets=secrets)
    if retry_failed:
        names = {channel["name"] for channel in extra_channels}
        for entry in entries:
            if not names or entry.channel in names:
                entry.change(UNSENT, state=EntryState.PENDING, due=0.0, queued_at=time.time())
    has_guardian = record.is_locked(
        ALERTS_LOCK
    )  # which has the secrets that the user passed directly
    pending = [
        entry
        for entry in entries
        if entry.state is EntryState.PENDING
        and (entry.can_be_sent_with(secrets) or not has_guardian)
    ]
    for _wait in _send_all(record, pending, secrets, retry_for_s):
        for entry in entries:
            entry.reload()
        on_progress(entries)
    return reconcile(record)[1]


def _await_verdict(record: Record, within_s: float) -> None:
    """Wait while another process makes the verdict, for at most so long."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and record.is_verdict_pending:
        time.sleep(_POLL_S)


def deliver_warnings(record: Record, *, secrets: Secrets, retry_for_s: float) -> None:
    """Queue and send the warnings about a live run, each kind once.

    Arguments as for :func:`deliver`.
    """
    entries = queue_warnings(record)
    pending = [entry for entry in entries if entry.state is EntryState.PENDING]
    for _wait in _send_all(record, pending, secrets, retry_for_s):
        pass


def _send_all(
    record: Record, entries: Iterable[OutboxEntry], secrets: Secrets, retry_for_s: float
) -> Iterator[None]:
    """Send them all at the same time; yields again and again until that is done."""
    senders = {
        _fork_sender(record, entry, secrets.get(entry.channel, {}), retry_for_s)
        for entry in entries
    }
    yield
    while senders:
        senders = {pid for pid in senders if os.waitpid(pid, os.WNOHANG)[0] == 0}
        time.sleep(_POLL_S if senders else 0.0)
        yield


def deliver_open_alerts(record_path: str, *, retry_for_s: float) -> None:
    """Send the open alerts of the other records in the state directory that are due."""
    for path in UNDELIVERED.list_records(find_state_dir(record_path)):
        if path == record_path:
            continue
        if not os.path.lexists(path):
            _remove_mark(path)
            continue
        try:
            _deliver_due(path, retry_for_s)
        except (GPUAlertError, OSError, ValueError, TypeError, KeyError):
            continue  # a damaged record must not block the alerts of the others


def _deliver_due(path: str, retry_for_s: float) -> None:
    record = Record.open(path)
    try:
        if record.is_verdict_pending:
            return  # its own sender waits for the verdict, and the process that makes it sends, too
        _decision, entries = reconcile(record)
        if any(entry.state is EntryState.PENDING and entry.due <= time.time() for entry in entries):
            deliver(record, retry_for_s=retry_for_s)
    finally:
        record.close()


def _fork_sender(
    record: Record, entry: OutboxEntry, given: Mapping[str, str], retry_for_s: float
) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.setitimer(signal.ITIMER_REAL, retry_for_s + MARGIN_S)
            if entry.lock(retry_for_s) and entry.state is EntryState.PENDING:
                deliver_entry(record, entry, given, retry_for_s=retry_for_s)
        finally:
            os._exit(0)
    return pid


def _remove_mark(path: str) -> None:
    """Remove the marker of a record that was removed."""
    try:
        UNDELIVERED.remove(path)
    except OSError:
        pass
