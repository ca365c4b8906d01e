"""Retry advice that follows from a verdict.

The careful default stops retries only if the verdict is sure and the cause is deterministic beyond
doubt.  In all other cases the retries that the author of a task configured are made, so that a task
behaves as before when its operator or its import is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gpualert_common.causes import CAUSES
from gpualert_common.errors import UsageError
from gpualert_common.model import Retry, Verdict
from gpualert_common.settings import parse_duration
from gpualert_common.structs import Struct
from gpualert_common.suggestions import suggest

DETERMINISTIC = frozenset(
    {
        *("missing_module", "dependency", "config", "command_not_found", "compile_error"),
        *("pickling", "checkpoint", "cuda_oom", "resume_from_scratch", "undertrained"),
        *("shape_mismatch", "dtype_mismatch", "device_mismatch"),
    }
)
"""Causes that occur again when the same command runs again."""

SURE = 0.9
"""Least confidence of a verdict that stops retries."""


class Action(StrEnum):
    """Decision about the next attempt; DEFAULT leaves it to the retries of the task."""

    STOP = "stop"
    RETRY = "retry"
    DEFAULT = "default"


class Advice(Struct, frozen=True):
    """Advice about the next attempt.

    ``delay_s`` is set with ``RETRY`` only; None means the delay that the task has.  ``reason`` is
    one human-readable line.
    """

    action: Action
    reason: str
    delay_s: float | None = None


RetryChoice = str | float
"""Choice for one cause: "stop", "retry", "default", or the delay of a retry (seconds or "10m")."""


class RetryRules(Struct, frozen=True):
    """The author's choices for causes; the careful default for all others."""

    choices: Mapping[str, Advice]
    sure: float = SURE

    @classmethod
    def of(
        cls, choices: Mapping[str, RetryChoice] | None = None, *, sure: float = SURE
    ) -> RetryRules:
        """Return the rules with these choices.  Raises UsageError naming the cause or the value."""
        if not 0.0 <= sure <= 1.0:
            raise UsageError(f"sure: {sure!r} is not a confidence between 0 and 1")
        return cls(
            {cause: _parse(cause, choice) for cause, choice in (choices or {}).items()}, sure
        )

    def advise(self, verdict: Verdict | None) -> Advice:
        """Return what *verdict* means for the next attempt; None stands for no verdict."""
        if verdict is None:
            return Advice(Action.DEFAULT, "there is no verdict")
        summary = f"{verdict.cause} (confidence {verdict.confidence:.2f}): {verdict.headline}"
        choice = self.choices.get(verdict.cause)
        if choice is not None:
            return Advice(choice.action, f"{summary}; {choice.reason}", choice.delay_s)
        if verdict.cause not in DETERMINISTIC or verdict.retry in (Retry.SAME, Retry.ELSEWHERE):
            return Advice(Action.DEFAULT, f"{summary}; another attempt may end differently")
        if verdict.confidence < self.sure:
            return Advice(Action.DEFAULT, f"{summary}; not sure enough to stop retries")
        return Advice(Action.STOP, f"{summary}; the same command would meet it again")


def _parse(cause: str, choice: RetryChoice) -> Advice:
    """Return the advice that a choice stands for.  Raises UsageError."""
    if cause not in CAUSES:
        raise UsageError(f"{cause!r} is not a cause of failure{suggest(cause, CAUSES)}")
    if choice in tuple(Action):
        return Advice(Action(choice), f"{choice!r} was asked for")
    try:
        delay_s = parse_duration(choice)
    except ValueError as error:
        problem = f"{cause}: {choice!r} is neither stop, retry, default nor a delay"
        raise UsageError(f"{problem}: {error}") from None
    return Advice(Action.RETRY, f"a retry after {delay_s:g} s was asked for", delay_s)
