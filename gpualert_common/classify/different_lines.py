"""Distances in a log, counted in different lines: several ranks may write the same ones.

The lines are compared without the prefixes that name a rank or a time.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import canonicalize


class DifferentLines:
    """The different lines of the *tail* of a log, which stands at *tail_offset*.

    They are compared when they are first asked for, which takes 4 ms for a tail of 64 KiB.
    """

    def __init__(self, tail: bytes, tail_offset: int) -> None:
        self._tail = tail
        self._tail_offset = tail_offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DifferentLines):
            return NotImplemented
        return (self._tail, self._tail_offset) == (other._tail, other._tail_offset)

    __hash__ = None  # type: ignore[assignment]

    def count_between(self, first: int, last: int) -> int | None:
        """Return the number of different lines from offset *first* to offset *last*.

        A line that stands at *last* or later, too, does not count.  None if *first* is before the
        tail.
        """
        if first < self._tail_offset:
            return None
        return self._count_behind(first) - self._count_behind(last)

    def _count_behind(self, offset: int) -> int:
        behind = bisect_right(self._lines, -offset, key=lambda line: -line[0])
        return self._lines[behind - 1][1] if behind else 0

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        """The offset of each line, the last first, and the number of different lines behind it."""
        found: list[tuple[int, int]] = []
        texts: set[str] = set()
        at = self._tail_offset + len(self._tail) + 1
        for line in reversed(self._tail.split(b"\n")):
            at -= len(line) + 1
            texts.add(strip_prefixes(canonicalize(line)).text)
            found.append((at, len(texts)))
        return found
