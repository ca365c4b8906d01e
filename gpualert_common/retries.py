"""Retry advice that follows from a verdict.

The careful default stops retries only where the verdict is sure and the cause is deterministic
beyond doubt; everywhere else what the author of a task asked for stands, so that swapping a class
or an import takes nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.causes import CAUSES
from gpualert_common.errors import UsageError
from gpualert_common.settings import parse_duration

if TYPE_CHECKING:
    from gpualert_common.model import Verdict

DETERMINISTIC = frozenset(
    {
        *("missing_module", "dependency", "config", "command_not_found", "compile_error"),
        *("pickling", "checkpoint", "cuda_oom", "resume_from_scratch", "undertrained"),
        *("shape_mismatch", "dtype_mismatch", "device_mismatch"),
    }
)
"""Causes that the same command meets again."""

SURE = 0.9
"""Confidence from which on a verdict may take a retry away."""


class Action(StrEnum):
    """What to do about the next attempt."""

    STOP = "stop"
    RETRY = "retry"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Advice:
    """What a verdict says about the next attempt.

    ``delay_s`` is given with ``RETRY`` only, None where the task's own delay shall stand.
    ``reason`` is one line for people.
    """

    action: Action
    reason: str
    delay_s: float | None = None


Wish = str | float
"""For one cause: "stop", "retry", "default", or the delay of a retry (seconds, or "10m")."""


@dataclass(frozen=True, slots=True)
class RetryRules:
    """What the author wants per cause; the careful default for all others."""

    wishes: Mapping[str, Advice]
    sure: float = SURE

    @classmethod
    def of(cls, wishes: Mapping[str, Wish] | None = None, *, sure: float = SURE) -> RetryRules:
        """The rules that *wishes* name.  Raises UsageError naming the cause or the value."""
        if not 0.0 <= sure <= 1.0:
            raise UsageError(f"sure: {sure!r} is no confidence between 0 and 1")
        return cls({cause: _wished(cause, wish) for cause, wish in (wishes or {}).items()}, sure)

    def advise(self, verdict: Verdict | None) -> Advice:
        """What *verdict* says about the next attempt; None is no verdict at all."""
        if verdict is None:
            return Advice(Action.DEFAULT, "there is no verdict")
        said = f"{verdict.cause} (confidence {verdict.confidence:.2f}): {verdict.headline}"
        wish = self.wishes.get(verdict.cause)
        if wish is not None:
            return Advice(wish.action, f"{said}; {wish.reason}", wish.delay_s)
        if verdict.cause not in DETERMINISTIC:
            return Advice(Action.DEFAULT, f"{said}; another attempt may end differently")
        if verdict.cause == "cuda_oom" and verdict.details.get("kind") == "co_tenant":
            return Advice(Action.DEFAULT, f"{said}; others on the card may have gone by then")
        if verdict.confidence < self.sure:
            return Advice(Action.DEFAULT, f"{said}; not sure enough to stop retries")
        return Advice(Action.STOP, f"{said}; the same command would meet it again")


def _wished(cause: str, wish: Wish) -> Advice:
    if cause not in CAUSES:
        close = get_close_matches(cause, CAUSES, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"{cause!r} is no cause of failure{hint}")
    if wish in tuple(Action):
        return Advice(Action(wish), f"{wish!r} was asked for")
    try:
        delay_s = parse_duration(wish)
    except ValueError as error:
        problem = f"{cause}: {wish!r} is neither stop, retry, default nor a delay"
        raise UsageError(f"{problem}: {error}") from None
    return Advice(Action.RETRY, f"a retry after {delay_s:g} s was asked for", delay_s)
