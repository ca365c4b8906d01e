"""Suspect runs: they exited with 0 although their log reports a failure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.causes import NO_CAUSES, SLOW_CAUSES
from gpualert_common.errors import UsageError
from gpualert_common.model import Disposition, Verdict
from gpualert_common.suggestions import suggest

if TYPE_CHECKING:
    from gpualert_common.redact import Redactor


class OnSuspect(StrEnum):
    """Reaction of an engine's task to a suspect run; the alert is sent in any case."""

    WARN = "warn"
    """Succeed, with the verdict as a warning in the log of the task."""
    FAIL = "fail"
    """Fail, as after a bad exit status."""
    SKIP = "skip"
    """Skip the task, in the engine's own way."""


def is_suspect(verdict: Verdict | None) -> bool:
    """True for a verdict that names a cause although the run exited with 0 by itself."""
    if verdict is None or verdict.cause in NO_CAUSES:
        return False
    return verdict.disposition is Disposition.COMPLETED


def choose_reaction(verdict: Verdict | None, choice: OnSuspect) -> OnSuspect | None:
    """Return the reaction to a run that exited with 0; None if it is not suspect.

    A training that was only slow has a good result, so it never fails or skips its task.
    """
    if verdict is None or not is_suspect(verdict):
        return None
    return OnSuspect.WARN if verdict.cause in SLOW_CAUSES else choice


def explain_suspicion(verdict: Verdict | None, redactor: Redactor) -> str | None:
    """Return in one masked line why a run is suspect; None if it is not."""
    if verdict is None or not is_suspect(verdict):
        return None
    return f"{verdict.cause}: {' '.join(redactor.mask_text(verdict.headline).split())}"


def parse_on_suspect(value: str) -> OnSuspect:
    """Return the choice that *value* names.  Raises UsageError with the valid ones."""
    try:
        return OnSuspect(value)
    except ValueError:
        valid = [str(one) for one in OnSuspect]
        problem = f"on_suspect: {value!r} is not one of {', '.join(valid)}"
        raise UsageError(problem + suggest(str(value), valid)) from None
