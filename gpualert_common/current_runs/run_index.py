"""Runs of the state directories, newest first, kept in memory between requests."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence

from gpualert_common.abandoned_runs import start_recovery
from gpualert_common.current_condition import find_unsupervised
from gpualert_common.errors import RecordError, UsageError
from gpualert_common.listing.condition import Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.listing.summary_cache import SummaryCache
from gpualert_common.record import Record
from gpualert_common.record_locations import RUNS, list_record_paths
from gpualert_common.recover import is_abandoned, may_have_ended_in_slurm

_FRESH_S = 2.0
"""Age up to which a list without new or removed records is shown again: several pages refresh
themselves at a time."""
_BUSY_S = 20.0
_RECOVERY_PAUSE_S = 60.0
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class UnknownRunError(UsageError):
    """No run has this id."""


class ServerBusyError(Exception):
    """Other requests have taken too long."""


class RunIndex:
    """The runs of some state directories.  Its methods can be called by several threads.

    ``refused`` is the number of records that were left out by the last list, because another user
    can change them.
    """

    def __init__(self, places: Sequence[str]) -> None:
        self._places = tuple(places)
        self._caches = {place: SummaryCache(place) for place in places}
        self._lock = threading.Lock()
        self._runs: tuple[RunSummary, ...] = ()
        self._read_at = float("-inf")
        self._stamp: tuple[int, ...] = ()
        self._recovered_at = float("-inf")
        self.refused = 0

    def list_runs(self) -> tuple[RunSummary, ...]:
        """Return all runs, newest first.  Raises ServerBusyError if the disk does not answer."""
        if not self._lock.acquire(timeout=_BUSY_S):
            raise ServerBusyError
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
        refused = 0
        for path in reversed(list_record_paths(self._places)):
            cache = self._caches[os.path.dirname(os.path.dirname(path))]
            try:
                run = cache.summarize(path)
            except (RecordError, OSError):
                continue  # it was removed meanwhile
            if run is None:
                refused += 1
            else:
                found.append(find_unsupervised(run))
        self.refused = refused
        for cache in self._caches.values():
            if not cache.problem:
                cache.store()
        self._finish_abandoned(found)
        return found

    def _finish_abandoned(self, runs: Sequence[RunSummary]) -> None:
        """Have the runs whose supervisor died finished in the background, as each command does."""
        if time.monotonic() - self._recovered_at < _RECOVERY_PAUSE_S:
            return
        if any(run.condition is Condition.LOST and _is_abandoned(run.path) for run in runs):
            self._recovered_at = time.monotonic()
            start_recovery(self._places)


def _is_abandoned(path: str) -> bool:
    """Return True if a run was abandoned, or if a process in the background has to ask Slurm."""
    try:
        record = Record.open(path)
        try:
            return is_abandoned(record, asks_slurm=False) or may_have_ended_in_slurm(record)
        finally:
            record.close()
    except (RecordError, OSError):
        return False  # it was removed meanwhile, or is damaged


def _read_change_time(place: str) -> int:
    """Return a number that changes when a record is added or removed."""
    try:
        return os.stat(os.path.join(place, RUNS)).st_mtime_ns
    except OSError:
        return 0
