"""Limits of the lines that are read closely: they bound the work on a log full of evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from gpualert_common.classify.log_reading import COUNT_LIMIT
from gpualert_common.classify.probes import Probe

FEW_LINES = 8
"""Lines that every probe may select, however many others did: as many as a reading keeps of a
pattern."""

ALL_LINES = 4 * COUNT_LIMIT
"""Lines that all probes may select together: a fraction of a second of work."""

_LINE_BYTES = 512
"""A line counts once for so many of its bytes, because each of them is searched."""


class LineQuota:
    """Counts the lines that each probe selected, and all of them."""

    def __init__(self) -> None:
        self._of_probe = Counter[Probe]()
        self._total = 0

    @property
    def probes(self) -> Collection[Probe]:
        """The probes that selected a line."""
        return self._of_probe.keys()

    def count(self, probes: Collection[Probe], length: int) -> None:
        """Count a line of *length* bytes that *probes* selected."""
        lines = 1 + length // _LINE_BYTES
        for probe in probes:
            self._of_probe[probe] += lines
        self._total += lines * len(probes)

    def is_spent(self, probe: Probe) -> bool:
        """True when *probe* may select no further line."""
        lines = self._of_probe.get(probe, 0)
        return lines >= FEW_LINES and self._total >= ALL_LINES
