"""The ``retry_by_cause`` of a task as the rules of the core."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from gpualert_common.errors import UsageError
from gpualert_common.retries import RetryRules

if TYPE_CHECKING:
    from gpualert_common.retries import RetryChoice


def make_rules(wanted: bool | Mapping[str, RetryChoice | timedelta]) -> RetryRules | None:
    """Return the rules for a ``retry_by_cause``; None for False.  Raises UsageError."""
    if wanted is False:
        return None
    if wanted is not True and not isinstance(wanted, Mapping):
        raise UsageError(f"retry_by_cause: {wanted!r} is neither True, False nor a mapping")
    return RetryRules.of({} if wanted is True else in_seconds(wanted))


def in_seconds(choices: Mapping[str, RetryChoice | timedelta]) -> dict[str, RetryChoice]:
    """Return *choices* with each timedelta as a number of seconds."""
    return {
        cause: choice.total_seconds() if isinstance(choice, timedelta) else choice
        for cause, choice in choices.items()
    }
