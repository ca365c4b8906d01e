"""Reading of all runs for one page of metrics."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.current_runs.live_runs import LiveRun, LiveRunReader
from gpualert_common.current_runs.run_index import RunIndex
from gpualert_common.errors import RecordError
from gpualert_common.exporter.totals import Totals, TotalsFile
from gpualert_common.listing.condition import LIVE, Condition
from gpualert_common.listing.run_summary import RunSummary, name_user
from gpualert_common.notify.entry import UNSENT, EntryState
from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from gpualert_common.record.marks import UNDELIVERED
from gpualert_common.structs import Struct

MOST_OUTBOXES = 1000
"""Records whose alerts are counted; each takes half a millisecond."""


class RunLimits(Struct, frozen=True):
    """The runs that have time series of their own.

    They are those in progress, and those that ended in the last ``ended_s`` seconds; of more than
    ``most`` the newest.
    """

    ended_s: float
    most: int


class Reading(Struct, frozen=True, kw_only=True):
    """All runs at one moment, as ``user`` may see them.

    ``runs`` have time series of their own; ``left_out`` is the number of those for which there are
    too many.  ``unreadable`` counts damaged records and those that another user can change.
    ``alerts`` counts those that are not sent.  ``totals`` are of all runs that ended, None until
    their file has been read; they are ``is_durable`` if they survive a restart.  ``failures``
    counts readings that failed.
    """

    user: str
    at: float
    duration_s: float
    conditions: Mapping[Condition, int]
    runs: tuple[LiveRun, ...]
    left_out: int
    unreadable: int
    alerts: Mapping[EntryState, int]
    oldest_pending_at: float | None
    totals: Totals | None
    is_durable: bool
    failures: int = 0


class RunReader:
    """Reader of all runs in some state directories.  Not thread-safe."""

    def __init__(self, places: Sequence[str], limits: RunLimits) -> None:
        self._places = tuple(places)
        self._limits = limits
        self._index = RunIndex(places)
        self._live: dict[str, LiveRunReader] = {}
        self._totals = TotalsFile(self._places[0])

    def read(self) -> Reading:
        """Return the runs as they are now.  Raises OSError, ServerBusyError."""
        began = time.monotonic()
        all_runs = self._index.list_runs()
        chosen = sorted(self._choose(all_runs), key=lambda run: run.condition not in LIVE)
        runs = tuple(self._read_live(chosen[: self._limits.most]))
        alerts, oldest_pending_at = self._count_alerts(run.summary.path for run in runs)
        conditions = Counter(run.condition for run in all_runs)
        totals = self._totals.update(all_runs)
        return Reading(
            user=name_user(os.geteuid()),
            at=time.time(),
            duration_s=time.monotonic() - began,
            conditions={condition: conditions[condition] for condition in Condition},
            runs=runs,
            left_out=len(chosen) - len(runs),
            unreadable=conditions[Condition.DAMAGED] + self._index.refused,
            alerts=alerts,
            oldest_pending_at=oldest_pending_at,
            totals=totals,
            is_durable=not self._totals.problem,
        )

    def _choose(self, runs: Iterable[RunSummary]) -> Iterator[RunSummary]:
        """Yield the runs in progress and those that ended lately; clocks may differ."""
        now = time.time()
        for run in runs:
            ended_at = float("-inf") if run.ended_at is None else run.ended_at
            if run.condition in LIVE or abs(now - ended_at) <= self._limits.ended_s:
                yield run

    def _read_live(self, runs: Sequence[RunSummary]) -> Iterator[LiveRun]:
        known, self._live = self._live, {}
        for run in runs:
            if run.condition not in LIVE:
                yield LiveRun(summary=run)
                continue
            reader = self._live[run.path] = known.get(run.path) or LiveRunReader()
            reader.read(run, len(runs))
            yield reader.live or LiveRun(summary=run)

    def _count_alerts(self, paths: Iterable[str]) -> tuple[dict[EntryState, int], float | None]:
        """Return the number of alerts by state, and the time of the oldest that is pending."""
        marked = [path for place in self._places for path in UNDELIVERED.list_records(place)]
        states: Counter[EntryState] = Counter()
        queued_at: list[float] = []
        for path in list(dict.fromkeys((*marked, *paths)))[:MOST_OUTBOXES]:
            try:
                record = Record.open(path)
                entries = Outbox(record).entries()
                record.close()
            except (RecordError, OSError):
                continue  # it was removed meanwhile, or is damaged
            states.update(entry.state for entry in entries)
            pending = (entry for entry in entries if entry.state is EntryState.PENDING)
            queued_at += [entry.fields["queued_at"] for entry in pending]
        return {state: states[state] for state in UNSENT}, min(queued_at, default=None)
