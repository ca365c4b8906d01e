"""The lines of a text that probes select, in their order, each searched for only when its turn
comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from gpualert_common.classify.probes import Probe


class SelectedLines:
    """Lines of *text* that any of *probes* selects.

    A probe for which *is_exhausted* returns True selects no further line, so that a text in which
    every line is evidence is not searched to its end.  Lines must be requested in ascending order.
    """

    def __init__(
        self, text: bytes, probes: Iterable[Probe], is_exhausted: Callable[[Probe], bool]
    ) -> None:
        self._text = text
        self._is_exhausted = is_exhausted
        self._ahead: list[tuple[int, int, Probe]] = []
        for number, probe in enumerate(probes):
            self._search(number, probe, 0)

    def find_next(self, at: int) -> int:
        """Return the start of the first selected line at *at* or later, else the text's length."""
        while self._ahead:
            start, number, probe = self._ahead[0]
            if start >= at and not self._is_exhausted(probe):
                return start
            heappop(self._ahead)
            self._search(number, probe, at)
        return len(self._text)

    def take(self, start: int) -> list[Probe]:
        """Return the probes that select the line at *start*."""
        found = []
        while self.find_next(start) == start and self._ahead:
            _, number, probe = heappop(self._ahead)
            found.append(probe)
            end = self._text.find(b"\n", start)
            if end >= 0:
                self._search(number, probe, end + 1)
        return found

    def _search(self, number: int, probe: Probe, at: int) -> None:
        if not self._is_exhausted(probe):
            start = probe.find_line(self._text, at)
            if start is not None:
                heappush(self._ahead, (start, number, probe))
