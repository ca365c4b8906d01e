"""Lines before and after a failure, and which of them are about the work of the program."""

from __future__ import annotations

from typing import Any

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.handled.work_words import NOT_OWN, STEP, TROUBLE
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.log_reading import LogReading


def lines_around(one: Candidate, reading: LogReading) -> tuple[list[bytes], list[bytes]]:
    """Return the lines before and after a failure that are not blank, without escape sequences."""
    start, end = one.place.offset, one.place.offset
    rows = 1
    if one.head is not None:
        start, end = one.head.chain()[0].start.offset, one.head.end.offset
        rows = one.head.text.count("\n") + 1
    at = reading.tail_offset
    before = canonicalize(reading.tail[: max(0, start - at)]).split(b"\n")
    after = canonicalize(reading.tail[max(0, end - at) :]).split(b"\n")[rows:]
    return [line for line in before if line.strip()], [line for line in after if line.strip()]


def own_lines(lines: list[bytes]) -> list[bytes]:
    """Return *lines* without those of a shell that traces its commands, and their output."""
    return [
        line
        for previous, line in zip([b"", *lines], lines, strict=False)
        if not NOT_OWN.search(line) and not previous.startswith(b"+ echo")
    ]


def good_lines(lines: list[bytes]) -> list[bytes]:
    """Return those of the program's own lines that are not about trouble."""
    return [line for line in own_lines(lines) if not TROUBLE.search(line)]


def ends_with(lines: list[bytes], words: Any) -> bool:
    """Return whether a line with *words* follows the last step among *lines*."""
    for line in reversed(lines):
        if words.search(line):
            return True
        if STEP.search(line):
            return False
    return False
