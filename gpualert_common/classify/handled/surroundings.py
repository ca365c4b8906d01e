"""Surroundings of a failure in a log: the work before it and after it."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.handled.work_lines import (
    ends_with,
    good_lines,
    has_numbers,
    own_lines,
)
from gpualert_common.classify.handled.work_words import OF, RESULT, TRAINING_DONE
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.log_position import has_trained, is_followed_by_steps
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.tracebacks.lines import is_progress_bar

_RECENT_LINES = 400
"""Lines before a failure that show how far the work was."""

_NEIGHBOUR_LINES: Final = 2
"""Lines next to a failure that may say how the program handles it."""


class Surroundings:
    """Lines around the failure *one* in the end of a log that *reading* has kept.

    ``before`` and ``after`` are the lines that are not blank, without escape sequences, and without
    bars that were only drawn again after the failure.
    """

    def __init__(self, one: Candidate, reading: LogReading) -> None:
        start = end = one.place.offset
        rows = 1
        if one.head is not None:
            start, end = one.head.chain()[0].start.offset, one.head.end.offset
            rows = one.head.text.count("\n") + 1
        at = reading.tail_offset
        before = canonicalize(reading.tail[: max(0, start - at)]).split(b"\n")
        line, *after = canonicalize(reading.tail[max(0, end - at) :]).split(b"\n")
        message, rest = after[: rows - 1], after[rows - 1 :]
        rest = [line for line in message if not line[:1].isspace()] + rest
        if not is_followed_by_steps(reading, end, 1):
            rest = [line for line in rest if not is_progress_bar(line.decode("latin1"))]
        self.line = line
        self.before = [line for line in before if line.strip()]
        self.after = [line for line in rest if line.strip()]
        self._has_trained = has_trained(reading)

    @cached_property
    def own(self) -> list[bytes]:
        """The lines after the failure that the program itself wrote."""
        return own_lines(self.after)

    @cached_property
    def good(self) -> list[bytes]:
        """Those of them that are not about trouble."""
        return good_lines(self.after)

    @cached_property
    def good_before(self) -> list[bytes]:
        """The lines before the failure that are not about trouble."""
        return good_lines(self.before)

    @property
    def header(self) -> list[bytes]:
        """The line before the failure, where a logger names it."""
        return self.before[-1:]

    @property
    def next_lines(self) -> list[bytes]:
        """The lines after the failure that may say how the program handles it."""
        return self.own[:_NEIGHBOUR_LINES]

    @cached_property
    def is_computing(self) -> bool:
        """True if the program computed something after the failure."""
        return has_numbers(self.good)

    @cached_property
    def has_worked(self) -> bool:
        """True if the program trained, or computed something before the failure."""
        return self._has_trained or has_numbers(self.good_before)

    @cached_property
    def has_result(self) -> bool:
        """True if the training had its result before the failure, or said that it was done."""
        return any(ends_with(self.before, words) for words in (TRAINING_DONE, RESULT))

    @property
    def is_after_training(self) -> bool:
        """True if the training said that it was done, or had a result behind its last step."""
        if ends_with(self.before, TRAINING_DONE):
            return True
        return self.has_reached_end and ends_with(self.before, RESULT)

    @property
    def is_cut_short(self) -> bool:
        """True if the last step before the failure was not the last one of the training."""
        step = self._last_step
        return step is not None and step[0] + 1 < step[1]

    @property
    def has_reached_end(self) -> bool:
        """True if the training had made its last step before the failure."""
        step = self._last_step
        return step is not None and step[0] >= step[1]

    @cached_property
    def _last_step(self) -> tuple[int, int] | None:
        """The last step before the failure and the number of steps, where the log has both."""
        for line in reversed(self.before[-_RECENT_LINES:]):
            steps = OF.search(line)
            if steps is not None:
                done, planned = (int(number) for number in steps.groups() if number is not None)
                return done, planned
        return None
