"""The closed words of an alert (dispositions, attributions, fates) as sentences say them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpualert_common.report.alert import Alert
from gpualert_common.report.words import MOST_SUBJECT, duration, one_line

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
    well = _is_well(alert)
    tone = _TONES.get(alert.disposition, "bad")
    return Said(
        subject=_subject(alert),
        outcome=_outcome(alert),
        attribution=_ATTRIBUTIONS.get(alert.attribution, ""),
        retry=_RETRIES.get(alert.retry, ""),
        fates=_fates(alert),
        tone="odd" if tone == "good" and not well else tone,
        well=well,
    )


def _is_well(alert: Alert) -> bool:
    by_itself = alert.disposition == "completed" and alert.cause == "none"
    return by_itself and alert.state in (None, "success")


def _outcome(alert: Alert) -> str:
    outcome = _OUTCOMES.get(alert.disposition, f"ended as {alert.disposition}")
    if alert.disposition == "completed" and alert.state in ("failed", "up_for_retry"):
        return f"{outcome}, yet its task failed"
    if alert.state == "skipped":
        return f"{outcome}, and its task was skipped"
    return outcome


def _subject(alert: Alert) -> str:
    """The job's name gets the room that what became of it leaves."""
    cause = one_line(alert.cause, _MOST_CAUSE)
    rest = f" {one_line(_outcome(alert), _MOST_OUTCOME)}"
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
