"""The common time of a job, for a reader that has no file of its own in the job directory.

The clock of the reader may be ahead: runs that go on would look silent.  The newest digest is not
in the future, so that a run is certainly silent if it is so at that time.  A run on this host knows
the offset of the clock here.  Without one, where only the clock of the reader says that a run is
silent, it waits for a renewal: one that appears shows the common time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gpualert_common.jobs.job_report import JobReport, NodeState
from gpualert_common.jobs.reading.job_reading import JobReader

_WAIT_S = 12.0
"""Time in which a run of a small job, and the reference of a large one, renews its digest."""
_POLL_S = 1.0
_MOST_AHEAD_S = 3600.0
"""Age of the newest digest from which on the job is over: no clock is that far ahead."""


class ReaderClock:
    """Clock of a reader of jobs in one store; it waits for renewals once.

    ``note`` gets a sentence for people before it waits.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
        note: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._now = now
        self._pause = pause
        self._note = note
        self._ahead_s = 0.0
        self._left_s = _WAIT_S

    def conclude(
        self, reader: JobReader, until: float, attempt: int | None = None
    ) -> JobReport | None:
        """Return the report of a job as it is now; None without a digest.

        Waits for a renewal up to the time *until* by the monotonic clock.
        """
        report = reader.conclude(self._find_now(reader), attempt=attempt)
        if report is not None and self._is_doubtful(report, reader, attempt):
            self._await_renewal(reader, until)
            report = reader.conclude(self._find_now(reader), attempt=attempt)
        return report

    def _find_now(self, reader: JobReader) -> float:
        offset_s = self._find_offset(reader)
        ahead_s = self._ahead_s if offset_s is None else offset_s
        return max(self._now() - ahead_s, reader.heard_at)

    def _find_offset(self, reader: JobReader) -> float | None:
        """Return the offset of the clock here by a recent run on this host; None without one."""
        here = reader.newest_here
        if here is None or abs(self._now() - here.at) > _MOST_AHEAD_S:
            return None
        return here.clock.offset_s

    def _is_doubtful(self, report: JobReport, reader: JobReader, attempt: int | None) -> bool:
        """Return whether the clock of the reader alone says that nodes are silent."""
        silent = _count_silent(report)
        if not silent or self._left_s <= 0.0 or self._find_offset(reader) is not None:
            return False
        age_s = self._find_now(reader) - reader.heard_at
        if not _WAIT_S < age_s < _MOST_AHEAD_S:
            return False
        earlier = reader.conclude(reader.heard_at, attempt=attempt)
        return earlier is None or _count_silent(earlier) < silent

    def _await_renewal(self, reader: JobReader, until: float) -> None:
        """Compare the clock with the first renewal that appears."""
        before = reader.heard_at
        self._note(f"nodes look silent; waiting up to {self._left_s:g} s for a sign of life")
        while self._left_s > 0.0 and time.monotonic() < until:
            self._pause(_POLL_S)
            self._left_s -= _POLL_S
            if reader.read_all(until) is None and reader.heard_at > before:
                self._ahead_s = self._now() - reader.heard_at
                return


def _count_silent(report: JobReport) -> int:
    return sum(node.state is NodeState.SILENT for node in report.nodes)
