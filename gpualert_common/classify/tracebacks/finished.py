"""The exceptions that were read to their end: the first and the last of a log, and their number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from gpualert_common.classify.observations import Observation
from gpualert_common.classify.tracebacks.traceback import Traceback
from gpualert_common.structs import replace

_MAX_FIRST = 16
_MAX_LAST = 48
_LINES_PER_TRACEBACK = 64
"""Lines read for the exceptions up to the limit, on average."""

Recognize = Callable[[str, Traceback], tuple[Observation, ...]]
"""Returns the observations in the whole text of an exception."""


class FinishedTracebacks:
    """Heads of chains: at most the first 16 and the last 48 are kept; ``count`` has them all."""

    def __init__(self, recognize: Recognize, limit: int) -> None:
        """After *limit* exceptions ``is_full`` is True; more may be added nevertheless."""
        self._recognize = recognize
        self._limit = limit
        self._first: list[Traceback] = []
        self._last: deque[Traceback] = deque(maxlen=_MAX_LAST)
        self._finished = 0
        self._lines_read = 0
        self.count = 0

    @property
    def is_full(self) -> bool:
        """True when so many exceptions were finished, or so many lines read for them, that no
        further traceback is to be begun."""
        return self._finished >= self._limit or self.has_read_all

    @property
    def has_read_all(self) -> bool:
        """True when so many lines were read that unfinished exceptions are to be given up."""
        return self._lines_read >= self._limit * _LINES_PER_TRACEBACK

    @property
    def in_order(self) -> tuple[Traceback, ...]:
        """The kept exceptions in the order of their ends."""
        return tuple(sorted((*self._first, *self._last), key=lambda one: one.end.offset))

    def add(self, traceback: Traceback, text: str) -> Traceback:
        """Keep *traceback*, and return it with the whole *text* of its message and observations."""
        traceback = replace(traceback, text=text)
        traceback = replace(traceback, observations=self._recognize(text, traceback))
        self.count += 1
        self._finished += 1
        kept = self._first if len(self._first) < _MAX_FIRST else self._last
        kept.append(traceback)
        return traceback

    def count_line(self) -> None:
        """Count a line that was read for the exceptions."""
        self._lines_read += 1

    def remove(self, traceback: Traceback) -> None:
        """Drop *traceback* from the heads: another one has taken its place."""
        for kept in (self._last, self._first):
            for index, one in enumerate(kept):
                if one is traceback:
                    del kept[index]
                    self.count -= 1
                    return


def merge_tracebacks(
    earlier: Iterable[Traceback], later: Iterable[Traceback]
) -> tuple[Traceback, ...]:
    """Return *earlier*, then those of *later* that begin after the end of all of them."""
    kept = list(earlier)
    end = max((traceback.end.offset for traceback in kept), default=-1)
    return (*kept, *(one for one in later if one.start.offset > end))
