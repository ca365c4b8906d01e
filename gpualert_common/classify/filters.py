"""Filters of candidates: rules that reject what did not end the run, or is not the root of it.

The tables at the end of this module have them in their order.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from gpualert_common.causes import ANNOUNCED_CAUSES, LASTING_STATES, SIGNAL_CAUSES
from gpualert_common.classify.answered_errors import is_behind_answer
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.cascades import is_cascade
from gpualert_common.classify.exit_status import ExitStatus
from gpualert_common.classify.handled.handled_failures import is_overcome
from gpualert_common.classify.handled.hidden_failures import ends_in_failure
from gpualert_common.classify.log_position import is_training_done, is_within
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.script_programs import is_earlier_program
from gpualert_common.classify.tracebacks.traceback import Context, Traceback
from gpualert_common.model import Disposition
from gpualert_common.structs import Struct

_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NEARBY_LINES = 40
"""A line further than this from the exception that ended a process has nothing to do with it."""

_RESTART_LINES = 8
"""A failure further than this behind a stop belongs to another start; a nearer one to the stop."""


Candidates = Sequence[Candidate]


class SelectionContext(Struct, frozen=True):
    """The run whose cause is to be chosen.

    ``failed_rank`` and ``worker_code`` are rank and status of the worker that failed first, as its
    launcher reports it.
    """

    readings: Sequence[LogReading]
    status: ExitStatus
    failed_rank: object = None
    worker_code: int | None = None


class Filter(Struct, frozen=True):
    """A rule that rejects candidates: ``keep`` returns those that it leaves.

    ``because`` says why the others are not the cause, after the place of the candidate.
    ``applies`` restricts it to some ends of a run.
    """

    name: str
    because: str
    keep: Callable[[Candidates, SelectionContext], Candidates]
    applies: Callable[[ExitStatus], bool] = lambda _status: True


# -- filters: can it have ended the run? -----------------------------------------------------


def _drop_overcome(candidates: Candidates, _context: SelectionContext) -> list[Candidate]:
    return [one for one in candidates if not one.is_followed_by_progress]


def _drop_handled(candidates: Candidates, context: SelectionContext) -> list[Candidate]:
    """An uncaught exception is the last of its process, and a script may run several programs.

    So of the tracebacks of one stream only the last counts, and the last that is not about
    communication: the other ranks may write to the same stream.  Those of threads and worker
    processes stand for themselves; a bare exception counts only in a stream without tracebacks.
    """
    last: dict[tuple[str, str, Tier, bool], Candidate] = {}
    last_bare: dict[tuple[str, str], Traceback] = {}
    with_traceback: set[tuple[str, str]] = set()
    for one in candidates:
        if one.head is not None and one.head.context is Context.MAIN:
            last[_process_of(one, one.head)] = one
            with_traceback.add((one.file, one.head.stream))
        elif one.head is not None and one.head.context is Context.BARE:
            last_bare[one.file, one.head.stream] = one.head

    def is_fatal(one: Candidate) -> bool:
        if one.head is None:
            return True
        if one.head.context is Context.MAIN:
            final = last[_process_of(one, one.head)]
            if final.head is one.head or is_earlier_program(one, final):
                return True
            return is_behind_answer(one, final, context.readings)
        if one.head.context is Context.BARE:
            stream = (one.file, one.head.stream)
            return stream not in with_traceback and last_bare[stream] is one.head
        return True

    return [one for one in candidates if is_fatal(one)]


def _process_of(one: Candidate, head: Traceback) -> tuple[str, str, Tier, bool]:
    """Return the process that an exception ended, as far as the log distinguishes processes.

    Reports of ranks on one another, and of launchers on ranks, often share a stream with the
    exception that they follow.
    """
    is_about_others = one.tier in (Tier.COMMUNICATION, Tier.CASCADE)
    return one.file, head.stream, one.tier if is_about_others else Tier.GENERIC, one.is_report


def _drop_caught(candidates: Candidates, context: SelectionContext) -> list[Candidate]:
    """A failure that the program caught or skipped did not end it if it then continued to train."""
    logs = {reading.file: reading for reading in context.readings}
    return [
        one
        for one in candidates
        if one.tier not in (Tier.SPECIFIC, Tier.GENERIC)
        or one.cause in ANNOUNCED_CAUSES | LASTING_STATES | SIGNAL_CAUSES
        or not is_overcome(one, logs[one.file])
    ]


def _near_the_end(candidates: Candidates, context: SelectionContext) -> list[Candidate]:
    """A line counts near the exceptions of the run; without any, near the end of the log."""
    raised = [
        one for one in candidates if one.traceback is not None and one.tier < Tier.COMMUNICATION
    ]

    logs = {reading.file: reading for reading in context.readings}

    def is_near(one: Candidate) -> bool:
        is_certain = (
            one.tier is Tier.CONFIRMED
            or one.cause in LASTING_STATES | SIGNAL_CAUSES | ANNOUNCED_CAUSES
        )
        if one.traceback is not None or is_certain:
            return one.is_near_end
        return (one.is_near_end and not raised) or any(
            one.file == other.file
            and is_within(logs[one.file], one.place, other.place, _NEARBY_LINES)
            for other in raised
        )

    return [one for one in candidates if is_near(one)]


def _during_training(candidates: Candidates, context: SelectionContext) -> list[Candidate]:
    return [
        one
        for one in candidates
        if not any(_is_after_training(one, reading) for reading in context.readings)
    ]


def _is_after_training(one: Candidate, reading: LogReading) -> bool:
    """Return whether it is the failure of a thread in a process that shuts down."""
    if one.file != reading.file or one.head is None or one.head.context is not Context.THREAD:
        return False
    return is_training_done(reading, one.head.start.offset)


def _failed_despite_success(candidates: Candidates, context: SelectionContext) -> Candidates:
    return candidates if ends_in_failure(candidates, context.readings) else ()


# -- filters: is it the root? ----------------------------------------------------------------


def _scheduler_notices(candidates: Candidates, context: SelectionContext) -> list[Candidate]:
    """Only a scheduler's notice says better what a stop was about.

    That the run was cancelled is no more than the status says, and a lost node need not be the
    reason for the stop, unless that is confirmed.
    """
    if context.status.signal is None:
        return []
    return [
        one
        for one in candidates
        if one.cause in ANNOUNCED_CAUSES
        and (one.cause not in ("cancelled", "node_failure") or one.tier is Tier.CONFIRMED)
        and one.traceback is None
    ]


def _reasons_of_stop(candidates: Candidates, context: SelectionContext) -> Candidates:
    """Of a run that a signal stopped the notices count, unless it had failed before."""
    roots = _drop_cascades(candidates, context)
    notices = [one for one in roots if one.cause in ANNOUNCED_CAUSES or one.tier is Tier.CONFIRMED]
    if failed_workers := _failed_before(roots, notices):
        return failed_workers
    failed_before = len(roots) < len(candidates) and not notices
    return candidates if failed_before else notices


def _failed_before(roots: Candidates, notices: Candidates) -> list[Candidate]:
    """Return the failures of named workers before a person interrupted the run that waited."""
    interrupts = [one for one in notices if one.cause == "cancelled"]
    if len(interrupts) < len(notices) or not interrupts:
        return []
    first = min(one.place for one in interrupts)
    stopped = {one.stream if one.head is None else one.head.stream for one in interrupts}
    return [
        one
        for one in roots
        if one.head is not None
        and one.head.stream not in {"", *stopped}
        and one.tier in (Tier.SPECIFIC, Tier.GENERIC)
        and one.cause not in SIGNAL_CAUSES | ANNOUNCED_CAUSES
        and one.place < first
    ]


def _drop_cascades(candidates: Candidates, _context: SelectionContext) -> list[Candidate]:
    return [one for one in candidates if not is_cascade(one, candidates)]


def _of_last_start(candidates: Candidates, _context: SelectionContext) -> Candidates:
    """A stop is not the cause when a later start of the job failed by itself."""
    raised = [one for one in candidates if one.traceback is not None and one.tier is Tier.SPECIFIC]
    last = max((one.place for one in raised), default=None)
    if last is None:
        return candidates
    return [
        one
        for one in candidates
        if one.cause not in ANNOUNCED_CAUSES or one.place.line + _RESTART_LINES > last.line
    ]


# -- the filters, in their order --------------------------------------------------------------

POSSIBLE: tuple[Filter, ...] = (
    Filter("progress after failure", "training went on after it", _drop_overcome),
    Filter(
        "fatal before handled",
        "handled: the same process raised another exception later",
        _drop_handled,
    ),
    Filter("caught", "the program caught or skipped it, and training continued", _drop_caught),
    Filter("near the end", "too far from the end of the run", _near_the_end),
    Filter(
        "run in progress",
        "the run has not ended",
        lambda _candidates, _case: (),
        lambda status: status.disposition is Disposition.RUNNING,
    ),
    Filter(
        "during training",
        "a thread failed after the end of the training",
        _during_training,
        lambda status: status.disposition is Disposition.UNKNOWN,
    ),
    Filter(
        "success unless the log ends in a failure",
        "the exit status is 0, and the log does not end there",
        _failed_despite_success,
        lambda status: status.disposition is Disposition.COMPLETED,
    ),
)
"""Filters for what can have ended the run."""

ROOTS: tuple[Filter, ...] = (
    Filter(
        "final status before log",
        "seen in the log, but it did not end the run",
        _scheduler_notices,
        lambda status: status.is_final,
    ),
    Filter(
        "reason of the stop",
        "a signal stopped the run; only a notice of that stop counts",
        _reasons_of_stop,
        lambda status: not status.is_final and status.signal in _STOPS,
    ),
    Filter(
        "root before cascade",
        "it follows from an earlier failure",
        _drop_cascades,
        lambda status: not status.is_final,
    ),
    Filter(
        "last start",
        "the job was started again after it, and failed by itself",
        _of_last_start,
        lambda status: not status.is_final and status.signal not in _STOPS,
    ),
)
"""Filters for the root among the candidates that can have ended the run."""
