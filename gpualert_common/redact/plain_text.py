"""Text without what a reader does not see, with a map to positions in the original.

That are escape sequences of a terminal, characters without width, soft hyphens, NULs and
backspaces.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

_HIDDEN = (
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    rb"|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    rb"|[ -/]+[0-~]"  # character sets
    rb"|[@-Z\\^_])"  # two-byte escapes
    rb"|[\x00\x08]+"
    rb"|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf|\xc2\xad"
)
_CHARACTERS = (b"\xe2\x80", b"\xe2\x81", b"\xef\xbb\xbf", b"\xc2\xad")
"""The first bytes of the characters without width."""
_ERASED = re.compile(rb"[^\x08\r\n]\x08|" + _HIDDEN)
"""As a terminal shows it: a backspace takes back the character before it."""
_SPLIT = re.compile(_HIDDEN)


def list_readings(raw: bytes) -> list[PlainText]:
    """Return *raw* as it can be read without its hidden parts; empty when it has none.

    Two readings of a backspace are possible: it is noise, or it erases a character.
    """
    if not _has_hidden_parts(raw):
        return []
    expressions = (_SPLIT, _ERASED) if b"\b" in raw else (_SPLIT,)
    return [PlainText(raw, expression) for expression in expressions]


def _has_hidden_parts(raw: bytes) -> bool:
    if b"\x1b" in raw or b"\0" in raw or b"\b" in raw:
        return True
    return not raw.isascii() and any(start in raw for start in _CHARACTERS)


class PlainText:
    """*raw* without the parts that match *hidden*, in ``text``."""

    def __init__(self, raw: bytes, hidden: re.Pattern[bytes]) -> None:
        self.raw = raw
        self.text = hidden.sub(b"", raw)
        self._hidden = hidden

    def map_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in ``raw`` of the non-empty ``text[start:end]``."""
        return self._map_position(start), self._map_position(end - 1) + 1

    def clip(self, start: int, end: int) -> tuple[int, int]:
        """Return the span without a hidden part that crosses its start or end.

        A part that contains the whole span, or that can contain text, is not removed.
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
    def _parts(self) -> tuple[list[int], list[int]]:
        spans = [match.span() for match in self._hidden.finditer(self.raw)]
        return [start for start, _ in spans], [end for _, end in spans]

    @cached_property
    def _textless(self) -> tuple[list[int], list[int]]:
        """Starts and ends of the parts that cannot contain text."""
        pairs = [pair for pair in zip(*self._parts, strict=True) if self._is_textless(pair[0])]
        return [start for start, _ in pairs], [end for _, end in pairs]

    def _is_textless(self, start: int) -> bool:
        return not self.raw.startswith(b"\x1b]", start)

    @cached_property
    def _cuts(self) -> tuple[list[int], list[int]]:
        """Positions in ``text`` of the hidden parts, and the total length removed before each."""
        cuts, removed = [], [0]
        for start, end in zip(*self._parts, strict=True):
            cuts.append(start - removed[-1])
            removed.append(removed[-1] + end - start)
        return cuts, removed
