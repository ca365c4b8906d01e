"""Totals of all runs that have ended, in a file of the state directory: they never fall.

A run counts once, when its verdict is complete.  The file outlives the records and the exporter;
without one the totals begin with the records that are present.  Two exporters of one state
directory share it, and count no run twice.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.causes import CAUSES
from gpualert_common.history.database import Database, HistoryUnavailableError, transaction
from gpualert_common.listing.condition import LIVE, Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.model import Attribution
from gpualert_common.spec import EARLY

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "metrics.sqlite3"
OTHER = "other"
"""Label of a cause or kind that this release does not know, or for which there is no room."""
MOST_KINDS = 100
"""Kinds of warnings, each a time series."""

_APPLICATION = int.from_bytes(b"gpum", "big")
_SCHEMA = 1
_TABLES = (
    "CREATE TABLE totals (total TEXT, labels TEXT, value REAL, PRIMARY KEY (total, labels))",
    "CREATE TABLE counted (run_id TEXT PRIMARY KEY, at REAL)",
)
_ADD = """INSERT INTO totals VALUES (?, ?, ?)
    ON CONFLICT (total, labels) DO UPDATE SET value = value + excluded.value"""
_COUNT = "INSERT OR IGNORE INTO counted VALUES (?, ?)"
_FORGET_AFTER_S = 7 * 86400.0
"""Another exporter may have read its list of records before one was removed."""
_FORGET_PAUSE_S = 3600.0
_MOST_GPU_SECONDS = 1e11
"""Of one run: 100,000 GPUs for eleven days.  A larger number is damaged."""
_MOST_KIND_CHARS = 60


class Total(StrEnum):
    """Number that is added up over all ended runs."""

    RUNS = "runs"
    GPU_SECONDS = "gpu_seconds"
    WASTED_GPU_SECONDS = "wasted_gpu_seconds"
    WARNINGS = "warnings"


Totals = Mapping[tuple[Total, tuple[str, ...]], float]
"""Sums by number and labels: condition, cause and attribution, or the kind of a warning."""


class TotalsFile:
    """The totals in one state directory.  Not thread-safe.

    ``problem`` is the reason why the last change could not be stored; the totals are then those in
    memory, and are stored later.
    """

    def __init__(self, place: str) -> None:
        self.problem = ""
        self._file = Database(place, NAME, application=_APPLICATION, schema=_SCHEMA, tables=_TABLES)
        self._stored: dict[tuple[Total, tuple[str, ...]], float] = {}
        self._counted: dict[str, float] = {}
        self._is_read = False
        self._forget_at = 0.0

    def update(self, runs: Iterable[RunSummary]) -> Totals:
        """Return the totals, with those of ``runs`` that have ended and were not counted yet.

        ``runs`` are all that have a record.
        """
        runs = list(runs)
        new = [run for run in runs if run.run_id not in self._counted and _is_complete(run)]
        if new or not self._is_read or not self._file.exists:
            try:
                self._file.use(lambda connection: self._store(connection, new))
                self.problem = self._file.repair
                new = []
            except HistoryUnavailableError as error:
                self.problem = str(error)
        if time.monotonic() >= self._forget_at and not self.problem:
            self._forget_at = time.monotonic() + _FORGET_PAUSE_S
            self._forget({run.run_id for run in runs})
        totals = dict(self._stored)
        for run in new:  # not stored
            for key, value in _list_parts(run):
                totals[key] = totals.get(key, 0.0) + value
        return _fold_kinds(totals)

    def _store(self, connection: Connection, runs: Iterable[RunSummary]) -> None:
        """Add these runs to the file, unless another exporter did, and read it."""
        now = time.time()
        with transaction(connection):
            if self._is_read and not _has_totals(connection):  # it was removed, or damaged
                connection.executemany(_COUNT, self._counted.items())
                _add(connection, self._stored.items())
            for run in runs:
                if connection.execute(_COUNT, (run.run_id, now)).rowcount:
                    _add(connection, _list_parts(run))
        self._counted = dict(connection.execute("SELECT run_id, at FROM counted"))
        self._stored = dict(_read(connection))
        self._is_read = True

    def _forget(self, present: set[str]) -> None:
        """Forget that runs were counted whose records are gone: their ids do not come again."""
        before = time.time() - _FORGET_AFTER_S
        gone = [
            (run_id,)
            for run_id, at in self._counted.items()
            if run_id not in present and at < before
        ]
        if not gone:
            return

        def remove(connection: Connection) -> None:
            with transaction(connection):
                connection.executemany("DELETE FROM counted WHERE run_id = ?", gone)

        try:
            self._file.use(remove)
        except HistoryUnavailableError:
            return  # they are forgotten later
        for (run_id,) in gone:
            del self._counted[run_id]


def _is_complete(run: RunSummary) -> bool:
    is_over = run.condition not in LIVE and run.condition is not Condition.LOST
    return is_over and run.disposition is not None and not run.verdict_pending


def _list_parts(run: RunSummary) -> Iterator[tuple[tuple[Total, tuple[str, ...]], float]]:
    """Yield what a run adds to the totals: no negative numbers, since totals never fall."""
    labels = (str(run.condition), name_cause(run.cause), name_attribution(run.attribution))
    yield (Total.RUNS, labels), 1.0
    for total, value in (
        (Total.GPU_SECONDS, run.gpu_seconds),
        (Total.WASTED_GPU_SECONDS, run.wasted_gpu_seconds),
    ):
        if value is not None and 0.0 <= value <= _MOST_GPU_SECONDS:
            yield (total, labels), float(value)
    for kind in {name_kind(kind) for kind in run.warnings}:
        yield (Total.WARNINGS, (kind,)), 1.0


def name_cause(cause: str | None) -> str:
    """Return the label of a cause."""
    return cause if cause in CAUSES else OTHER


def name_attribution(attribution: str | None) -> str:
    """Return the label of an attribution."""
    return str(attribution if attribution in tuple(Attribution) else Attribution.UNKNOWN)


def name_kind(kind: str) -> str:
    """Return the label of a kind of warnings, the same in a verdict and while the run goes on."""
    kind = kind.removeprefix(EARLY)
    plain = kind.replace("_", "").replace(".", "")
    is_name = plain.isascii() and plain.isalnum() and len(kind) <= _MOST_KIND_CHARS
    return kind if is_name else OTHER


def _fold_kinds(totals: dict[tuple[Total, tuple[str, ...]], float]) -> Totals:
    """Return the totals with the last of too many kinds of warnings added up as one."""
    kinds = sorted(labels for total, labels in totals if total is Total.WARNINGS)
    for labels in kinds[MOST_KINDS:]:
        other = (Total.WARNINGS, (OTHER,))
        totals[other] = totals.get(other, 0.0) + totals.pop((Total.WARNINGS, labels))
    return totals


def _has_totals(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM totals LIMIT 1").fetchone() is not None


def _add(
    connection: Connection, parts: Iterable[tuple[tuple[Total, tuple[str, ...]], float]]
) -> None:
    rows = [(str(total), json.dumps(labels), value) for (total, labels), value in parts]
    connection.executemany(_ADD, rows)


def _read(connection: Connection) -> Iterator[tuple[tuple[Total, tuple[str, ...]], float]]:
    for total, text, value in connection.execute("SELECT total, labels, value FROM totals"):
        try:
            labels = tuple(str(one) for one in json.loads(text))
            if len(labels) == (1 if total == Total.WARNINGS else 3) and math.isfinite(value):
                yield (Total(total), labels), max(0.0, float(value))
        except (ValueError, TypeError):
            continue  # not written by gpualert
