"""What is due by a record, and its outbox brought up to date with that."""

from __future__ import annotations

import time

from gpualert_common.errors import RecordError
from gpualert_common.notify.decide import HOLD, SEND, SKIP, WAIT, Step, decide
from gpualert_common.notify.entry import HELD, PENDING, SUPERSEDED, UNSENT, Entry, is_channel
from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import OUTCOME, SUCCESSOR, VERDICT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

WATCH = ".watch"
"""Locked for as long as a guardian sees to the alerts, also once it has become their sender."""


def alerts_in(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a launch record says of alerts, as far as it makes sense; empty: nobody is told."""
    told = spec.get("alerts")
    if not isinstance(told, dict) or not isinstance(told.get("channels"), list):
        return {}
    return {**told, "channels": [one for one in told["channels"] if is_channel(one)]}


def step_of(record: Record) -> Step:
    """What is to be done about the end of this run.

    What is damaged of its verdict and outcome is taken for unknown.  Raises RecordError when not
    even launch record and end can be read.
    """
    spec = record.spec
    wanted = alerts_in(spec).get("on")
    ending = record.ending
    if ending is None:
        kind = SKIP if wanted is None else WAIT
        return Step(kind, "it has not ended", float("inf"))
    verdict = readable(record, VERDICT)
    if verdict is None:  # the classifier failed: the status alone says
        well = ending.exit_code == 0 and ending.signal is None
    else:  # nothing bad may stand in a log, and still nobody knows how the run ended
        well = verdict.get("cause") == "none" and verdict.get("disposition") != "unknown"
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
) -> tuple[Step, list[Entry]]:
    """What is to be done, and every entry, also those that would be queued; nothing is written.

    ``others`` are channels beside the record's own; ``now`` sends whatever the engine may still do.
    Raises RecordError.
    """
    outbox = Outbox(record)
    step = step_of(record)
    own = [] if step.kind == SKIP else alerts_in(record.spec).get("channels", [])
    if now and record.ending is not None:
        step = Step(SEND, "it was asked for")
    channels = [] if step.kind in (SKIP, WAIT) else [*own, *others]
    state = PENDING if step.kind == SEND else HELD
    found = {entry.name: entry for entry in outbox.entries()}
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
) -> tuple[Step, list[Entry]]:
    """Queue what is due, release or retire what was held; what is to be done, and every entry.

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
    return step, entries


def _settle_held(entry: Entry, step: Step) -> None:
    if step.kind == SEND:
        entry.change((HELD,), state=PENDING, due=0.0)
    elif step.kind == SKIP:
        entry.change((HELD,), state=SUPERSEDED, because=step.because)
    elif step.kind == HOLD and entry.due != step.until:
        entry.change((HELD,), due=step.until)


def readable(record: Record, name: str) -> dict[str, Any] | None:
    """What a file of the record says; None where it says nothing, or nobody can read it."""
    try:
        return record.read_json(name)
    except RecordError:
        return None
