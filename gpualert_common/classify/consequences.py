"""What came upon a run that had already failed, and who was gone before the others noticed."""

from __future__ import annotations

import re

from gpualert_common.causes import COMMUNICATION, SCHEDULED, SIGNALLED
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.exception_names import is_report
from gpualert_common.classify.traceback_model import Context

_ABORT = re.compile(r"(?i)\babort|sigabrt|exit ?code\s*: -6\b|signal:? 6\b")
_RESTART_LINES = 8
"""What fails so far behind a stop failed in another start; nearer, it is the stop that did it."""


def gone_before(best: Candidate, possible: list[Candidate]) -> Candidate:
    """*best*, or the exception in front of it that tells of somebody who was gone by then."""
    gone = [
        one
        for one in possible
        if one.tier is Tier.CASCADE
        and one.traceback is not None
        and one.traceback.context is not Context.CUT_OFF
        and not is_report(one.traceback.type)
        and one.place < best.place
    ]
    return gone[0] if gone else best


def without_consequences(possible: list[Candidate], *, stopped: bool) -> list[Candidate]:
    """*possible* without what came upon a run that had already failed.

    Of a run that a signal *stopped* only those count that say who did, and why.
    """
    kept = [one for one in possible if not _announces_consequence(one, possible)]
    if not stopped and any(one.cause in SCHEDULED for one in kept):
        kept = _of_the_last_start(kept)
    said = [one for one in kept if one.cause in SCHEDULED or one.tier is Tier.CONFIRMED]
    failed_before = len(kept) < len(possible) and not said
    return said if stopped and not failed_before else kept


def _of_the_last_start(possible: list[Candidate]) -> list[Candidate]:
    """*possible* without the stops behind which another start failed by itself."""
    raised = [one for one in possible if one.traceback is not None and one.tier is Tier.SPECIFIC]
    last = max((one.place for one in raised), default=None)
    if last is None:
        return possible
    return [
        one
        for one in possible
        if one.cause not in SCHEDULED or one.place.line + _RESTART_LINES > last.line
    ]


def _announces_consequence(one: Candidate, possible: list[Candidate]) -> bool:
    """True for a stop or a limit that came upon a run which had already failed or hung."""
    said_itself = one.traceback is not None and not is_report(one.traceback.type)
    if said_itself or one.tier is Tier.CONFIRMED:
        return False
    before = [
        other
        for other in possible
        if other.file == one.file and other.place < one.place and other.tier < Tier.STATUS
    ]
    if one.cause == "segfault" and _ABORT.search(one.observations[0].excerpt):
        # So ends what C++ threw and nobody caught.
        return any(other.cause not in SIGNALLED for other in before)
    if one.cause == "killed_unknown":
        hung = [other for other in before if other.tier is Tier.COMMUNICATION]
        return bool(hung) or any(other.cause in SCHEDULED for other in before)
    if one.cause == "cancelled":
        earlier = COMMUNICATION | {"killed_unknown", "segfault"}
        return any(other.traceback or other.cause in earlier for other in before)
    return one.cause == "time_limit" and any(
        other.tier is Tier.COMMUNICATION
        and (other.place < one.place or other.cause == "idle_hang")  # the kernel's log comes last
        for other in possible
        if other.file == one.file
    )
