"""Candidates for the root cause: each failure that a log names, with its place and weight."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gpualert_common.causes import (
    ANNOUNCED_CAUSES,
    COMMUNICATION_CAUSES,
    GENERIC_CAUSES,
    LASTING_STATES,
    SIGNAL_CAUSES,
)
from gpualert_common.classify import log_position
from gpualert_common.classify.chain_root import Basis, find_root, read_chain
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.log_position import PROGRESS_STEPS
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.tracebacks.exception_names import is_aftermath, is_report
from gpualert_common.classify.tracebacks.traceback import Context, Traceback
from gpualert_common.model import Role
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import Struct

_GRACE_STEPS = 50
"""Number of steps that may still be reported between a scheduler's notice and the end of the run
that it announces."""

_STOPPING: Final = compile_bytes(
    rb"(?i)\b(?:drain|stop|exit|terminat|abort|shut|leav|quit|interrupt|reque|checkpoint)\w*|\bsaving\b"
)
"""A program's answer to a signal that ends it; another answer is to rotate its log, for example."""


class Tier(IntEnum):
    """Weight of a candidate; the lowest goes first, and of one tier the earliest."""

    CONFIRMED = 0
    SPECIFIC = 1
    GENERIC = 2
    COMMUNICATION = 3
    STATUS = 4
    CASCADE = 5


class Candidate(Struct, frozen=True):
    """A cause that the log names, its place, and the evidence for it.

    ``is_followed_by_progress``: training made progress after it; ``is_near_end``: at most a few
    hundred lines follow; ``is_last_word``: almost no lines follow.  ``head`` is the last exception
    of a chain,
    ``traceback`` the one that carries the cause, by the rule ``chain_rule``.  ``observations`` are
    the matches behind it, the most important first.
    """

    cause: str
    tier: Tier
    basis: Basis
    file: str
    place: LinePosition
    rank: int | None
    observations: tuple[Observation, ...]
    traceback: Traceback | None
    head: Traceback | None
    is_followed_by_progress: bool
    is_near_end: bool
    is_last_word: bool
    chain_rule: str = ""

    @property
    def is_cut_off(self) -> bool:
        """True for a traceback that the end of the log cut off before its exception was named."""
        return self.traceback is not None and self.traceback.context is Context.CUT_OFF

    @property
    def is_report(self) -> bool:
        """True for a launcher's exception that reports the failure of others."""
        return self.traceback is not None and is_report(self.traceback.type)

    @property
    def excerpt(self) -> str:
        """The line of the log that names the cause; "" where only the type of an exception does."""
        return self.observations[0].excerpt if self.observations else ""

    @property
    def stream(self) -> str:
        """The stream of the log that names the cause, by its line prefixes; "" for none."""
        return self.observations[0].stream if self.observations else ""


def find_candidates(reading: LogReading, rules: RuleSet) -> list[Candidate]:
    """Return all that could have ended the run, in the order of the log.

    Exceptions that the interpreter ignored do not count, except for a broken output pipe; nor do
    launchers' reports of a failed child.
    """
    members = [member for head in reading.tracebacks for member in head.chain()]
    in_exceptions = {id(one) for member in members for one in member.observations}
    found = [
        _from_traceback(head, reading, rules)
        for head in reading.tracebacks
        if head.context is not Context.IGNORED or "Broken pipe" in head.text
    ]
    for one in reading.observations:
        names_cause = one.role in (Role.ROOT, Role.CONFIRMATION, Role.CASCADE)
        if names_cause and id(one) not in in_exceptions:
            found.append(candidate_of_line(one, reading))
    return sorted(found, key=lambda entry: entry.place.offset)


def _from_traceback(head: Traceback, reading: LogReading, rules: RuleSet) -> Candidate:
    chain = read_chain(head, rules)
    roots = [one for one in chain if not one.is_consequence]
    if not any(one.is_specific for one in roots) and chain[-1].is_consequence:
        return candidate_of_line(chain[-1].observations[0], reading, head)
    root, chain_rule = find_root(roots)
    exception = root.exception
    cause = _or_worn_disk(root.cause, exception.text, reading, head.start)
    return Candidate(
        cause=cause,
        tier=_tier_of_exception(exception, cause, root.basis),
        basis=root.basis,
        file=head.file,
        place=exception.end,
        rank=exception.rank,
        observations=tuple(one for one in root.observations if one.cause == root.cause),
        traceback=exception,
        head=head,
        is_followed_by_progress=log_position.is_followed_by_steps(reading, head.end.offset),
        is_near_end=True,
        is_last_word=log_position.is_last_word(reading, head.end),
        chain_rule=chain_rule if len(chain) > 1 else "",
    )


def candidate_of_line(
    one: Observation, reading: LogReading, head: Traceback | None = None
) -> Candidate:
    """Return the candidate that *one* is, a line of the log of *reading*, or of its *head*."""
    cause = one.cause
    if cause == "traceback" and head is not None and is_report(head.type):
        cause = "runtime_error"  # a launcher's report of a child of which nothing else is known
    basis = Basis.CONFIRMATION if one.role is Role.CONFIRMATION else Basis.LINE
    last, is_followed_by_progress = _last_of_state(one, reading)
    return Candidate(
        cause=_or_worn_disk(cause, one.excerpt, reading, one.place),
        tier=Tier.CASCADE if one.role is Role.CASCADE else _tier(one.cause, basis),
        basis=basis,
        file=one.file,
        place=one.place,
        rank=one.rank,
        observations=(one,),
        traceback=head,
        head=head,
        is_followed_by_progress=is_followed_by_progress,
        is_near_end=head is not None or log_position.is_near_end(reading, last.place),
        is_last_word=log_position.is_last_word(reading, last.place, stopping=_is_stopping(one)),
    )


def _last_of_state(one: Observation, reading: LogReading) -> tuple[Observation, bool]:
    """Return the last observation of the state that *one* belongs to, and whether training went on
    without it.

    A lasting state, such as a loss that is NaN, has ended only when more steps follow than it was
    reported at, or when the loss is finite again.
    """
    if one.cause not in LASTING_STATES:
        steps = _GRACE_STEPS if one.cause in ANNOUNCED_CAUSES else PROGRESS_STEPS
        return one, log_position.is_followed_by_steps(reading, one.place.offset, steps)
    again = [other for other in reading.observations if other.cause == one.cause]
    last = again[-1] if again else one
    patterns = {other.pattern.id for other in again}
    reports = sum(reading.counts.get(pattern, 1) for pattern in patterns)
    offset = last.place.offset
    recovered = one.role is Role.ROOT and log_position.has_loss_recovered(reading, offset)
    steps = max(PROGRESS_STEPS, reports)
    return last, recovered or log_position.is_followed_by_steps(reading, offset, steps)


def _is_stopping(one: Observation) -> bool:
    """Return whether the program announces there that it stops because of a signal."""
    is_announcement = one.cause in ("preempted", "time_limit") or (
        one.cause == "cancelled" and one.role is Role.CASCADE
    )
    return is_announcement and _STOPPING.search(one.excerpt.encode()) is not None


def _or_worn_disk(cause: str, text: str, reading: LogReading, place: LinePosition) -> str:
    """Return *cause*, or ``filesystem_io`` for a disk that became read-only during the run."""
    if cause != "permission" or "Read-only file system" not in text:
        return cause
    return "filesystem_io" if log_position.is_writable_before(reading, place.offset) else cause


def _tier_of_exception(exception: Traceback, cause: str, basis: Basis) -> Tier:
    followed = basis <= Basis.TYPE and cause in GENERIC_CAUSES and is_aftermath(exception.type)
    if followed or exception.context is Context.CUT_OFF:
        return Tier.CASCADE
    return _tier(cause, basis)


def _tier(cause: str, basis: Basis) -> Tier:
    if basis is Basis.CONFIRMATION:
        return Tier.CONFIRMED
    if cause in COMMUNICATION_CAUSES:
        return Tier.COMMUNICATION
    return Tier.GENERIC if cause in GENERIC_CAUSES | SIGNAL_CAUSES else Tier.SPECIFIC
