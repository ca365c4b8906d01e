"""Marks of progress in a log: cheap signs that a training went on behind a place.

They order what is in a log, in one pass of the scanner; they say nothing about the training.
Its steps and losses are read by :mod:`gpualert_common.progress`, which costs more per line, and
which stands above this package.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

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


_SEARCHED_BYTES = 4 << 10
"""Bytes that are searched at a time: some forty lines, in less than half a millisecond."""


class ProgressMarks:
    """Marks of progress in the *tail* of a log, which stands at *tail_offset*.

    They are searched from the end, and only as far back as they are asked for: a verdict waits for
    it, a tail full of them takes 6 ms, and most failures are in the last lines.
    """

    def __init__(self, tail: bytes, tail_offset: int) -> None:
        self._tail = tail
        self._tail_offset = tail_offset
        self._begin = len(tail)
        self._steps: set[tuple[bytes | None, ...]] = set()
        self._found: list[tuple[int, int]] = []

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgressMarks):
            return NotImplemented
        return (self._tail, self._tail_offset) == (other._tail, other._tail_offset)

    __hash__ = None  # type: ignore[assignment]

    def count_steps(self, offset: int, until: int) -> int:
        """Return the number of different steps from the first mark at *offset* or later to the end.

        Returns 0 if there is no such mark before *until*.
        """
        while self._begin and self._tail_offset + self._begin > offset:
            self._search_back()
        behind = bisect_right(self._found, -offset, key=lambda mark: -mark[0])
        at, steps = self._found[behind - 1] if behind else (until, 0)
        return steps if at < until else 0

    def _search_back(self) -> None:
        """Search the lines before those that were searched."""
        end, most = self._begin, max(0, self._begin - _SEARCHED_BYTES)
        self._begin = max(self._tail.rfind(b"\n", 0, most), self._tail.rfind(b"\r", 0, most)) + 1
        for match in reversed(list(PROGRESS_MARK.finditer(self._tail, self._begin, end))):
            self._steps.add(match.groups())
            self._found.append((self._tail_offset + match.start(), len(self._steps)))
