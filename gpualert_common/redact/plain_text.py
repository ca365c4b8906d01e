"""Text without terminal escape sequences, and the way back to where it stood."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    rb"|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    rb"|[ -/]+[0-~]"  # character sets
    rb"|[@-Z\\^_])"  # two-byte escapes
)


class PlainText:
    """*raw* as a terminal shows it, in ``text``."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = _ESCAPE.sub(b"", raw) if b"\x1b" in raw else raw

    @property
    def differs(self) -> bool:
        """True when there was a sequence to take out."""
        return len(self.text) != len(self.raw)

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Where in ``raw`` the bytes stand that are ``text[start:end]``; not empty."""
        return self._raw(start), self._raw(end - 1) + 1

    def clip(self, start: int, end: int) -> tuple[int, int]:
        """``raw[start:end]`` without a sequence that begins before it or ends behind it.

        Unless it lies in that sequence whole, or that sequence can hold text: then it is left.
        """
        starts, ends = self._silent
        before = bisect_left(starts, start) - 1
        if before >= 0 and start < ends[before] < end:
            start = ends[before]
        last = bisect_left(starts, end) - 1
        if last >= 0 and start < starts[last] and end <= ends[last]:
            end = starts[last]
        return start, end

    def _raw(self, at: int) -> int:
        cuts, removed = self._cuts
        return at + removed[bisect_right(cuts, at)]

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        spans = [match.span() for match in _ESCAPE.finditer(self.raw)]
        return [start for start, _ in spans], [end for _, end in spans]

    @cached_property
    def _silent(self) -> tuple[list[int], list[int]]:
        """The places of sequences that hold no text."""
        pairs = [pair for pair in zip(*self._places, strict=True) if self._is_silent(pair[0])]
        return [start for start, _ in pairs], [end for _, end in pairs]

    def _is_silent(self, start: int) -> bool:
        return not self.raw.startswith(b"\x1b]", start)

    @cached_property
    def _cuts(self) -> tuple[list[int], list[int]]:
        """Where in ``text`` something is gone, and how much before each of these and after all."""
        cuts, removed = [], [0]
        for start, end in zip(*self._places, strict=True):
            cuts.append(start - removed[-1])
            removed.append(removed[-1] + end - start)
        return cuts, removed
