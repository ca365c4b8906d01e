"""Preferences among the candidates that the filters leave: exceptions from the order of importance.

The table at the end of this module has them in their order.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from gpualert_common.causes import COMMUNICATION_CAUSES, EXPLAINED_BY
from gpualert_common.classify.answered_errors import is_behind_answer
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.filters import SelectionContext
from gpualert_common.classify.script_programs import is_earlier_program
from gpualert_common.classify.tracebacks.traceback import Context
from gpualert_common.structs import Struct

_NOTICES = frozenset({"preempted", "node_failure", "time_limit"})
_NATIVE_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_ENDS_OF_LOST_PEER = (1, -signal.SIGABRT, -signal.SIGTERM)
"""Ends of a worker that lost a peer: an exception, an abort by the watchdog, or by the launcher."""


class Preference(Struct, frozen=True):
    """A rule that chooses: ``choose`` returns the candidate to lead from now on.

    It returns None where the exit status says more than any candidate.  ``because`` says why the
    candidate that led before is not the cause.
    """

    name: str
    because: str
    choose: Callable[[Candidate, Sequence[Candidate], SelectionContext], Candidate | None]


def _cause_behind(
    best: Candidate, left: Sequence[Candidate], _context: SelectionContext
) -> Candidate | None:
    causes = (one for one in left if one.cause == EXPLAINED_BY.get(best.cause))
    return next((one for one in causes if one.tier < Tier.STATUS), best)


def _own_end(
    best: Candidate, left: Sequence[Candidate], context: SelectionContext
) -> Candidate | None:
    """The end of the worker that failed first, unless it reported a lost peer itself."""
    if best.tier is not Tier.COMMUNICATION:
        return best
    if context.status.signal in _NATIVE_CRASHES:
        return None
    ends_itself = context.worker_code not in (None, *_ENDS_OF_LOST_PEER)
    reporting = {
        one.rank
        for one in left
        if one.tier is Tier.COMMUNICATION
        and (one.head is None or one.head.context is not Context.NATIVE)
    }
    is_of_others = None not in reporting and context.failed_rank not in (None, *reporting)
    return None if best.cause == "collective" and ends_itself and is_of_others else best


def _exception_before(
    best: Candidate, left: Sequence[Candidate], _context: SelectionContext
) -> Candidate | None:
    """The exception of a rank that was gone before the others noticed."""
    if best.tier is not Tier.COMMUNICATION:
        return best
    gone = (
        one
        for one in left
        if one.tier is Tier.CASCADE
        and one.traceback is not None
        and not one.is_cut_off
        and not one.is_report
        and one.place < best.place
    )
    return next(gone, best)


def _first_notice(
    best: Candidate, left: Sequence[Candidate], _context: SelectionContext
) -> Candidate | None:
    """A spot notice is the reason for a lost node after it; a lost node, for a requeue after it.

    A requeue is a consequence: of the time limit, or of another notice.
    """
    if best.cause not in _NOTICES:
        return best
    notices = [one for one in left if one.cause in _NOTICES and one.tier <= Tier.SPECIFIC]
    notices = [one for one in notices if one.file == best.file] or [best]
    reasons = [one for one in notices if not _is_requeue(one)] or [best]
    first = min(reasons, key=lambda one: (one.place.line, one.cause != "node_failure"))
    return first if _is_requeue(best) or first.cause != "time_limit" else best


def _is_requeue(one: Candidate) -> bool:
    return bool(one.observations) and "requeue" in one.observations[0].details


def _first_program(
    best: Candidate, left: Sequence[Candidate], _context: SelectionContext
) -> Candidate | None:
    """The first of several programs that failed; the next one only misses its results."""
    earlier = (one for one in left if is_earlier_program(one, best))
    return next(earlier, best)


def _answered_error(
    best: Candidate, left: Sequence[Candidate], context: SelectionContext
) -> Candidate | None:
    """The exception of a server, rather than that of the client that it answered."""
    answers = [one for one in left if one.cause == best.cause]
    for one in left:
        if any(is_behind_answer(one, answer, context.readings) for answer in answers):
            return one
    return best


def _time_limit(
    best: Candidate, _left: Sequence[Candidate], context: SelectionContext
) -> Candidate | None:
    is_limit = context.status.cause == "time_limit"
    return None if is_limit and best.cause == "cancelled" else best


def _status_before_cascade(
    best: Candidate, left: Sequence[Candidate], context: SelectionContext
) -> Candidate | None:
    """A signal says more than what followed it.

    That a peer was lost says more than the plain status of the rank that reports it.
    """
    if best.tier < Tier.STATUS or context.status.cause is None:
        return best
    ranks = {one.rank for one in (best, *left) if one.cause == best.cause} - {None}
    lost_peer = best.cause in COMMUNICATION_CAUSES and context.status.signal is None
    return best if lost_peer and (best.rank is None or context.failed_rank in ranks) else None


MOST_IMPORTANT = Preference(
    "most important, then earliest", "less specific, or later than the cause", lambda best, *_: best
)

PREFERENCES: tuple[Preference, ...] = (
    Preference("cause behind", "another cause explains it", _cause_behind),
    Preference("own end before lost peer", "other ranks report this when one has ended", _own_end),
    Preference(
        "exception before lost peer",
        "other ranks report this when one of them has failed",
        _exception_before,
    ),
    Preference("first notice", "an earlier notice is the reason for it", _first_notice),
    Preference("first program", "an earlier program of the script had failed", _first_program),
    Preference("server before client", "a server in the same log failed first", _answered_error),
    Preference("time limit before its signal", "the time limit is the reason for it", _time_limit),
    Preference(
        "status before cascade", "the exit status says more than it", _status_before_cascade
    ),
)
"""Exceptions from the order of importance, one after the other."""

LAST_RESORT = Preference(
    "closing lines", "it says less than the closing lines of the log", lambda best, *_: best
)
"""Choice of a run of which status and candidates say only that it failed, or how it ended."""
