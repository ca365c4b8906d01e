"""A place in a log and the lines behind it: did training go on, and did the run end there?

All answers rest on the tail of the log, which a reading keeps.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from gpualert_common.classify.handled.work_words import STEP
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LinePosition, canonicalize
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.progress_marks import PROGRESS_MARK
from gpualert_common.classify.tracebacks.lines import is_progress_bar
from gpualert_common.regex import compile_bytes

PROGRESS_STEPS: Final = 3
"""Number of different steps after a failure that prove that training went on."""

_LAST_WORD_LINES = 3
"""Lines that may follow the end of a run: a redrawn progress bar, a line that is flushed late."""

_FAREWELL_LINES = 4
"""Lines that a program may still write after it announces that it stops."""

_FAR_FROM_END_LINES = 40
"""A place further from the end than this is never the last word."""

_RANKS = 8
"""Number of ranks whose copies of a line are recognized."""

_NEAR_END_LINES = 300
"""A line without a traceback that is further from the end did not end the run."""

_CLOSING_LINES = 100
"""Lines at the end of a log that say why a program failed, if any do."""

_FINITE_LOSSES = 2
"""Number of finite losses after the last bad value that prove that the value was passing."""

_FAILURE: Final = compile_bytes(
    rb"(?i)fail|error|exception|abort|crash|fatal|kill|invalid|illegal|unknown|unsupported"
    rb"|\b(?:cannot|can't|could not|couldn't|unable)\b|refused|denied|missing|not found|no such"
    rb"|must be"
)
"""Words about a failure, of whatever kind."""

_INFO_RECORD: Final = compile_bytes(rb"\b(?:INFO|DEBUG|NOTICE)\b")
"""A log record of a program that goes on; a runtime that shuts down writes warnings."""

_COMPLETED: Final = compile_bytes(rb"(?i)\b(?:completed?|finish\w*|done|success\w*)\b")
_TRAINING_DONE: Final = compile_bytes(
    rb"(?i)\btraining (?:of \w+ )?(?:is |was |has )?(?:done|completed?|finished|over)\b"
    rb"|['\"]train_runtime['\"]"
)
_WRITTEN: Final = compile_bytes(
    rb"(?i)\bwrote \S+\.\w"
    rb"|\b(?:saved|wrote|written)\b.{0,80}(?:checkpoint|ckpt|model|state|\.pt)"
    rb"|(?:checkpoint|ckpt|\.pt\w?)\b.{0,60}\b(?:saved|written)\b|remounting filesystem read-only"
)
_FINITE_LOSS: Final = compile_bytes(
    rb"(?i)\bloss(?:_[a-z]{1,9})?['\"]?\s{0,2}[:= ]\s{0,2}['\"]?-?"
    rb"(?:0\.0{0,9}[1-9]|[1-9][\d.]{0,9}[^\d.])"
)
_NOT_FINITE: Final = compile_bytes(
    rb"(?i)\bnan\b|\binf\b|^wandb: |best|lowest|\bmin\b|final|average|train_runtime|^\s*train_loss"
)
"""A line whose finite loss, if it has one, is a summary or stands beside a NaN."""

_SUMMARY: Final = compile_bytes(rb"(?i)best|lowest|\bmin\b|initial|restor|scale|final|average")


def is_followed_by_steps(reading: LogReading, offset: int, steps: int = PROGRESS_STEPS) -> bool:
    """Return whether training made at least *steps* steps of progress behind *offset*."""
    return reading.progress.count_steps(offset, reading.size) >= steps


def is_training_done(reading: LogReading, offset: int) -> bool:
    """Return whether the program had reported the end of its training before *offset*."""
    before = _tail_before(reading, offset)
    reports = list(_TRAINING_DONE.finditer(before))
    return bool(reports) and PROGRESS_MARK.search(before, reports[-1].end()) is None


def has_loss_recovered(reading: LogReading, offset: int) -> bool:
    """Return whether the loss was finite again behind *offset*."""
    behind = reading.tail[max(0, offset - reading.tail_offset) :].partition(b"\n")[2]
    lines = [line for line in canonicalize(behind).split(b"\n") if PROGRESS_MARK.search(line)]
    lines = [line for line in lines if not _SUMMARY.search(line)]
    finite = (
        line
        for line in lines
        if _FINITE_LOSS.search(line) and not is_progress_bar(line.decode("latin1"))
    )
    return len(list(islice(finite, _FINITE_LOSSES))) == _FINITE_LOSSES


def has_finite_losses(reading: LogReading, offset: int, count: int) -> bool:
    """Return whether *count* losses behind *offset* were finite."""
    behind = canonicalize(reading.tail[max(0, offset - reading.tail_offset) :]).split(b"\n")[1:]
    finite = (line for line in behind if _FINITE_LOSS.search(line) and not _NOT_FINITE.search(line))
    return len(list(islice(finite, count))) == count


def is_writable_before(reading: LogReading, offset: int) -> bool:
    """Return whether the program had written a file to its disk before *offset*."""
    return _WRITTEN.search(_tail_before(reading, offset)) is not None


def has_trained(reading: LogReading) -> bool:
    """Return whether the log reports a step with its result.

    A bare step number does not count: progress bars also load files, and settings have numbers.
    """
    if reading.trained_from is None or reading.trained_from < reading.tail_offset:
        return reading.trained_from is not None
    return STEP.search(reading.tail) is not None


def is_last_word(reading: LogReading, place: LinePosition, *, stopping: bool = False) -> bool:
    """Return whether next to nothing follows *place*, and no record of a logger among it.

    A program that announces there that it is *stopping* may add how it stops, but not that it has
    completed its work.
    """
    is_far = reading.lines - place.line > _FAR_FROM_END_LINES * _RANKS
    if place.offset < reading.tail_offset or is_far:
        return False
    lines = _read_lines_behind(reading, place)
    if len(lines) > _FAREWELL_LINES:
        return False
    if stopping:
        return not any(_COMPLETED.search(line) for line in lines)
    return len(lines) <= _LAST_WORD_LINES and not any(map(is_info_record, lines))


def _read_lines_behind(reading: LogReading, place: LinePosition) -> list[bytes]:
    """Return the different lines behind *place*, but no more than may follow the last word."""
    own, *after = canonicalize(reading.tail[place.offset - reading.tail_offset :]).split(b"\n")
    texts = {"", strip_prefixes(own).text.strip()}
    lines: list[bytes] = []
    for line in after:
        text = strip_prefixes(line).text.strip()
        if text not in texts:
            texts.add(text)
            lines.append(line)
        if len(lines) > _FAREWELL_LINES:
            break
    return lines


def is_info_record(line: bytes) -> bool:
    """Return whether *line* is a record of the logger of a program that goes on."""
    return _INFO_RECORD.search(line) is not None


def is_silent(reading: LogReading) -> bool:
    """Return whether no line at the end of the log is about a failure."""
    lines = canonicalize(reading.tail).rsplit(b"\n", _CLOSING_LINES)
    return not any(map(_FAILURE.search, lines[-_CLOSING_LINES:]))


def is_near_end(reading: LogReading, place: LinePosition) -> bool:
    """Return whether *place* is within the last few hundred lines."""
    return is_within(reading, place, _end_of(reading), _NEAR_END_LINES)


def is_within(reading: LogReading, first: LinePosition, last: LinePosition, most: int) -> bool:
    """Return whether *last* is at most *most* different lines behind *first*."""
    if last.line - first.line <= most:
        return True
    if last.line - first.line > most * _RANKS:
        return False
    count = reading.different_lines.count_between(first.offset, last.offset)
    return count is not None and count <= most


def _end_of(reading: LogReading) -> LinePosition:
    return LinePosition(reading.lines, reading.size)


def _tail_before(reading: LogReading, offset: int) -> bytes:
    return reading.tail[: max(0, offset - reading.tail_offset)]
