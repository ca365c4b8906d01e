"""Facts of a record that decide about its alerts, read as far as the record is readable."""

from __future__ import annotations

from typing import Any

from gpualert_common.errors import RecordError
from gpualert_common.launch_record import AlertSettings, LaunchRecord
from gpualert_common.model import Verdict
from gpualert_common.notify.job_part import JobPart, read_part
from gpualert_common.notify.schedule import AlertFacts
from gpualert_common.quantities import is_seconds
from gpualert_common.record import NO_LONGER_WATCHED, OUTCOME, SUCCESSOR, Event, Record
from gpualert_common.spec import Ending
from gpualert_common.stop_origin import is_own_stop
from gpualert_common.suspicion import is_suspect

WARNING = "warning_raised"
"""Event of the record: a warning about the live run was raised."""


def alerts_in(spec: LaunchRecord) -> AlertSettings:
    """Return the alerts of a launch record; empty for no alerts."""
    alerts = spec.alerts
    return AlertSettings() if alerts is None or "channels" not in alerts else alerts


def read_facts(record: Record, job: JobPart | None = None) -> AlertFacts:
    """Return the facts about a run's alert; ``job`` is its part in its job, if it is known here.

    A damaged verdict or outcome counts as unknown.  Raises RecordError when launch record or end
    cannot be read.
    """
    spec = record.spec
    alerts = alerts_in(spec)
    wanted = alerts.get("on")
    if wanted in ("failure", "failure_or_stop") and list_warnings(record):
        wanted = "always"  # people who got a warning need the outcome of the run
    if not spec.supervised and _is_left(record):
        wanted = None
    ending = record.ending
    verdict = None if ending is None else read_verdict(record)
    outcome = read_lenient(record, OUTCOME)
    was_left = spec.custody is not None and ending is not None and outcome is None
    if verdict is not None:  # without a known status, a log without a failure is not a success
        is_well = verdict.cause == "none" and verdict.disposition != "unknown"
    else:  # the classifier failed: only the status counts
        is_well = ending is not None and ending.exit_code == 0 and ending.signal is None
    return AlertFacts(
        wanted=wanted,
        ended_at=None if ending is None else _read_end(record, ending),
        is_well=is_well,
        is_suspect=is_suspect(verdict),
        is_own_stop=ending is not None and is_own_stop(ending.signal, ending.sender, spec.uid),
        ownership=spec.custody,
        adoptable_until=_find_adoption_end(record) if was_left else None,
        outcome=outcome,
        has_successor=read_lenient(record, SUCCESSOR) is not None,
        job=job or read_part(record),
        channels=alerts.get("channels", []),
    )


def _is_left(record: Record) -> bool:
    """True for a process that goes on, and that a person ceased to watch."""
    try:
        return record.event(NO_LONGER_WATCHED) is not None
    except (OSError, RecordError):
        return False


def _find_adoption_end(record: Record) -> float | None:
    """Return until when the next attempt may adopt a run that its task left; None if unknown."""
    until = None
    try:
        for event in record.events():
            if event.name == "orphaned" and is_seconds(event.fields.get("adopt_within_s")):
                until = event.at + event.fields["adopt_within_s"]
            elif event.name == "adopted":
                until = None
    except (OSError, RecordError):
        return None
    return until


def _read_end(record: Record, ending: Ending) -> float:
    """Return when a run ended: where its supervisor died, when its record was completed."""
    if ending.ended_at is not None:
        return ending.ended_at
    return record.recovered_at or ending.started_at


def list_warnings(record: Record) -> list[Event]:
    """Return the warnings to send during the run, each kind once.

    None if the run does not want them, or they cannot be read.
    """
    if not alerts_in(record.spec).get("warn"):
        return []
    try:
        events = list(record.events())
    except (OSError, RecordError):
        return []
    news = [event for event in events if event.name == WARNING and event.fields.get("news")]
    return list({str(event.fields.get("kind")): event for event in reversed(news)}.values())[::-1]


def has_ended(record: Record) -> bool:
    """True for a run whose end is recorded, or cannot be read."""
    try:
        return record.ending is not None
    except RecordError:
        return True


def read_verdict(record: Record) -> Verdict | None:
    """Return the verdict of a record; None where there is none, or it is unreadable."""
    try:
        return record.verdict
    except RecordError:
        return None


def read_lenient(record: Record, name: str) -> dict[str, Any] | None:
    """Return the object in a file of the record; None where there is none, or it is unreadable."""
    try:
        return record.read_json(name)
    except RecordError:
        return None
