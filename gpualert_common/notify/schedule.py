"""What is due by a record, and its outbox brought up to date with that."""

from __future__ import annotations

import time

from gpualert_common.errors import RecordError
from gpualert_common.notify.decide import HOLD, SEND, SKIP, WAIT, AlertDecision, decide
from gpualert_common.notify.entry import HELD, PENDING, SUPERSEDED, UNSENT, OutboxEntry, is_channel
from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import OUTCOME, SUCCESSOR, Record
from gpualert_common.spec import EARLY, ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gpualert_common.model import Verdict

WARNING = "warning_raised"
"""Event of the record: something began to be wrong while the run went on."""
TOO_LATE = "the run has ended"
WATCH = ".watch"
"""Locked for as long as a guardian sees to the alerts, also once it has become their sender."""


def alerts_in(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a launch record says of alerts, as far as it makes sense; empty: nobody is told."""
    told = spec.get("alerts")
    if not isinstance(told, dict) or not isinstance(told.get("channels"), list):
        return {}
    return {**told, "channels": [one for one in told["channels"] if is_channel(one)]}


def step_of(record: Record) -> AlertDecision:
    """What is to be done about the end of this run.

    What is damaged of its verdict and outcome is taken for unknown.  Raises RecordError when not
    even launch record and end can be read.
    """
    spec = record.spec
    wanted = alerts_in(spec).get("on")
    if wanted == "failure" and warnings_of(record):
        wanted = "always"  # whoever was warned has to hear what became of it
    ending = record.ending
    if ending is None:
        kind = SKIP if wanted is None else WAIT
        return AlertDecision(kind, "it has not ended", float("inf"))
    verdict = readable_verdict(record)
    if verdict is None:  # the classifier failed: the status alone says
        well = ending.exit_code == 0 and ending.signal is None
    else:  # nothing bad may stand in a log, and still nobody knows how the run ended
        well = verdict.cause == "none" and verdict.disposition != "unknown"
    custody = spec.get("custody")
    return decide(
        time.time(),
        wanted=wanted if isinstance(wanted, str) else None,
        ended_at=ending.ended_at or ending.started_at,
        well=well,
        custody=custody if isinstance(custody, dict) else None,
        outcome=readable(record, OUTCOME),
        succeeded=readable(record, SUCCESSOR) is not None,
    )


def look(
    record: Record, others: Sequence[Mapping[str, Any]] = (), *, now: bool = False
) -> tuple[AlertDecision, list[OutboxEntry]]:
    """What is to be done about the end, and every entry for that, also those that would be queued;
    nothing is written.

    ``others`` are channels beside the record's own; ``now`` sends whatever the engine may still do.
    Raises RecordError.
    """
    outbox = Outbox(record)
    step = step_of(record)
    own = [] if step.kind == SKIP else alerts_in(record.spec).get("channels", [])
    if now and record.ending is not None:
        step = AlertDecision(SEND, "it was asked for")
    channels = [] if step.kind in (SKIP, WAIT) else [*own, *others]
    state = PENDING if step.kind == SEND else HELD
    found = {entry.name: entry for entry in outbox.entries() if entry.about == ENDED}
    for channel in channels:
        try:
            entry = outbox.draft(channel, state, step.until)
        except RecordError:
            continue  # a newer release has it, or the disk does not answer
        found.setdefault(entry.name, entry)
    return step, list(found.values())


def bring_up_to_date(
    record: Record,
    others: Sequence[Mapping[str, Any]] = (),
    *,
    now: bool = False,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[AlertDecision, list[OutboxEntry]]:
    """Queue what is due at the end, release or retire what was held; what is to be done, and every
    entry for that.  Warnings that were not sent before the end are retired.

    Arguments as for :func:`look`; what only the guardian has the ``secrets`` for is left to it.
    Raises RecordError.
    """
    step, drafts = look(record, others, now=now)
    outbox = Outbox(record)
    entries = [outbox.add(entry) for entry in drafts]
    changed = {channel["name"]: dict(channel) for channel in others}
    guarded = record.is_locked(WATCH)
    for entry in entries:
        if entry.fields["channel"] != changed.get(entry.channel, entry.fields["channel"]):
            entry.change(UNSENT, channel=changed[entry.channel])
        if entry.state == HELD and (not (now and guarded) or entry.can_be_sent_with(secrets or {})):
            _settle_held(entry, step)
    outbox.mark(entries)
    if step.kind != WAIT:
        for warning in outbox.warnings():
            warning.change((PENDING,), state=SUPERSEDED, because=TOO_LATE)
    return step, entries


def warnings_of(record: Record) -> list[dict[str, Any]]:
    """The events of which people are to be warned while the run goes on, each kind once.

    None where nobody asked for that, or nobody can read them.
    """
    if not alerts_in(record.spec).get("warn"):
        return []
    try:
        events = list(record.events())
    except (OSError, RecordError):
        return []
    news = [event for event in events if event.get("event") == WARNING and event.get("news")]
    return list({str(event.get("kind")): event for event in reversed(news)}.values())[::-1]


def bring_warnings_up_to_date(record: Record) -> list[OutboxEntry]:
    """Queue the warnings of a run that goes on; every entry for one.  Raises RecordError."""
    outbox = Outbox(record)
    warnings = [] if has_ended(record) else warnings_of(record)
    for warning in warnings:
        about = EARLY + "".join(filter(_is_plain, str(warning["kind"])))
        for channel in alerts_in(record.spec).get("channels", []):
            outbox.add(outbox.draft(channel, PENDING, about=about, warning=warning))
    return outbox.warnings()


def has_ended(record: Record) -> bool:
    """True for a run whose end is recorded, or of which that cannot be read."""
    try:
        return record.ending is not None
    except RecordError:
        return True


def _is_plain(char: str) -> bool:
    return char.isalnum() or char == "_"


def _settle_held(entry: OutboxEntry, step: AlertDecision) -> None:
    if step.kind == SEND:
        entry.change((HELD,), state=PENDING, due=0.0)
    elif step.kind == SKIP:
        entry.change((HELD,), state=SUPERSEDED, because=step.because)
    elif step.kind == HOLD and entry.due != step.until:
        entry.change((HELD,), due=step.until)


def readable_verdict(record: Record) -> Verdict | None:
    """Return the verdict of a record; None where there is none, or it cannot be read."""
    try:
        return record.verdict
    except RecordError:
        return None


def readable(record: Record, name: str) -> dict[str, Any] | None:
    """What a file of the record says; None where it says nothing, or nobody can read it."""
    try:
        return record.read_json(name)
    except RecordError:
        return None
