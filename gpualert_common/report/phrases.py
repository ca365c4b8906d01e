"""The closed words of an alert (dispositions, attributions, fates) as sentences say them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpualert_common.report.words import MOST_SUBJECT, duration, one_line

if TYPE_CHECKING:
    from gpualert_common.report.alert import Alert

_OUTCOMES = {
    "completed": "completed",
    "failed": "failed",
    "killed": "was killed",
    "timeout": "ran out of time",
    "cancelled": "was cancelled",
    "preempted": "was preempted",
    "not_started": "could not be started",
    "running": "is still running",
    "unknown": "ended, how is not known",
}
_ATTRIBUTIONS = {
    "job": "the job itself",
    "infrastructure": "the infrastructure",
    "scheduler": "the scheduler",
    "external": "something outside of the job",
    "none": "nothing",
}
_RETRIES = {
    "same": "may help as it is",
    "elsewhere": "may help on another machine",
    "after_fix": "helps only after a fix",
    "no": "does not help",
}
_TONES = {
    "completed": "good",
    "cancelled": "odd",
    "preempted": "odd",
    "running": "odd",
    "unknown": "odd",
}
_SAID_BY_DISPOSITION = {
    "cancelled": "cancelled",
    "preempted": "preempted",
    "timeout": "time_limit",
}
"""Causes that say no more than the disposition does."""
_FAMILIES = {
    "A1": "failed at its start",
    "A2": "killed for memory or crashed",
    "B1": "out of GPU memory",
    "B2": "GPU hardware",
    "B3": "throttled GPU",
    "C1": "rendezvous",
    "C2": "collective",
    "C3": "hang",
    "D1": "GPU hardly used",
    "D2": "slowed by settings",
    "D3": "straggler",
    "E1": "did not learn",
    "E2": "began anew",
    "E3": "trained too little",
    "F1": "lost node",
    "F2": "preempted or cancelled",
    "F3": "time limit",
    "G1": "healthy",
}
_PREFIX = "[gpualert] "
_LEAST_JOB = 12
_MOST_CAUSE = 32
_MOST_OUTCOME = 48


@dataclass(frozen=True, slots=True)
class Said:
    """What an alert's figures and closed words say, ready to be put into a sentence.

    ``outcome`` completes "the job ..."; ``attribution`` answers "whose fault", ``retry`` completes
    "a retry ...", both empty when not known; ``fates`` counts what became of the files; ``tone`` is
    good, bad or odd; ``well`` that nothing went wrong.
    """

    subject: str
    outcome: str
    attribution: str
    retry: str
    fates: str
    tone: str
    well: bool


def said(alert: Alert) -> Said:
    """The phrases of this alert."""
    well = is_well(alert.disposition, alert.cause, alert.state)
    return Said(
        subject=_subject(alert),
        outcome=outcome(alert.disposition, alert.state),
        attribution=fault(alert.attribution),
        retry=retry(alert.retry),
        fates=_fates(alert),
        tone=tone(alert.disposition, well=well),
        well=well,
    )


def is_well(disposition: str, cause: str, state: str | None) -> bool:
    """True where nothing went wrong, as far as is known."""
    by_itself = disposition == "completed" and cause == "none"
    return by_itself and state in (None, "success")


def outcome(disposition: str, state: str | None) -> str:
    """What completes "the run ..."; ``state`` is what its task became."""
    said = _OUTCOMES.get(disposition, f"ended as {disposition}")
    if disposition == "completed" and state in ("failed", "up_for_retry"):
        return f"{said}, yet its task failed"
    if state == "skipped":
        return f"{said}, and its task was skipped"
    return said


def fault(attribution: str) -> str:
    """What answers "whose fault"; empty when that is not known."""
    return _ATTRIBUTIONS.get(attribution, "")


def retry(advice: str) -> str:
    """What completes "a retry ..."; empty when that is not known."""
    return _RETRIES.get(advice, "")


def tone(disposition: str, *, well: bool) -> str:
    """good, bad or odd."""
    found = _TONES.get(disposition, "bad")
    return "odd" if found == "good" and not well else found


def family(name: str) -> str:
    """A family of failures, in words."""
    return _FAMILIES.get(name, name)


def _subject(alert: Alert) -> str:
    """The job's name gets the room that what became of it leaves."""
    cause = one_line(alert.cause, _MOST_CAUSE)
    rest = f" {one_line(outcome(alert.disposition, alert.state), _MOST_OUTCOME)}"
    if cause not in ("none", "unknown", _SAID_BY_DISPOSITION.get(alert.disposition)):
        rest += f"{', yet its log shows' if alert.disposition == 'completed' else ':'} {cause}"
    if alert.duration_s is not None and alert.disposition != "not_started":
        rest += f" after {duration(alert.duration_s)}"
    if alert.attempt > 1:
        rest += f", attempt {alert.attempt}"
    if not alert.final:
        rest += " (will be retried)"
    room = MOST_SUBJECT - len(_PREFIX) - len(rest)
    return one_line(_PREFIX + one_line(alert.job, max(_LEAST_JOB, room)) + rest, MOST_SUBJECT)


def _fates(alert: Alert) -> str:
    counted = Counter(str(artifact.fate) for artifact in alert.artifacts)
    told = [f"{count} {fate}" for fate, count in counted.items()]
    if alert.beyond_cap:
        told.append(f"{alert.beyond_cap} more not listed")
    return ", ".join(told)
