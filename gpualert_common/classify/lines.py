r"""Lines of a log in the form that patterns are matched against.

A line ends at ``\n`` or ``\r`` (a progress bar redraws itself behind ``\r``).  Line *numbers*
count ``\n`` only, so that they agree with ``sed -n 12p`` and every editor; the *offset* of a line
is that of its first byte in the file.  Of a line longer than :data:`LINE_CAP` each
:data:`LINE_CAP` bytes are a line of their own with the same number, so that memory stays flat
whatever a program writes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

LINE_CAP = 64 * 1024
"""Bytes after which a line without an end is cut."""

_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    rb"|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    rb"|[@-Z\\^_])"  # two-byte escapes
)


def canonicalize(raw: bytes) -> bytes:
    r"""Return *raw* with ``\n`` for ``\r``, without escape sequences, and with as many lines."""
    if b"\r" in raw:
        raw = raw.replace(b"\r", b"\n")
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    return raw


def split_long_lines(raw: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of *raw* up to *end*, which begins with a line: as many whole lines as
    possible, or the next :data:`LINE_CAP` bytes of a longer line."""
    begin = at = 0
    while at < end:
        most = at + LINE_CAP
        next_line = max(raw.rfind(b"\n", at, most), raw.rfind(b"\r", at, most)) + 1
        if not next_line and most <= end:
            if begin < at:
                yield begin, at
            yield at, most
            begin = most
        at = next_line or most
    if begin < end:
        yield begin, end


def find_last_lines(text: bytes, count: int) -> int:
    """Return the start of the last *count* lines of *text*."""
    at = len(text)
    for _line in range(count + 1):
        at = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at))
        if at < 0:
            return 0
    return at + 1


class LinePosition(NamedTuple):
    """The number of a line, from 1, and the offset of its first byte."""

    line: int
    offset: int


class LogRegion:
    """Whole lines of a log: searched in ``text``, cited by their position in the file.

    Positions must be requested in ascending order, so that counting lines stays linear.
    """

    def __init__(self, raw: bytes, offset: int, line: int) -> None:
        self.raw = raw
        self.text = canonicalize(raw)
        self._offset = offset
        self._line = line
        self._counted = 0

    def split_line(self, start: int) -> Iterator[tuple[LinePosition, bytes]]:
        """Yield the line that begins at *start* of ``text``, a long one in several pieces."""
        begin, end = self._raw_span(start)
        self._line += self.raw.count(b"\n", self._counted, begin)
        self._counted = begin
        for at in range(begin, max(end, begin + 1), LINE_CAP):
            piece = self.raw[at : min(end, at + LINE_CAP)]
            yield LinePosition(self._line, self._offset + at), canonicalize(piece)

    def find_offset(self, start: int) -> int:
        """Return the offset in the file of the line that begins at *start* of ``text``."""
        return self._offset + self._raw_span(start)[0]

    def _raw_span(self, start: int) -> tuple[int, int]:
        if len(self.text) == len(self.raw):
            end = self.text.find(b"\n", start)
            return start, len(self.raw) if end < 0 else end
        # Escape sequences hold no line ends, so the n-th line is the n-th in both.
        number = bisect_left(self._text_ends, start)
        raw_ends = self._raw_ends
        begin = raw_ends[number - 1] + 1 if number else 0
        return begin, raw_ends[number] if number < len(raw_ends) else len(self.raw)

    @cached_property
    def _text_ends(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"\n", self.text)]

    @cached_property
    def _raw_ends(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"[\r\n]", self.raw)]
