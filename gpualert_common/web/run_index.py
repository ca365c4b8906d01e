"""Runs of the state directories, newest first, kept in memory between requests."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence

from gpualert_common.current_condition import find_unsupervised
from gpualert_common.errors import RecordError, UsageError
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.listing.summary_cache import SummaryCache
from gpualert_common.record import Record
from gpualert_common.record_locations import RUNS, list_record_paths

_FRESH_S = 2.0
"""Age up to which a list without new or removed records is shown again: several pages refresh
themselves at a time."""
_BUSY_S = 20.0
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class UnknownRunError(UsageError):
    """No run has this id."""


class BusyIndexError(Exception):
    """Another request has been reading the records for too long."""


class RunIndex:
    """The runs of some state directories.  Its methods can be called by several threads."""

    def __init__(self, places: Sequence[str]) -> None:
        self._places = tuple(places)
        self._caches = {place: SummaryCache(place) for place in places}
        self._lock = threading.Lock()
        self._runs: tuple[RunSummary, ...] = ()
        self._read_at = float("-inf")
        self._stamp: tuple[int, ...] = ()

    def list_runs(self) -> tuple[RunSummary, ...]:
        """Return all runs, newest first.  Raises BusyIndexError if the disk does not answer."""
        if not self._lock.acquire(timeout=_BUSY_S):
            raise BusyIndexError
        try:
            stamp = tuple(map(_read_change_time, self._places))
            if stamp != self._stamp or time.monotonic() - self._read_at > _FRESH_S:
                self._runs = tuple(self._read())
                self._read_at = time.monotonic()
                self._stamp = stamp
            return self._runs
        finally:
            self._lock.release()

    def open_record(self, run_id: str) -> Record:
        """Return the record of a run by its whole id; the caller closes it.

        Raises UnknownRunError if there is none, RecordError if it cannot be trusted.
        """
        if _RUN_ID.fullmatch(run_id):
            for place in self._places:
                path = os.path.join(place, RUNS, run_id)
                if os.path.lexists(path):
                    return Record.open(path)
        raise UnknownRunError("There is no run with this id, or it was removed.")

    def _read(self) -> list[RunSummary]:
        found = []
        for path in reversed(list_record_paths(self._places)):
            cache = self._caches[os.path.dirname(os.path.dirname(path))]
            try:
                run = cache.summarize(path)
            except (RecordError, OSError):
                continue  # it was removed meanwhile
            if run is not None:
                found.append(find_unsupervised(run))
        for cache in self._caches.values():
            if not cache.problem:
                cache.store()
        return found


def _read_change_time(place: str) -> int:
    """Return a number that changes when a record is added or removed."""
    try:
        return os.stat(os.path.join(place, RUNS)).st_mtime_ns
    except OSError:
        return 0
