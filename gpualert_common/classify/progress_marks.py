"""Marks of progress in a log: cheap signs that a training went on behind a place.

They order what is in a log, in one pass of the scanner; they say nothing about the training.
Its steps and losses are read by :mod:`gpualert_common.progress`, which costs more per line, and
which stands above this package.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from gpualert_common.regex import compile_bytes

PROGRESS_MARK: Final = compile_bytes(
    rb"\b(?:global_?|Global_?)?(?:[Ss]tep|[Ii]ter(?:ation)?|[Ee]poch|[Bb]atch|[Uu]pdate|EPOCH)s?\b"
    rb"[ :=#\[(]{0,3}(\d{1,12})"
    rb"|\b(?:[Rr]ound|[Ee]pisode|ROUND)\b[ :=#\[(]{0,3}(\d{1,12})[^\r\n]{0,80}?"
    rb"(?:loss|acc|auc|score|reward|return|mse|f1|ppl)"
    rb"|\b(\d{1,9})/\d{1,9} \[\d+:\d\d"
    rb"|['\"]epoch['\"]: ['\"]?([\d.]{1,16})"
)
"""A step or an epoch with its number, which is in a group."""

_BAR = 3
"""The group of a progress bar."""

_LINE_END: Final = re.compile(rb"[\r\n]")

_SEARCHED_BYTES = 4 << 10
"""Bytes that are searched at a time: some forty lines, in less than half a millisecond."""

_MARKS_BEFORE = 2
"""Number of marks before a place whose steps may be drawn again behind it, one for each bar."""

_Step = tuple[bytes | None, ...]
"""The numbers in one line."""


class _Mark(NamedTuple):
    """A line with a step: its offset, and the number of different steps from it to the end."""

    offset: int
    step: _Step
    is_bar: bool
    steps: int


class ProgressMarks:
    """Marks of progress in the *tail* of a log, which stands at *tail_offset*.

    They are searched from the end, and only as far back as they are asked for: a verdict waits for
    it, a tail full of them takes 6 ms, and most failures are in the last lines.
    """

    def __init__(self, tail: bytes, tail_offset: int) -> None:
        self._tail = tail
        self._tail_offset = tail_offset
        self._begin = len(tail)
        self._found: list[_Mark] = []
        self._last: dict[_Step, int] = {}
        """For each step the number of its last mark in :attr:`_found`."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgressMarks):
            return NotImplemented
        return (self._tail, self._tail_offset) == (other._tail, other._tail_offset)

    __hash__ = None  # type: ignore[assignment]

    def count_steps(self, offset: int, until: int) -> int:
        """Return the number of different steps from the first mark at *offset* or later to the end.

        Steps of the last bars before it do not count: they are drawn again after a failure, too.
        Returns 0 if there is no such mark before *until*.
        """
        self._search_back_to(offset)
        behind = bisect_right(self._found, -offset, key=lambda mark: -mark.offset)
        if not behind or self._found[behind - 1].offset >= until:
            return 0
        least = offset - _SEARCHED_BYTES
        if len(self._found) < behind + _MARKS_BEFORE:
            self._search_back_to(least)
        before = self._found[behind : behind + _MARKS_BEFORE]
        bars = {one.step for one in before if one.is_bar and one.offset >= least}
        return self._found[behind - 1].steps - sum(self._last[step] < behind for step in bars)

    def _search_back_to(self, offset: int) -> None:
        while self._begin and self._tail_offset + self._begin > offset:
            self._search_back()

    def _search_back(self) -> None:
        """Search the lines before those that were searched."""
        end, most = self._begin, max(0, self._begin - _SEARCHED_BYTES)
        self._begin = max(self._tail.rfind(b"\n", 0, most), self._tail.rfind(b"\r", 0, most)) + 1
        for line in reversed(list(_split_by_line(self._tail, self._begin, end))):
            step = tuple(number for match in line for number in match.groups())
            self._last.setdefault(step, len(self._found))
            offset = self._tail_offset + line[0].start()
            is_bar = any(match[_BAR] for match in line)
            self._found.append(_Mark(offset, step, is_bar, len(self._last)))


def _split_by_line(text: bytes, begin: int, end: int) -> Iterator[list[re.Match[bytes]]]:
    """Yield the marks of each line: a bar has epoch and step of one state."""
    line: list[re.Match[bytes]] = []
    for match in PROGRESS_MARK.finditer(text, begin, end):
        if line and _LINE_END.search(text, line[-1].end(), match.start()):
            yield line
            line = []
        line.append(match)
    if line:
        yield line
