"""Cascades: stops and limits that follow from a failure which the log reports, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpualert_common.causes import (
    ANNOUNCED_CAUSES,
    COMMUNICATION_CAUSES,
    GENERIC_CAUSES,
    SIGNAL_CAUSES,
)
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.structs import Struct

_ABORT = re.compile(r"(?i)\babort|sigabrt|exit ?code\s*: -6\b|signal:? 6\b")
_ABANDONED = COMMUNICATION_CAUSES | {"killed_unknown", "segfault"}


class Cascade(Struct, frozen=True):
    """A cause that is a consequence when another failure in the same log explains it.

    ``follows`` says which other candidates explain it: those before it, and anywhere in the log
    those of the cause ``reported_late``.  With ``announced`` only lines count that fit it.
    """

    cause: str
    follows: Callable[[Candidate], bool]
    announced: re.Pattern[str] | None = None
    reported_late: str | None = None

    def explains(self, one: Candidate, other: Candidate) -> bool:
        """Return whether *other* explains *one*."""
        if self.announced is not None and not self.announced.search(one.excerpt):
            return False
        is_in_time = other.place < one.place or other.cause == self.reported_late
        is_failure = other.tier < Tier.STATUS or other.cause in GENERIC_CAUSES
        in_same_log = other.file == one.file and is_failure
        return in_same_log and is_in_time and self.follows(other)


CASCADES: tuple[Cascade, ...] = (
    # A C++ exception that nobody catches ends in an abort.
    Cascade("segfault", lambda other: other.cause not in SIGNAL_CAUSES, announced=_ABORT),
    # A job that hangs, or that the scheduler has warned, is killed in the end.
    Cascade(
        "killed_unknown",
        lambda other: other.tier is Tier.COMMUNICATION or other.cause in ANNOUNCED_CAUSES,
    ),
    # A launcher stops the other ranks after one has failed.
    Cascade(
        "cancelled",
        lambda other: other.traceback is not None or other.cause in _ABANDONED | {"runtime_error"},
    ),
    # A job that hangs reaches its time limit; the kernel's log, with the hang, is printed last.
    Cascade(
        "time_limit",
        lambda other: other.tier is Tier.COMMUNICATION,
        reported_late="idle_hang",
    ),
)
"""A row for each cause that may be a consequence."""


def is_cascade(one: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Return whether *one* is a stop or a limit that follows from another of *candidates*.

    Exceptions that a program raised itself and confirmed causes never are.
    """
    is_own_exception = one.traceback is not None and not one.is_report
    if is_own_exception or one.tier is Tier.CONFIRMED:
        return False
    return any(
        row.cause == one.cause and row.explains(one, other)
        for row in CASCADES
        for other in candidates
    )
