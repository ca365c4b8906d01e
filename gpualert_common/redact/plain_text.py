"""Text without terminal escape sequences, with a map to positions in the original."""

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
    """*raw* with its escape sequences removed, in ``text``."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = _ESCAPE.sub(b"", raw) if b"\x1b" in raw else raw

    @property
    def has_escapes(self) -> bool:
        """True when *raw* contains an escape sequence."""
        return len(self.text) != len(self.raw)

    def map_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in ``raw`` of the non-empty ``text[start:end]``."""
        return self._map_position(start), self._map_position(end - 1) + 1

    def clip(self, start: int, end: int) -> tuple[int, int]:
        """Return the span without a sequence that crosses its start or end.

        A sequence that contains the whole span, or that can contain text, is not removed.
        """
        starts, ends = self._textless
        before = bisect_left(starts, start) - 1
        if before >= 0 and start < ends[before] < end:
            start = ends[before]
        last = bisect_left(starts, end) - 1
        if last >= 0 and start < starts[last] and end <= ends[last]:
            end = starts[last]
        return start, end

    def _map_position(self, at: int) -> int:
        cuts, removed = self._cuts
        return at + removed[bisect_right(cuts, at)]

    @cached_property
    def _escapes(self) -> tuple[list[int], list[int]]:
        spans = [match.span() for match in _ESCAPE.finditer(self.raw)]
        return [start for start, _ in spans], [end for _, end in spans]

    @cached_property
    def _textless(self) -> tuple[list[int], list[int]]:
        """Starts and ends of the sequences that cannot contain text."""
        pairs = [pair for pair in zip(*self._escapes, strict=True) if self._is_textless(pair[0])]
        return [start for start, _ in pairs], [end for _, end in pairs]

    def _is_textless(self, start: int) -> bool:
        return not self.raw.startswith(b"\x1b]", start)

    @cached_property
    def _cuts(self) -> tuple[list[int], list[int]]:
        """Positions in ``text`` of removed sequences, and the total length removed before each."""
        cuts, removed = [], [0]
        for start, end in zip(*self._escapes, strict=True):
            cuts.append(start - removed[-1])
            removed.append(removed[-1] + end - start)
        return cuts, removed
