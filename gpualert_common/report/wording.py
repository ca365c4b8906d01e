"""Wording of the enumerated values of a verdict: dispositions, attributions, retries, families."""

from __future__ import annotations

from gpualert_common.model import RunPlace

_OUTCOMES = {
    "completed": "completed",
    "failed": "failed",
    "killed": "was killed",
    "timeout": "ran out of time",
    "cancelled": "was cancelled",
    "preempted": "was preempted",
    "not_started": "could not be started",
    "running": "is still running",
    "unknown": "ended with an unknown result",
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
    "E1": "learned nothing",
    "E2": "did not resume",
    "E3": "trained too little",
    "F1": "lost node",
    "F2": "preempted or cancelled",
    "F3": "time limit",
    "G1": "healthy",
}


def describe_missing_verdict(*, is_pending: bool) -> str:
    """Return the words for a run without a verdict; ``is_pending``: a process is making one."""
    return "the verdict is still being made" if is_pending else "no verdict could be made"


def describe_outcome(disposition: str, state: str | None) -> str:
    """Return the words that complete "the run ..."; ``state`` is that of its task."""
    outcome = _OUTCOMES.get(disposition, f"ended as {disposition}")
    if disposition == "completed" and state in ("failed", "up_for_retry"):
        return f"{outcome}, but its task failed"
    if state == "skipped":
        return f"{outcome}, and its task was skipped"
    return outcome


def describe_attribution(attribution: str) -> str:
    """Return the answer to "whose fault"; empty when that is not known."""
    return _ATTRIBUTIONS.get(attribution, "")


def describe_retry(retry: str) -> str:
    """Return the words that complete "a retry ..."; empty when that is not known."""
    return _RETRIES.get(retry, "")


def describe_family(family: str) -> str:
    """Return a family of failures in words."""
    return _FAMILIES.get(family, family)


def describe_place(place: RunPlace, host: object) -> str:
    """Return the words that complete "it runs on ..."; ``host`` is that of the launch record."""
    match place:
        case RunPlace.HERE:
            return "this host"
        case RunPlace.OTHER_HOST:
            return f"host {host}"
        case RunPlace.OTHER_BOOT:
            return f"another host called {host}, or an earlier boot of this one"
        case RunPlace.OTHER_CONTAINER:
            return "another container of this host"


def choose_tone(disposition: str, *, is_healthy: bool) -> str:
    """Return good, bad or odd."""
    tone = _TONES.get(disposition, "bad")
    return "odd" if tone == "good" and not is_healthy else tone
