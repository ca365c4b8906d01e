"""Reports of jobs, read in the background and kept for a time.

A job directory may be slow, may not answer, and may cost money for each request.  So a report is
read by a process with a deadline, a few at a time, and no request of a browser waits for it longer
than it chooses.  A directory that did not answer rests, so that it does not hold up the others.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable

from gpualert_common.jobs.job_report import JobState
from gpualert_common.jobs.reading.isolated_reading import JobReading, read_job
from gpualert_common.structs import replace
from gpualert_common.web.job_groups import JobPlace

FRESH_S = 5.0
"""Age up to which a report is shown again."""
SETTLED_S = 60.0
"""The same for a job that has ended, and for a directory that cannot be read."""
_REST = 10.0
"""A directory rests so many times as long as its reading took."""
_MOST_KEPT = 200
_MOST_WAITING = 64
_WORKERS = 3
_READING_S = 30.0
"""Limit for one reading: the digests of 750 nodes, one by one, from an object store."""
_SLOW_S = 5.0
"""A directory that failed after this time rests, for all its jobs."""
_SILENT = "the job directory has not answered"


class _Entry:
    """A job, its newest reading, and the time of the next one."""

    def __init__(self) -> None:
        self.reading: JobReading | None = None
        self.next_at = 0.0
        self.is_waiting = False


class JobReports:
    """The reports of jobs.  Its methods can be called by several threads.

    A report is shown again up to an age of ``fresh_s``, that of a job that has ended ``settled_s``.
    """

    def __init__(self, *, fresh_s: float = FRESH_S, settled_s: float = SETTLED_S) -> None:
        self._fresh_s = fresh_s
        self._settled_s = settled_s
        self._changed = threading.Condition()
        self._entries: OrderedDict[JobPlace, _Entry] = OrderedDict()
        self._waiting: deque[JobPlace] = deque()
        self._rests: dict[str, float] = {}
        self._workers = 0

    def read(
        self, places: Iterable[JobPlace], wait_s: float, *, is_urgent: bool = False
    ) -> dict[JobPlace, JobReading]:
        """Return what is known of jobs, once all have been read, or after ``wait_s``.

        Those that are too old are read again in the background; urgent ones before all others.
        """
        wanted = [place for place in dict.fromkeys(places) if place[0]]
        until = time.monotonic() + wait_s
        with self._changed:
            entries = [self._request(place, is_urgent=is_urgent) for place in wanted]
            while any(one.reading is None and one.is_waiting for one in entries):
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            pairs = zip(wanted, entries, strict=True)
            return {place: one.reading for place, one in pairs if one.reading is not None}

    def _request(self, place: JobPlace, *, is_urgent: bool) -> _Entry:
        entry = self._entries.setdefault(place, _Entry())
        self._entries.move_to_end(place)
        while len(self._entries) > _MOST_KEPT:
            self._entries.popitem(last=False)
        if is_urgent and place in self._waiting:
            self._waiting.remove(place)
            self._waiting.appendleft(place)
        is_due = time.monotonic() >= entry.next_at and not entry.is_waiting
        if is_due and (is_urgent or len(self._waiting) < _MOST_WAITING):
            entry.is_waiting = True
            if is_urgent:
                self._waiting.appendleft(place)
            else:
                self._waiting.append(place)
            if self._workers < _WORKERS:
                self._workers += 1
                threading.Thread(target=self._work, name="gpualert-jobs", daemon=True).start()
        return entry

    def _work(self) -> None:
        """Read jobs until none waits."""
        while True:
            with self._changed:
                if not self._waiting:
                    self._workers -= 1
                    return
                place = self._waiting.popleft()
                if place not in self._entries:
                    continue  # so many others were asked for meanwhile
                is_resting = self._rests.get(place[0], 0.0) > time.monotonic()
            began = time.monotonic()
            reading = (
                JobReading(problem=_SILENT, read_at=time.time())
                if is_resting
                else read_job(*place, deadline_s=_READING_S)
            )
            self._keep(place, reading, time.monotonic() - began)

    def _keep(self, place: JobPlace, reading: JobReading, took_s: float) -> None:
        with self._changed:
            if reading.report is None and took_s >= _SLOW_S:
                self._rests[place[0]] = time.monotonic() + self._settled_s
            entry = self._entries.get(place)
            if entry is None:
                return
            before = entry.reading
            if reading.report is None and before is not None and before.report is not None:
                reading = replace(before, problem=reading.problem)
            report = reading.report
            is_over = report is None or (report.state is JobState.ENDED and report.is_settled)
            rest = max(self._settled_s if is_over else self._fresh_s, _REST * took_s)
            entry.reading, entry.is_waiting = reading, False
            entry.next_at = time.monotonic() + rest
            self._changed.notify_all()
