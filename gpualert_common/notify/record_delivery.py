"""Delivery of all alerts of a record: queue those that are due, and send the queued ones."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from gpualert_common.errors import GPUAlertError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.alert_processes import Secrets, send_all
from gpualert_common.notify.entry import OPEN, UNSENT, EntryState, OutboxEntry
from gpualert_common.notify.job_delivery import JobDelivery, agree
from gpualert_common.notify.job_part import JobPart, read_part
from gpualert_common.notify.job_warnings import retire_warnings
from gpualert_common.notify.reconciliation import queue_warnings, reconcile
from gpualert_common.notify.schedule import DUE, AlertAction
from gpualert_common.record import ALERTS_LOCK, Record
from gpualert_common.record.marks import UNDELIVERED, find_state_dir

_AGREE_S = 60.0
"""Time that the nodes of a job have at least to agree: more than the lease of a claim."""
_AGREE_LATER_S = 200.0
"""The same for an alert that an earlier run left: nobody waits for it, and the owner of a claim
that is about to be sent has a longer lease."""
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
    agree_within_s: float = _AGREE_S,
    on_progress: Callable[[list[OutboxEntry]], None] = lambda _entries: None,
) -> list[OutboxEntry]:
    """Queue and send the alerts of a run that has ended; return every entry with its new state.

    A delivered alert is not sent again.  ``extra_channels`` get the alert in addition to the
    record's own channels; ``send_now`` sends what would be held for another attempt;
    ``retry_failed`` also sends what had failed for good, by the extra channels where there are
    some.  An alert waits ``verdict_within_s`` for a late verdict, and is then sent without one.
    Transient faults are retried for ``retry_for_s``; what is open then stays queued.  A run with a
    job directory first publishes its last digest, and agrees with the other nodes of its job,
    within half of ``retry_for_s``, or ``agree_within_s`` if that is more; not with ``send_now``.
    ``on_progress`` is called with the entries again and again.  One process per channel is forked
    and waited for: call it where no other thread runs.  Raises RecordError when the record cannot
    be read.
    """
    secrets = secrets or {}
    began = time.monotonic()
    decision, entries = reconcile(record, extra_channels, send_now=send_now, secrets=secrets)
    if record.is_verdict_pending:
        on_progress(entries)
        _await_verdict(record, verdict_within_s)
        decision, entries = reconcile(record, extra_channels, send_now=send_now, secrets=secrets)
    is_wanted = decision.action in DUE and any(entry.state in OPEN for entry in entries)
    agreement = (
        contextlib.nullcontext(JobDelivery(record))
        if send_now or _has_begun(record, entries)  # a person does not wait for other nodes
        else agree(record, list_values(secrets), is_wanted=is_wanted)
    )
    with agreement as job:
        told: JobPart | None = None
        for _wait in job.reach(max(retry_for_s / 2, agree_within_s)):
            if job.part != told:  # why it is held
                told = job.part
                _, entries = reconcile(record, extra_channels, secrets=secrets, job=told)
            on_progress(_reload(entries))
        decision, entries = reconcile(
            record, extra_channels, send_now=send_now, secrets=secrets, job=job.part
        )
        if retry_failed:
            _queue_again(entries, {channel["name"] for channel in extra_channels})
        if decision.action is not AlertAction.AGREE:
            pending = _list_sendable(record, entries, secrets)
            left_s = max(0.0, retry_for_s - (time.monotonic() - began))
            sending = send_all(record, pending, secrets, left_s, job.descriptors)
            for _wait in sending:
                on_progress(_reload(entries))
                if job.is_lost():
                    sending.close()
                else:
                    job.note(entry.state for entry in entries)
            job.note(entry.state for entry in _reload(entries))
        return reconcile(record, send_now=send_now, job=job.part)[1]


def _has_begun(record: Record, entries: Iterable[OutboxEntry]) -> bool:
    """True if this run has sent the alert about its job by one channel: the others follow."""
    part = read_part(record)
    is_sender = part is not None and part.is_sender
    return is_sender and any(entry.state is EntryState.SENT for entry in entries)


def list_values(secrets: Secrets) -> tuple[str, ...]:
    """Return the secrets alone."""
    return tuple(value for values in secrets.values() for value in values.values())


def _reload(entries: list[OutboxEntry]) -> list[OutboxEntry]:
    for entry in entries:
        entry.reload()
    return entries


def _queue_again(entries: Iterable[OutboxEntry], channels: Collection[str]) -> None:
    """Queue alerts that failed for good once more: those of these channels, without any all."""
    for entry in entries:
        if not channels or entry.channel in channels:
            entry.change(UNSENT, state=EntryState.PENDING, due=0.0, queued_at=time.time())


def _list_sendable(
    record: Record, entries: Iterable[OutboxEntry], secrets: Secrets
) -> list[OutboxEntry]:
    """Return the pending alerts that this process has the secrets of."""
    has_guardian = record.is_locked(ALERTS_LOCK)  # it has those that the user passed directly
    return [
        entry
        for entry in entries
        if entry.state is EntryState.PENDING
        and (entry.can_be_sent_with(secrets) or not has_guardian)
    ]


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
    retire_warnings(record, entries)
    pending = [entry for entry in entries if entry.state is EntryState.PENDING]
    for _wait in send_all(record, pending, secrets, retry_for_s):
        pass


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
        decision, entries = reconcile(record)
        states = OPEN if decision.action in DUE else (EntryState.PENDING,)
        if any(entry.state in states and entry.due <= time.time() for entry in entries):
            deliver(record, retry_for_s=retry_for_s, agree_within_s=_AGREE_LATER_S)
    finally:
        record.close()


def _remove_mark(path: str) -> None:
    """Remove the marker of a record that was removed."""
    try:
        UNDELIVERED.remove(path)
    except OSError:
        pass
