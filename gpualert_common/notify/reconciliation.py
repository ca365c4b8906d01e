"""The outbox of a record, brought in line with the schedule of its alerts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from gpualert_common.errors import RecordError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.alert_facts import alerts_in, has_ended, list_warnings, read_facts
from gpualert_common.notify.entry import OPEN, UNSENT, EntryState, OutboxEntry
from gpualert_common.notify.job_part import JobPart
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.schedule import (
    DUE,
    AlertAction,
    AlertDecision,
    AlertFacts,
    Schedule,
    schedule,
)
from gpualert_common.record import ALERTS_LOCK, Record
from gpualert_common.spec import EARLY, ENDED

TOO_LATE = "the run has ended"


def preview(
    record: Record,
    extra_channels: Sequence[ChannelConfig] = (),
    *,
    send_now: bool = False,
) -> tuple[AlertDecision, list[OutboxEntry]]:
    """Return the decision about a run's end, and its entries with those that would be queued.

    Writes nothing.  Arguments as for :func:`~.schedule.schedule`.  Raises RecordError.
    """
    facts = read_facts(record)
    plan, entries = _preview(facts, Outbox(record), extra_channels, send_now)
    return plan.decision, entries


def _preview(
    facts: AlertFacts,
    outbox: Outbox,
    extra_channels: Sequence[ChannelConfig],
    send_now: bool,
) -> tuple[Schedule, list[OutboxEntry]]:
    plan = schedule(facts, time.time(), extra_channels, send_now=send_now)
    found = {entry.name: entry for entry in outbox.entries() if entry.about == ENDED}
    for channel in plan.channels:
        try:
            entry = outbox.draft(channel, plan.state, plan.due, because=plan.reason_to_hold)
        except RecordError:
            continue  # a newer release wrote it, or the disk does not answer
        found.setdefault(entry.name, entry)
    return plan, list(found.values())


def reconcile(
    record: Record,
    extra_channels: Sequence[ChannelConfig] = (),
    *,
    send_now: bool = False,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    job: JobPart | None = None,
) -> tuple[AlertDecision, list[OutboxEntry]]:
    """Queue the alerts that are due at a run's end, and release or retire those that were held.

    Returns the decision and every entry about the end.  Warnings that were not sent before the end
    are retired.  Arguments as for :func:`preview`; ``job`` is the part of the run in its job, where
    the record may not have it.  An entry whose secrets only the guardian has,
    and that are not among ``secrets``, is left to the guardian.  Raises RecordError.
    """
    outbox = Outbox(record)
    facts = read_facts(record, job)
    plan, drafts = _preview(facts, outbox, extra_channels, send_now)
    entries = [outbox.add(entry) for entry in drafts]
    replaced = {channel["name"]: channel for channel in extra_channels}
    own = {channel["name"] for channel in facts.channels}
    is_left = facts.job is not None and plan.decision.action is AlertAction.SKIP
    leaves_to_guardian = send_now and record.is_locked(ALERTS_LOCK)
    for entry in entries:
        channel = replaced.get(entry.channel)
        if channel is not None and entry.fields["channel"] != channel:
            entry.change(UNSENT, channel=channel)
        if entry.state is EntryState.HELD and (
            not leaves_to_guardian or entry.can_be_sent_with(secrets or {})
        ):
            change = plan.change_of_held(entry.fields)
            if change:
                entry.change((EntryState.HELD,), **change)
        elif is_left and entry.channel in own:
            superseded = EntryState.SUPERSEDED  # another node took the alert over
            entry.change((EntryState.PENDING,), state=superseded, because=plan.decision.because)
    if plan.decision.action is not AlertAction.WAIT:
        outbox.mark(entries)
        for warning in outbox.warnings():
            warning.change((EntryState.PENDING,), state=EntryState.SUPERSEDED, because=TOO_LATE)
    return plan.decision, entries


def has_unsent_alerts(record: Record) -> bool:
    """Return True if an alert about a run's end is due, on the disk and not sent.

    Raises RecordError.
    """
    decision, entries = reconcile(record)
    is_due = decision.action in DUE
    return is_due and any(entry.stored and entry.state in OPEN for entry in entries)


def queue_warnings(record: Record) -> list[OutboxEntry]:
    """Queue the warnings about a live run; return every entry for one.  Raises RecordError."""
    outbox = Outbox(record)
    warnings = [] if has_ended(record) else list_warnings(record)
    for warning in warnings:
        about = EARLY + "".join(filter(_is_plain, str(warning.fields["kind"])))
        for channel in alerts_in(record.spec).get("channels", []):
            outbox.add(
                outbox.draft(channel, EntryState.PENDING, about=about, warning=warning.to_json())
            )
    return outbox.warnings()


def _is_plain(char: str) -> bool:
    return char.isalnum() or char == "_"
