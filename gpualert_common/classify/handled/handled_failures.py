"""Failures that a program handled: it continued after them, and its work was done.

A program that ends well has handled each exception in its log.  One that ended in an exception, and
whose exit status a pipe or a script hid, has not.  The log distinguishes them by the work that the
program did after the exception, by the place where the exception was caught, and by the work that
was complete before it.
"""

from __future__ import annotations

from typing import Any, Final

from gpualert_common.causes import MISMATCH_CAUSES, RESOURCE_CAUSES
from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.handled.item_summaries import is_mostly_successful
from gpualert_common.classify.handled.surroundings import Surroundings
from gpualert_common.classify.handled.work_lines import (
    ends_with,
    good_lines,
    has_count,
    has_match,
    has_outcome,
    is_continued,
)
from gpualert_common.classify.handled.work_words import (
    ENTRY_PLACE,
    FATAL,
    HANDLED,
    LIBRARY_PLACE,
    RECORD,
    RESULT,
    SAVING_PLACE,
    SIDE_PLACE,
    STEP,
    TRAINING_DONE,
    TRAINING_PLACE,
)
from gpualert_common.classify.log_position import is_followed_by_steps, is_info_record
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.tracebacks.traceback import Context, Traceback

_LASTING_FAILURES = 2
"""A failure that was seen this often before, since the last step, is not a passing one."""

_RECORDS = 2
"""Records of a logger after an exception that prove that its program continued, where it has not
worked before; elsewhere one does."""

_OF_COMPUTATION: Final = MISMATCH_CAUSES | RESOURCE_CAUSES | {"cuda_runtime", "collective"}
"""Causes in the computation itself, rather than in a file or a service beside it."""

_OF_SERVICES: Final = frozenset(
    {
        *("network", "permission", "file_not_found", "missing_module", "dependency", "asset"),
        "command_not_found",
    }
)
"""Causes in a file, a library or a service, which a training may do without."""

_MODULE: Final = frozenset({"<module>", "_run_module_as_main", "_run_code", "run_path"})
"""Outermost frames of an exception that may have ended its process."""


def is_overcome(one: Candidate, reading: LogReading) -> bool:
    """Return whether the program caught or skipped a failure and trained at least one more step.

    What was skipped before the first step may well be the reason of a later failure.
    """
    if not is_followed_by_steps(reading, one.place.offset, 1):
        return False  # cheap, and true of most failures
    around = Surroundings(one, reading)
    if not (is_caught(one.head) or _is_skipped(one, around)):
        return False
    return has_match(STEP, good_lines(around.after))


def _is_skipped(one: Candidate, around: Surroundings) -> bool:
    """Return whether the program says that it does without what failed."""
    text = [one.excerpt.encode()] if one.head is None else around.header
    return has_match(HANDLED, (*text, *around.after[:2]))


def is_work_done(one: Candidate, head: Traceback, reading: LogReading) -> bool:
    """Return whether a run that ended well did its work in spite of the exception *head*.

    It did if the program worked after the exception, or had worked and survived an exception
    outside its work.  A training that was cut short has not done its work, whatever the script
    around it prints.
    """
    around = Surroundings(one, reading)
    if has_match(STEP, around.good) or is_continued(around.before, around.own):
        return True
    if is_caught(head) and any(map(is_mostly_successful, around.own)):
        return True
    if around.is_cut_short or _has_left_work(head, around):
        return around.is_computing and is_caught(head) and not around.is_cut_short
    if around.is_computing or has_match(RESULT, around.good):
        return True
    if has_match(SAVING_PLACE, head.places):
        return False  # the result is lost
    return (
        _is_done_without(head, around)
        or _is_outside_work(one.cause, head, around)
        or _is_after_work(head, around)
    )


def is_caught(head: Traceback | None) -> bool:
    """Return whether the program certainly caught an exception: below the level of its module.

    A child process prints its exceptions from where it began.
    """
    if head is None or head.context is not Context.MAIN or head.outermost is None:
        return False
    return head.outermost.function not in _MODULE


def _is_done_without(head: Traceback, around: Surroundings) -> bool:
    """Return whether a program says that it skips what failed.

    One that fails again and again from its last step on does not get on without what failed.
    """
    near = (*around.header, *around.next_lines)
    if has_match(FATAL, near):
        return False
    text, again = head.text.encode(), 0
    for line in reversed(around.before):
        if STEP.search(line):
            break
        again += line.startswith(head.type.encode()) and text.startswith(line.strip())
    if again >= _LASTING_FAILURES:
        return False
    return has_match(HANDLED, near)


def _is_outside_work(cause: str, head: Traceback, around: Surroundings) -> bool:
    """Return whether an exception that did not end its process is not that of the work."""
    if has_match(FATAL, around.header) or _has_left(head, TRAINING_PLACE):
        return False
    if head.context is Context.THREAD:
        return around.has_worked
    if head.context is Context.PROCESS:
        return around.has_worked and bool(around.good)
    if not (is_caught(head) or has_match(RECORD, around.header)):
        return False
    if sum(map(is_info_record, around.own)) >= (1 if around.has_worked else _RECORDS):
        return True
    if has_outcome(around.good_before) or has_outcome(around.good):
        return True
    if has_match(TRAINING_DONE, around.own):
        return True
    if cause in _OF_COMPUTATION:
        return False
    if head.places and all(map(LIBRARY_PLACE.search, head.places)):
        return around.has_worked or has_count(around.good_before)
    is_service = cause in _OF_SERVICES and not has_match(ENTRY_PLACE, head.places[:1])
    return around.has_worked and (is_service or has_match(SIDE_PLACE, head.places))


def _is_after_work(head: Traceback, around: Surroundings) -> bool:
    """Return whether a training had ended before an exception, which the program survived."""
    if not (around.has_result or around.has_reached_end):
        return False
    if has_match(TRAINING_DONE, around.own):
        return True
    is_survived = is_caught(head) or has_match(SIDE_PLACE, head.places)
    return is_survived and (bool(around.good) or not around.own)


def _has_left_work(head: Traceback, around: Surroundings) -> bool:
    """Return whether an exception left the function that trains, or the one that does all work."""
    if around.has_reached_end or ends_with(around.before, TRAINING_DONE):
        return False
    if has_match(SIDE_PLACE, head.places) and ends_with(around.before, RESULT):
        return False
    if any(map(_has_left_program, head.chain())):
        return True
    if not (around.has_worked or has_match(FATAL, around.header)):
        return False
    is_raised_again = head.context is Context.WORKER  # in the process that trains
    return is_raised_again or _has_left(head, TRAINING_PLACE)


def _has_left_program(head: Traceback) -> bool:
    """Return whether an exception left the function of a program that does all of its work."""
    return head.context is Context.MAIN and not is_caught(head) and _has_left(head, ENTRY_PLACE)


def _has_left(head: Traceback, place: Any) -> bool:
    """Return whether an exception left a function: the one where it was caught it did not."""
    frames = head.places
    if head.context is Context.MAIN and head.frames[:1] == (head.outermost,):
        frames = frames[1:]
    return has_match(place, frames)
