"""Phrases of an alert: the variable ``phrases`` of the templates."""

from __future__ import annotations

from collections import Counter

from gpualert_common.report.alerted_job import AlertedJob
from gpualert_common.report.formatting import MOST_SUBJECT, duration, one_line
from gpualert_common.report.run_view import RunView
from gpualert_common.report.wording import describe_attribution, describe_retry
from gpualert_common.structs import Struct

_IMPLIED_BY_DISPOSITION = {
    "cancelled": "cancelled",
    "preempted": "preempted",
    "timeout": "time_limit",
}
"""Causes that add nothing to the disposition."""
_PREFIX = "[gpualert] "
_LEAST_JOB = 12
_MOST_CAUSE = 32
_MOST_OUTCOME = 48
_MOST_PLACE = 40


class AlertPhrases(Struct, frozen=True):
    """The figures and closed words of an alert, ready to be put into a sentence.

    ``outcome`` completes "the job ..."; ``attribution`` answers "whose fault", ``retry`` completes
    "a retry ...", both empty when not known; ``fates`` counts the fates of the files; ``tone`` is
    good, bad or odd; ``well`` is True if no failure was found.
    """

    subject: str
    outcome: str
    attribution: str
    retry: str
    fates: str
    tone: str
    well: bool


def phrase_alert(view: RunView) -> AlertPhrases:
    """Return the phrases of the alert about a run."""
    return AlertPhrases(
        subject=write_subject(view),
        outcome=view.outcome,
        attribution=describe_attribution(view.attribution),
        retry=describe_retry(view.retry),
        fates=_count_fates(view),
        tone=view.tone,
        well=view.is_healthy,
    )


def write_subject(view: RunView) -> str:
    """Return the subject; the job's name gets the room that the outcome leaves."""
    cause = one_line(view.cause, _MOST_CAUSE)
    rest = f" {one_line(view.outcome, _MOST_OUTCOME)}"
    if cause not in ("none", "unknown", _IMPLIED_BY_DISPOSITION.get(view.disposition)):
        rest += f"{', but its log shows' if view.disposition == 'completed' else ':'} {cause}"
    if view.alerted_job is not None:
        rest = _write_place(rest, view.alerted_job)
    if view.duration_s is not None and view.disposition != "not_started":
        rest += f" after {duration(view.duration_s)}"
    if view.attempt > 1:
        rest += f", attempt {view.attempt}"
    if not view.final:
        rest += " (will be retried)"
    room = MOST_SUBJECT - len(_PREFIX) - len(rest)
    return one_line(_PREFIX + one_line(view.job, max(_LEAST_JOB, room)) + rest, MOST_SUBJECT)


def _write_place(rest: str, job: AlertedJob) -> str:
    """Return the outcome of a job with the node at fault; of an addition, as a correction."""
    place = one_line(job.place, _MOST_PLACE)
    if job.is_addition:
        rest += " (corrected)"
    return f"{rest} on {place}" if place else rest


def _count_fates(view: RunView) -> str:
    counted = Counter(str(artifact.fate) for artifact in view.artifacts)
    fates = [f"{count} {fate}" for fate, count in counted.items()]
    if view.beyond_cap:
        fates.append(f"{view.beyond_cap} more not listed")
    return ", ".join(fates)
