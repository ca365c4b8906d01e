"""Failures that a program handled: it continued after them, and its work was done.

A program that ends well has handled each exception in its log.  One that ended in an exception, and
whose exit status a pipe or a script hid, has not.  The log distinguishes them: by the frame where
the exception was caught, by the words around it, and by the work that was done before and after it.
"""

from __future__ import annotations

from typing import Any, Final

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.handled.item_summaries import is_mostly_successful
from gpualert_common.classify.handled.nearby_lines import (
    ends_with,
    good_lines,
    lines_around,
    own_lines,
)
from gpualert_common.classify.handled.work_words import (
    ALTERNATIVE,
    END,
    ENTRY_PLACE,
    FATAL,
    HANDLED,
    OF,
    RECORD,
    RESULT,
    RETRIED,
    SAVING_PLACE,
    SCORE,
    SIDE_PLACE,
    STEP,
    TRAINING_DONE,
    TRAINING_PLACE,
    WARNING,
)
from gpualert_common.classify.log_position import (
    has_trained,
    is_followed_by_steps,
    is_info_record,
)
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.tracebacks.traceback import Context, Traceback

_NEIGHBOUR_LINES = 2
"""Lines next to a failure that may say how the program handles it."""

_LASTING_FAILURES = 2
"""A failure that was seen this often before, since the last step, is not a passing one."""

_SCRIPT_LINES = 40
"""Lines that a script may write after a training that it started."""

_RECENT_LINES = 400
"""Lines before a failure that show how far the work was."""

_MODULE: Final = frozenset({"<module>", "_run_module_as_main", "_run_code", "run_path"})
"""Outermost frames of an exception that may have ended its process."""


def is_overcome(one: Candidate, reading: LogReading) -> bool:
    """Return whether the program caught or skipped a failure and trained at least one more step.

    What was skipped before the first step may well be the reason of a later failure.
    """
    if not is_followed_by_steps(reading, one.place.offset, 1):
        return False  # cheap, and true of most failures
    is_handled = one.head is not None and is_caught(one.head)
    if not (is_handled or is_marked_as_handled(one, reading)):
        return False
    _, after = lines_around(one, reading)
    return any(map(STEP.search, good_lines(after)))


def is_marked_as_handled(one: Candidate, reading: LogReading) -> bool:
    """Return whether the program says there that it does without it: it skips, or only warns.

    A warning right before an exception that was not caught is about something else.
    """
    before, after = lines_around(one, reading)
    header, text = before[-1:], []
    if one.head is None:
        header, text = [], [one.excerpt.encode()]
    elif is_caught(one.head) and any(map(WARNING.search, header)):
        return True
    return any(map(HANDLED.search, (*header, *text, *after[:_NEIGHBOUR_LINES])))


def is_work_done(one: Candidate, reading: LogReading) -> bool:
    """Return whether a run that ended well did its work in spite of an exception.

    It did if, after the exception, it saved a model, printed its scores, continued to train, or
    says itself that the training is done.  A training that was cut short has not done its work,
    whatever the script around it prints.
    """
    if one.head is None or one.head.context is Context.BARE:
        return False
    before, after = lines_around(one, reading)
    after, good = own_lines(after), good_lines(after)
    if any(map(STEP.search, good)):
        return True
    if is_caught(one.head) and any(map(is_mostly_successful, after)):
        return True
    if has_cut_short(one, reading):
        return False
    if any(map(RESULT.search, good)) or any(map(SCORE.search, good)):
        return True
    if any(map(SAVING_PLACE.search, one.head.places)):
        return False  # the result is lost
    if _is_check(one.head) and any(map(ALTERNATIVE.search, after[:_NEIGHBOUR_LINES])):
        return True
    trained = has_trained(reading) or any(map(SCORE.search, before))
    if any(map(TRAINING_DONE.search, after)):
        return trained or (is_caught(one.head) and not _has_left(one.head, TRAINING_PLACE))
    if not trained:
        return is_caught(one.head) and is_marked_as_handled(one, reading) and bool(good)
    if _is_done_without(one, one.head, reading):
        return True
    return _is_outside_training(one, one.head, reading)


def _is_done_without(one: Candidate, head: Traceback, reading: LogReading) -> bool:
    """Return whether a program that has trained skipped a failure, or tried again with success.

    One that fails again and again from its last step on does not get on without what failed.
    """
    before, after = lines_around(one, reading)
    text, again = head.text.encode(), 0
    for line in reversed(before):
        if STEP.search(line):
            break
        again += line.startswith(head.type.encode()) and text.startswith(line.strip())
    if again >= _LASTING_FAILURES:
        return False
    near = after[:_NEIGHBOUR_LINES]
    if is_marked_as_handled(one, reading) and not any(map(FATAL.search, near)):
        return True
    rest = [line for line in good_lines(after) if not RETRIED.search(line)]
    return any(map(RETRIED.search, near)) and bool(rest)


def _is_outside_training(one: Candidate, head: Traceback, reading: LogReading) -> bool:
    """Return whether an exception is not that of a training which the log has shown."""
    before, after = lines_around(one, reading)
    good = good_lines(after)
    has_result, has_ended = _has_result(before), has_reached_end(one, reading)
    if any(map(SIDE_PLACE.search, head.places)):
        return has_result or has_ended
    if head.context is Context.THREAD:
        return has_result or has_ended or any(map(END.search, good))
    record = before[-1] if before else b""
    is_logged = RECORD.search(record) and not FATAL.search(record)
    is_apart = is_caught(head) or bool(is_logged)
    if is_after_training(one, reading) and (is_apart or any(map(END.search, good))):
        return True
    if is_apart and any(map(END.search, good)):
        return True
    goes_on = good if is_caught(head) else after
    return has_ended and bool(goes_on) and (is_caught(head) or head.context is Context.PROCESS)


def is_after_result(one: Candidate, reading: LogReading) -> bool:
    """Return whether the training had its result, or said that it was done, before *one*."""
    return _has_result(lines_around(one, reading)[0])


def is_after_training(one: Candidate, reading: LogReading) -> bool:
    """Return whether the training had ended before *one*.

    The program said so, or it had a result behind its last step.
    """
    before, _ = lines_around(one, reading)
    if ends_with(before, TRAINING_DONE):
        return True
    return has_reached_end(one, reading) and ends_with(before, RESULT)


def is_started_again(one: Candidate, reading: LogReading) -> bool:
    """Return whether a program was started again after a signal ended it, and did its work."""
    _, after = lines_around(one, reading)
    is_retried = any(map(RETRIED.search, after[: 2 * _NEIGHBOUR_LINES]))
    return is_retried and any(map(STEP.search, good_lines(after)))


def has_ended_training(one: Candidate, reading: LogReading) -> bool:
    """Return whether an exception ended a training before its last step.

    Only the script that started the training, or the rest of its process, continued after it.
    """
    head = one.head
    if head is None or reading.lines - head.end.line > 2 * _SCRIPT_LINES:
        return False  # cheap; most of the rest may be blank
    _, after = lines_around(one, reading)
    if len(after) > _SCRIPT_LINES:
        return False
    if _has_left_work(one, head, reading):
        return True
    if head.context is not Context.MAIN or is_caught(head) or any(map(is_info_record, after)):
        return False
    return is_cut_short(one, reading)


def has_cut_short(one: Candidate, reading: LogReading) -> bool:
    """Return whether an exception ended the training, by its steps or by the functions it left."""
    if is_cut_short(one, reading):
        return True
    return one.head is not None and _has_left_work(one, one.head, reading)


def _has_left_work(one: Candidate, head: Traceback, reading: LogReading) -> bool:
    """Return whether an exception left the function that trains, or the one that does all work."""
    before, _ = lines_around(one, reading)
    if has_reached_end(one, reading) or ends_with(before, TRAINING_DONE):
        return False
    if any(map(SIDE_PLACE.search, head.places)) and ends_with(before, RESULT):
        return False
    if any(map(_has_left_program, head.chain())):
        return True
    is_begun = has_trained(reading) or any(map(SCORE.search, before))
    is_fatal = any(map(FATAL.search, before[-1:]))
    is_raised_again = head.context is Context.WORKER  # in the process that trains
    return (is_begun or is_fatal) and (is_raised_again or _has_left(head, TRAINING_PLACE))


def _has_left_program(head: Traceback) -> bool:
    """Return whether an exception left the function of a program that does all of its work."""
    return head.context is Context.MAIN and not is_caught(head) and _has_left(head, ENTRY_PLACE)


def _has_left(head: Traceback, place: Any) -> bool:
    """Return whether an exception left a function: the one where it was caught it did not."""
    frames = head.places
    if head.context is Context.MAIN and head.frames[:1] == (head.outermost,):
        frames = frames[1:]
    return any(map(place.search, frames))


def is_cut_short(one: Candidate, reading: LogReading) -> bool:
    """Return whether the last step before a failure was not the last one of the training."""
    step = _last_step(one, reading)
    return step is not None and step[0] + 1 < step[1]


def has_reached_end(one: Candidate, reading: LogReading) -> bool:
    """Return whether the training had made its last step before *one*."""
    step = _last_step(one, reading)
    return step is not None and step[0] >= step[1]


def _last_step(one: Candidate, reading: LogReading) -> tuple[int, int] | None:
    """Return the last step before a failure and the number of steps, where the log has both."""
    before, _ = lines_around(one, reading)
    for line in reversed(before[-_RECENT_LINES:]):
        steps = OF.search(line)
        if steps is not None:
            done, planned = (int(number) for number in steps.groups() if number is not None)
            return done, planned
    return None


def is_caught(head: Traceback) -> bool:
    """Return whether the program certainly caught an exception: below the level of its module.

    A child process prints its exceptions from where it began.
    """
    if head.context is not Context.MAIN or head.outermost is None:
        return False
    return head.outermost.function not in _MODULE


def _is_check(head: Traceback) -> bool:
    """Return whether an exception ended a program of one line, with which a script looks around."""
    frames = (head.outermost, *head.frames)
    return all(
        frame is not None and frame.file == "<string>" and frame.line == 1 for frame in frames
    )


def _has_result(before: list[bytes]) -> bool:
    """Return whether the training had its result, or said that it was done."""
    return ends_with(before, TRAINING_DONE) or ends_with(before, RESULT)
